//! `cargo xtask test`: runs all tests, and installs what they need while they are compiled.

use std::io::{self, Write};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Context, Result, anyhow, bail};

use crate::run;
use crate::workspace::Workspace;

/// How many tests run at the same time besides one for each processor: many of them mostly wait.
const WAITING_TESTS: usize = 4;

/// The programs without which most tests fail.
const REQUIRED: [&str; 5] = ["tmux", "screen", "git", "git-lfs", "xz"];

/// Runs all tests; `arguments` go to nextest, or to `cargo test` if nextest is not installed.
pub fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let has_nextest = run::find("cargo-nextest").is_some();
    if !has_nextest {
        writeln!(io::stderr(), "cargo-nextest is not installed: using cargo test, which takes longer")?;
    }
    let command = || {
        let mut test = cargo(workspace, arguments);
        test.args(if has_nextest { &["nextest", "run", "--workspace"][..] } else { &["test", "--workspace"] });
        test
    };
    if is_whole(arguments) {
        if installer()?.is_none() {
            // Nobody should wait for a build only to hear what is missing.
            ensure(&REQUIRED)?;
        }
        // To install downloads most of the time, and to compile computes.
        thread::scope(|scope| {
            let installing = scope.spawn(|| install_programs(workspace));
            run::aloud(command().arg("--no-run"))?;
            installing.join().map_err(|_| anyhow!("the installation panicked"))?
        })?;
        if !arguments.is_empty() {
            return Ok(());
        }
    } else {
        install_programs(workspace)?;
        // The end-to-end tests start `standin`. Building all tests builds it; building a selection may not.
        let mut build = run::cargo();
        run::aloud(build.current_dir(&workspace.root).args(["build", "--workspace", "--example", "standin"]))?;
    }
    let mut test = command();
    if has_nextest && run::var("NEXTEST_TEST_THREADS").is_none() {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        test.env("NEXTEST_TEST_THREADS", (processors + WAITING_TESTS).to_string());
    }
    if has_nextest && run::var("CI").is_some() {
        test.args(["--profile", "ci"]);
    }
    run::aloud(test.args(arguments))?;
    // nextest does not run the examples in the documentation; `cargo test` has run them.
    if arguments.is_empty() && has_nextest {
        run::aloud(cargo(workspace, arguments).args(["test", "--workspace", "--doc"]))?;
    }
    Ok(())
}

/// Installs the programs that tests start, where that is possible; fails if one of [`REQUIRED`] is missing.
fn install_programs(workspace: &Workspace) -> Result<()> {
    ensure(&REQUIRED)?;
    offer(&["chromium", "chromedriver"], "tests of the viewer in a browser")?;
    offer(&["tsc"], "tests of the bridge module")?;
    offer(&["postgres"], "tests of sync with PostgreSQL")?;
    offer_ccusage(workspace)?;
    offer(&["Xvfb", "dunst", "notify-send", "dbus-run-session"], "tests of the desktop's notifications")
}

/// Returns whether `arguments` choose no tests: all are run, or only built.
fn is_whole(arguments: &[String]) -> bool {
    arguments.iter().all(|argument| argument == "--no-run")
}

/// Returns a `cargo` command. A run of all tests is built without files for incremental builds, which make it slower; a
/// selection, which is usually run again after a change, with them.
fn cargo(workspace: &Workspace, arguments: &[String]) -> Command {
    let mut cargo = run::cargo();
    cargo.current_dir(&workspace.root);
    if is_whole(arguments) && run::var("CARGO_INCREMENTAL").is_none() {
        cargo.env("CARGO_INCREMENTAL", "0");
    }
    cargo
}

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
    static IS_UPDATED: AtomicBool = AtomicBool::new(false);
    if !IS_UPDATED.swap(true, Ordering::Relaxed) {
        run::aloud(apt_get().args(["update", "-q"])).context("cannot update the list of packages")?;
    }
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
        ("xz", "apt-get") => "xz-utils",
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

/// The packages: the last version of ccusage that is JavaScript only, and the node that it needs.
const PACKAGES: [&str; 2] = ["ccusage@19.0.3", "node@22"];

/// The time limit of npm, which otherwise waits for minutes for a registry that cannot be reached.
const LIMIT: Duration = Duration::from_secs(60);

/// Installs it below `target` if it is not there; otherwise reports that a test is skipped.
pub fn offer_ccusage(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root.join("target/ccusage");
    if folder.join("node_modules/ccusage/dist/cli.js").is_file() {
        return Ok(());
    }
    let installed = match run::find("npm") {
        Some(_) => {
            let mut npm = run::program("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]).arg(&folder).args(PACKAGES);
            writeln!(io::stderr(), "installing ccusage with npm, for a minute at most")?;
            install_by_npm(&mut npm, &folder, LIMIT)
        }
        None => Err(anyhow::anyhow!("npm is not installed")),
    };
    if let Err(error) = installed {
        writeln!(io::stderr(), "the comparison with ccusage is skipped ({error:#})")?;
    }
    Ok(())
}

/// Runs npm. What it leaves behind without success is removed: half of a package would count as installed.
fn install_by_npm(npm: &mut Command, folder: &Path, limit: Duration) -> Result<()> {
    let result = run::within(npm, limit);
    if result.is_err() {
        let _ = fs::remove_dir_all(folder);
    }
    result
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::{install_by_npm, is_whole};
    use crate::run;

    #[test]
    fn all_tests_are_built_without_files_for_incremental_builds_and_a_selection_with_them() {
        let is_whole =
            |arguments: &[&str]| is_whole(&arguments.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
        assert!(is_whole(&[]) && is_whole(&["--no-run"]));
        assert!(!is_whole(&["a_test"]) && !is_whole(&["--no-run", "a_test"]));
    }

    #[test]
    fn npm_that_waits_for_its_registry_is_ended_and_leaves_nothing() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().join("ccusage");
        fs::create_dir(&folder).unwrap();
        let started = Instant::now();
        let error = install_by_npm(run::program("sleep").arg("600"), &folder, Duration::from_millis(100)).unwrap_err();
        assert!(error.to_string().contains("sleep 600 took more than"), "{error}");
        assert!(started.elapsed() < Duration::from_secs(60) && !folder.exists());
    }
}
