//! `cargo xtask model`: makes the static model that finds records by meaning.
//!
//! This is done by Python, in a virtual environment below `target/model`. The first run downloads a few gigabytes,
//! because distilling needs PyTorch. Nothing else in this workspace needs Python or the model.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use longhaul_memory::embedding::Model;
use xtask::arguments::ModelArgs;
use xtask::run;
use xtask::workspace::{self, MODEL_FILE, Workspace};

const SCRIPT: &str = include_str!("model/distil.py");
const TEXTS: &str = include_str!("model/training_texts.py");
const REQUIREMENTS: &str = include_str!("model/requirements.txt");
const PAIRS: &str = include_str!("model/paraphrases.tsv");
const LICENSE: &str = include_str!("model/LICENSE");

/// Makes the model, checks it, and puts it where `dist` and `install` expect it.
pub(crate) fn run(workspace: &Workspace, args: ModelArgs) -> Result<()> {
    let folder = workspace.target.join("model");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    writeln!(io::stdout(), "{HOW_LONG}")?;
    let python = environment(&folder)?;
    for (name, text) in [("distil.py", SCRIPT), ("training_texts.py", TEXTS), ("paraphrases.tsv", PAIRS)] {
        fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    let new = folder.join("new");
    if new.exists() {
        fs::remove_dir_all(&new).with_context(|| format!("cannot remove {}", new.display()))?;
    }
    fs::create_dir_all(&new)?;
    let mut distil = offline(&python);
    distil.arg(folder.join("distil.py")).arg("--out").arg(&new).arg("--pairs").arg(folder.join("paraphrases.tsv"));
    distil.arg("--cache").arg(folder.join("teacher"));
    distil.args(["--dims", &args.dims.to_string(), "--texts", &args.texts.to_string()]);
    run::aloud(&mut distil)?;
    let bytes = fs::read(new.join(MODEL_FILE)).context("distil.py wrote no model")?;
    let size = bytes.len() as f64 / 1e6;
    let model = Model::parse(bytes).context("distil.py wrote a model that cannot be read")?;
    fs::write(new.join("LICENSE"), LICENSE)?;
    let done = workspace::model_folder(workspace);
    if done.exists() {
        fs::remove_dir_all(&done).with_context(|| format!("cannot remove {}", done.display()))?;
    }
    fs::rename(&new, &done).with_context(|| format!("cannot put {} in place", done.display()))?;
    writeln!(io::stdout(), "{} ({size:.1} MB, {})", done.join(MODEL_FILE).display(), model.id())?;
    writeln!(io::stdout(), "`cargo xtask dist` and `cargo xtask install` put it into the bundle.")?;
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
const HOW_LONG: &str = "This downloads about 3 GB the first time and computes for about ten minutes. \
    If it is interrupted, the next run continues.";

const WITHOUT: &str = "Everything else works without the model";
const MISSING_VENV: &str = "python3 cannot create an environment: install its venv module (python3-venv)";

/// Returns a command for the environment's Python, which must not download models or load other packages.
fn offline(python: &Path) -> Command {
    let mut command = run::program(python);
    command.env("HF_HUB_OFFLINE", "1").env("TRANSFORMERS_VERBOSITY", "error").env("PYTHONNOUSERSITE", "1");
    command
}
