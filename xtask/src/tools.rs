//! Programs that tests and the demo need besides cargo: installs missing ones, or prints the command that does.

use std::fs;
use std::io::{self, Write};

use anyhow::{Context, Result, anyhow, bail};

use crate::run;

/// A package manager, and how to install with it.
struct Installer {
    program: &'static str,
    install: &'static str,
}

const INSTALLERS: &[Installer] = &[
    Installer { program: "apt-get", install: "sudo apt-get install -y" },
    Installer { program: "dnf", install: "sudo dnf install -y" },
    Installer { program: "pacman", install: "sudo pacman -S --needed" },
    Installer { program: "brew", install: "brew install" },
];

/// Ensures that `programs` are installed.
///
/// Installs them only where no password is needed; otherwise fails with the command to run.
pub fn ensure(programs: &[&str]) -> Result<()> {
    let missing = missing(programs);
    if missing.is_empty() {
        return Ok(());
    }
    writeln!(io::stderr(), "missing: {}", missing.join(", "))?;
    match installer()? {
        Some(apt_get) => install(apt_get, &missing),
        None => bail!("{} must be installed first:\n{}", missing.join(" and "), commands(&missing)),
    }
}

/// Installs missing `programs` where no password is needed; otherwise reports that `what` are skipped.
pub fn offer(programs: &[&str], what: &str) -> Result<()> {
    let missing = missing(programs);
    if missing.is_empty() {
        return Ok(());
    }
    let installed = match installer()? {
        Some(apt_get) => install(apt_get, &missing),
        None => Err(anyhow!("not installed")),
    };
    if let Err(error) = installed {
        let (names, commands) = (missing.join(" and "), commands(&missing));
        writeln!(io::stderr(), "{what} are skipped without {names} ({error:#}); to install:\n{commands}")?;
    }
    Ok(())
}

/// Returns the argv of apt-get where it needs no password: as root, or with sudo in CI.
fn installer() -> Result<Option<&'static [&'static str]>> {
    const AS_ROOT: &[&str] = &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    const BY_SUDO: &[&str] = &["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"];
    Ok(match run::find("apt-get") {
        None => None,
        Some(_) if is_root()? => Some(AS_ROOT),
        Some(_) if run::var("CI").is_some() && run::find("sudo").is_some() => Some(BY_SUDO),
        Some(_) => None,
    })
}

fn install(apt_get: &[&str], missing: &[&str]) -> Result<()> {
    let apt_get = || {
        let mut command = run::program(apt_get[0]);
        command.args(&apt_get[1..]);
        command
    };
    run::aloud(apt_get().args(["update", "-q"])).context("cannot update the list of packages")?;
    let mut install = apt_get();
    install.args(["install", "-y", "-q", "--no-install-recommends"]);
    run::aloud(install.args(missing.iter().map(|program| package(program, "apt-get"))))?;
    match self::missing(missing).as_slice() {
        [] => Ok(()),
        still => bail!("apt-get installed {}, but it is not on PATH", still.join(", ")),
    }
}

fn missing<'a>(programs: &[&'a str]) -> Vec<&'a str> {
    programs.iter().copied().filter(|program| !is_installed(program)).collect()
}

fn is_installed(program: &str) -> bool {
    // Debian has a folder for each version, none of which is on PATH.
    let versions = || fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    run::find(program).is_some()
        || (program == "postgres" && versions().any(|version| version.path().join("bin/postgres").is_file()))
}

/// Returns the package that contains `program`, which usually has the same name.
fn package<'a>(program: &'a str, installer: &str) -> &'a str {
    match (program, installer) {
        ("chromedriver", "apt-get") => "chromium-driver",
        ("chromedriver", "pacman") => "chromium",
        ("node", "apt-get" | "dnf" | "pacman") => "nodejs",
        ("Xvfb", "apt-get") => "xvfb",
        ("Xvfb", "dnf") => "xorg-x11-server-Xvfb",
        ("Xvfb", "pacman") => "xorg-server-xvfb",
        ("notify-send", "apt-get") => "libnotify-bin",
        ("notify-send", _) => "libnotify",
        ("dbus-run-session", "apt-get") => "dbus-daemon",
        ("dbus-run-session", "dnf") => "dbus-daemon",
        ("dbus-run-session", _) => "dbus",
        ("postgres", "dnf") => "postgresql-server",
        ("postgres", "brew") => "postgresql@17",
        ("postgres", _) => "postgresql",
        ("tsc", "apt-get") => "node-typescript",
        ("tsc", _) => "typescript",
        _ => program,
    }
}

fn is_root() -> Result<bool> {
    Ok(run::output(run::program("id").arg("-u"))?.trim() == "0")
}

/// Returns the command for the installed package manager, or for all of them if none is found.
fn commands(missing: &[&str]) -> String {
    let here = INSTALLERS.iter().find(|installer| run::find(installer.program).is_some());
    let suggested = here.map_or(INSTALLERS, std::slice::from_ref);
    let lines = suggested.iter().map(|installer| {
        let packages: Vec<_> = missing.iter().map(|program| package(program, installer.program)).collect();
        format!("  {} {}", installer.install, packages.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}
