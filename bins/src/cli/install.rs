//! `longhaul install --codex` and `longhaul uninstall --codex`.

mod codex;
mod codex_hooks;

use anyhow::{Result, bail};
use longhaul_core::Env;

use super::Exit;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Codex's hooks and skill
    #[arg(long)]
    codex: bool,
    /// Only print what would change
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<Exit> {
    args.must_name_codex("install")?;
    codex::install(env, args.dry_run)
}

pub(crate) fn remove(env: &Env, args: &Args) -> Result<Exit> {
    args.must_name_codex("uninstall")?;
    codex::uninstall(env, args.dry_run)
}

impl Args {
    fn must_name_codex(&self, command: &str) -> Result<()> {
        if !self.codex {
            bail!("only Codex can be set up so far: longhaul {command} --codex");
        }
        Ok(())
    }
}
