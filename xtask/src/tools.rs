//! Programs that tests and the demo need besides cargo: found, installed, or named with the command that installs them.

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

/// Sees to it that `programs` are here.
///
/// Installs only where nobody has to be asked: as root, with apt-get.
pub(crate) fn ensure(programs: &[&str]) -> Result<()> {
    let missing = missing(programs);
    if missing.is_empty() {
        return Ok(());
    }
    writeln!(io::stderr(), "missing: {}", missing.join(", "))?;
    if !can_install()? {
        bail!("{} must be installed first:\n{}", missing.join(" and "), commands(&missing));
    }
    install(&missing)
}

/// Installs what is missing of `programs` where nobody has to be asked; else says that `what` is skipped without them.
pub(crate) fn offer(programs: &[&str], what: &str) -> Result<()> {
    let missing = missing(programs);
    if missing.is_empty() {
        return Ok(());
    }
    let installed = if can_install()? { install(&missing) } else { Err(anyhow!("not installed")) };
    if let Err(error) = installed {
        let (names, commands) = (missing.join(" and "), commands(&missing));
        writeln!(io::stderr(), "{what} are skipped without {names} ({error:#}); to install:\n{commands}")?;
    }
    Ok(())
}

fn can_install() -> Result<bool> {
    Ok(run::find("apt-get").is_some() && is_root()?)
}

fn install(missing: &[&str]) -> Result<()> {
    run::aloud(run::program("apt-get").args(["update", "-q"])).context("cannot refresh the list of packages")?;
    let mut install = run::program("apt-get");
    install.args(["install", "-y", "-q", "--no-install-recommends"]);
    install.args(missing.iter().map(|program| package(program, "apt-get")));
    run::aloud(install.env("DEBIAN_FRONTEND", "noninteractive"))?;
    match self::missing(missing).as_slice() {
        [] => Ok(()),
        still => bail!("apt-get installed {}, yet it is not on PATH", still.join(", ")),
    }
}

fn missing<'a>(programs: &[&'a str]) -> Vec<&'a str> {
    programs.iter().copied().filter(|program| run::find(program).is_none()).collect()
}

/// Returns the package that has `program`: mostly of the same name.
fn package<'a>(program: &'a str, installer: &str) -> &'a str {
    match (program, installer) {
        ("chromedriver", "apt-get") => "chromium-driver",
        ("chromedriver", "pacman") => "chromium",
        ("node", "apt-get" | "dnf" | "pacman") => "nodejs",
        ("tsc", "apt-get") => "node-typescript",
        ("tsc", _) => "typescript",
        _ => program,
    }
}

fn is_root() -> Result<bool> {
    Ok(run::output(run::program("id").arg("-u"))?.trim() == "0")
}

/// Returns the exact command for the package manager that is here, or for each of them where none is.
fn commands(missing: &[&str]) -> String {
    let here = INSTALLERS.iter().find(|installer| run::find(installer.program).is_some());
    let suggested = here.map_or(INSTALLERS, std::slice::from_ref);
    let lines = suggested.iter().map(|installer| {
        let packages: Vec<_> = missing.iter().map(|program| package(program, installer.program)).collect();
        format!("  {} {}", installer.install, packages.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}
