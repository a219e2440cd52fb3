//! `cargo xtask codegen`: generates the files and documentation tables whose content is defined in code.

pub mod hooks;
mod tables;

pub(crate) use self::tables::hook_table;

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use longhaul_core::Config;
use serde_json::Value;

use crate::dist::manifest;
use crate::workspace::Workspace;

/// What to do about a file that is out of date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Write it.
    Write,
    /// Name it and fail.
    Check,
}

/// Writes every generated file that is out of date, or checks that none is.
pub fn run(workspace: &Workspace, mode: Mode) -> Result<()> {
    let read =
        |name: &str| fs::read_to_string(workspace.root.join(name)).with_context(|| format!("cannot read {name}"));
    let mut files = vec![
        ("plugin/hooks/hooks.json", hooks::json(None)?),
        ("plugin/hooks/codex.json", hooks::codex_json()?),
        ("plugin/.codex-plugin/plugin.json", manifest::codex_plugin(workspace)?),
        ("plugin/config.schema.json", config_schema()?),
    ];
    files.extend(tables::pages(read)?);
    let mut stale = Vec::new();
    for (name, text) in &files {
        if !is_current(&workspace.root.join(name), text)? {
            stale.push(*name);
            if mode == Mode::Write {
                write(&workspace.root.join(name), text)?;
            }
        }
    }
    let mut stdout = io::stdout();
    match (stale.as_slice(), mode) {
        ([], _) => writeln!(stdout, "{} generated files are up to date", files.len())?,
        (written, Mode::Write) => writeln!(stdout, "wrote {}", written.join(", "))?,
        (stale, Mode::Check) => bail!("out of date: {}\nto fix it: cargo xtask codegen", stale.join(", ")),
    }
    Ok(())
}

/// Returns the JSON Schema of the config file, as it is shipped.
pub fn config_schema() -> Result<String> {
    pretty(&Config::json_schema())
}

/// Returns `value` as indented JSON with a newline at the end.
pub fn pretty(value: &Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn is_current(path: &Path, text: &str) -> Result<bool> {
    match fs::read_to_string(path) {
        Ok(found) => Ok(found == text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
