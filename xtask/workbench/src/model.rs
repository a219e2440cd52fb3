//! `cargo xtask model`: trains the static model that finds records by meaning, and writes it to `plugin/model`.
//!
//! This is done by Python, in a virtual environment below `target/model`. Nothing else in this workspace needs Python.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use longhaul_memory::embedding::Model;
use xtask::arguments::ModelArgs;
use xtask::run;
use xtask::workspace::{MODEL_FILE, Workspace};

const SCRIPT: &str = include_str!("model/distil.py");
const TEXTS: &str = include_str!("model/training_texts.py");
const REQUIREMENTS: &str = include_str!("model/requirements.txt");
const PAIRS: &str = include_str!("model/paraphrases.tsv");
const SOURCES: &str = include_str!("model/sources.txt");

/// Makes the model, checks it, and puts it beside its licence.
pub(crate) fn run(workspace: &Workspace, args: ModelArgs) -> Result<()> {
    let folder = workspace.target.join("model");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    writeln!(io::stdout(), "{HOW_LONG}")?;
    let python = environment(&folder)?;
    let scripts = [("distil.py", SCRIPT), ("training_texts.py", TEXTS)];
    for (name, text) in scripts.into_iter().chain([("sources.txt", SOURCES), ("paraphrases.tsv", PAIRS)]) {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    let new = folder.join("new");
    if new.exists() {
        fs::remove_dir_all(&new).with_context(|| format!("cannot remove {}", new.display()))?;
    }
    fs::create_dir_all(&new)?;
    let mut distil = offline(&python);
    distil.arg(folder.join("distil.py")).arg("--out").arg(&new).arg("--pairs").arg(folder.join("paraphrases.tsv"));
    distil.arg("--sources").arg(folder.join("sources.txt")).arg("--packages").arg(folder.join("packages"));
    distil.arg("--cache").arg(folder.join("teacher")).args(["--dims", &args.dims.to_string()]);
    run::aloud(&mut distil)?;
    let made = new.join("static.lhvec");
    let bytes = fs::read(&made).context("distil.py wrote no model")?;
    let size = bytes.len() as f64 / 1e6;
    let model = Model::parse(bytes).context("distil.py wrote a model that cannot be read")?;
    let done = workspace.root.join("plugin").join(MODEL_FILE);
    for (from, to) in [(new.join("PROVENANCE.md"), done.with_file_name("PROVENANCE.md")), (made, done.clone())] {
        fs::copy(&from, &to).with_context(|| format!("cannot put {} in place", to.display()))?;
    }
    writeln!(io::stdout(), "{} ({size:.1} MB, {})", done.display(), model.id())?;
    Ok(())
}

/// Creates the virtual environment if it is missing or outdated; returns its Python.
fn environment(folder: &Path) -> Result<PathBuf> {
    let venv = folder.join("venv");
    let (python, stamp) = (venv.join("bin/python"), venv.join("requirements.txt"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == REQUIREMENTS) {
        return Ok(python);
    }
    let Some(system) = run::find("python3") else {
        bail!("the model is made by Python: install python3 (3.11 or newer, with venv and pip). {WITHOUT}")
    };
    run::aloud(run::program(system).args(["-m", "venv"]).arg(&venv)).context(MISSING_VENV)?;
    let list = folder.join("requirements.txt");
    fs::write(&list, REQUIREMENTS)?;
    let install = ["-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "-q", "-r"];
    run::aloud(run::program(&python).args(install).arg(&list))
        .with_context(|| format!("the packages could not be installed: is a package index reachable? {WITHOUT}"))?;
    fs::write(stamp, REQUIREMENTS)?;
    Ok(python)
}

/// Printed before anything is downloaded.
const HOW_LONG: &str = "This downloads about 4 GB the first time, and computes for minutes with a graphics card, for hours \
    without one. It needs apt-get, for the texts of Debian's packages. If it is interrupted, the next run continues.";

const WITHOUT: &str = "The model in plugin/model stays as it is";
const MISSING_VENV: &str = "python3 cannot create an environment: install its venv module (python3-venv)";

/// Returns a command for the environment's Python, which must not download models or load other packages.
fn offline(python: &Path) -> Command {
    let mut command = run::program(python);
    command.env("HF_HUB_OFFLINE", "1").env("TRANSFORMERS_VERBOSITY", "error").env("PYTHONNOUSERSITE", "1");
    command
}
