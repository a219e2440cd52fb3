//! `longhaul config set` and `unset`.

use std::cell::RefCell;
use std::path::Path;

use longhaul_core::Env;
use longhaul_core::config::{with_setting, without_setting};
use longhaul_runtime::shared_file::{self, Backup, NewFile};
use serde_json::Value;

use super::{Exit, config_path, out};

#[derive(clap::Args)]
pub(crate) struct SetArgs {
    /// The key, as `longhaul config show` lists it
    key: String,
    /// The value: a number, true, false, a text, or JSON
    #[arg(allow_negative_numbers = true)]
    value: String,
}

#[derive(clap::Args)]
pub(crate) struct UnsetArgs {
    /// The key, as `longhaul config show` lists it
    key: String,
}

pub(super) fn set(env: &Env, args: &SetArgs) -> anyhow::Result<Exit> {
    let path = config_path(env)?;
    let in_force = RefCell::new(Value::Null);
    change(path, |text| {
        let (new, value) = with_setting(text, &args.key, &args.value)?;
        in_force.replace(value);
        Ok((text != Some(&new)).then_some(new))
    })?;
    out::text(&format!("{} = {}", args.key, in_force.into_inner()))?;
    Ok(Exit::Success)
}

pub(super) fn unset(env: &Env, args: &UnsetArgs) -> anyhow::Result<Exit> {
    let path = config_path(env)?;
    if !change(path, |text| without_setting(text, &args.key))? {
        out::message(&format!("{} is not set in {}: its default is in force", args.key, path.display()));
        return Ok(Exit::Problem);
    }
    out::message(&format!("{} has its default again.", args.key));
    Ok(Exit::Success)
}

/// Changes the file, or says why it was not changed.
fn change(path: &Path, edit: impl Fn(Option<&str>) -> Result<Option<String>, String>) -> anyhow::Result<bool> {
    shared_file::change(path, (Backup::None, NewFile::Private), |text| {
        edit(text).map_err(|why| anyhow::anyhow!("{} was not changed: {why}", path.display()))
    })
}
