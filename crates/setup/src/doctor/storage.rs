//! Checks of what is stored: the data folder, the database, permissions, transcripts. Pure. What is wrong with the folder or
//! its disk is found in `runtime/src/storage.rs`.

use longhaul_runtime::memory::salvage::SetAside;
use longhaul_store::{Health, SCHEMA, Schema};

use super::facts::{Database, Facts};
use super::judge::{NAMED, few};
use super::{Finding, sessions};

/// Checks that the data folder can be written to.
pub(super) fn storage(facts: &Facts) -> Vec<Finding> {
    let found = facts.storage.map(|trouble| {
        let what = format!("nothing can be stored: {}", trouble.describe(facts.paths.data.dir()));
        Finding::broken("storage", what, trouble.advice())
    });
    found.into_iter().collect()
}

/// Checks the database.
pub(super) fn database(facts: &Facts) -> Vec<Finding> {
    let check = "database";
    let file = facts.paths.data.database();
    let mut found = match &facts.database {
        Database::Missing => vec![Finding::note(check, "nothing is stored yet")],
        Database::Found { health: Health::Unreadable(why), .. } => unreadable_database(facts, why),
        Database::Found { health: Health::Damaged(problems), .. } => {
            let what = format!("{} is damaged: {}", file.display(), few(problems.iter().cloned()));
            vec![Finding::broken(
                check,
                what,
                "the next session renames it and creates a new one; or restore a backup of your own",
            )]
        }
        Database::Found { schema: Some(Schema::Unreleased), .. } => {
            let what = format!("{} was written by a version before the first release", file.display());
            let fix =
                "start a session, which renames it and begins a new one; then `longhaul memory import` fills that";
            vec![Finding::warning(check, what, fix)]
        }
        Database::Found { schema: Some(Schema::Newer(schema)), .. } => {
            let what = format!("written by a newer version: schema {schema}, this version knows {SCHEMA}");
            vec![Finding::broken(check, what, "install the newer version again; nothing is lost")]
        }
        Database::Found { index: Some(index), .. } if !index.is_complete() => {
            let what = format!(
                "no damage; {} % of the search index is built: until it is complete, a search does not find everything",
                index.percent()
            );
            vec![Finding::warning(check, what, "run `longhaul memory upkeep`; every new session also continues it")]
        }
        Database::Found { schema, .. } => {
            let schema = if let Some(Schema::Known(schema)) = schema { *schema } else { 0 };
            let until = if schema < SCHEMA { ", updated by the next session" } else { "" };
            vec![Finding::ok(check, format!("no damage, schema {schema}{until}"))]
        }
    };
    for SetAside { path, report, .. } in &facts.damaged {
        let path = path.display();
        found.push(match report {
            Some(report) => {
                let what = format!("damaged, and renamed: {report}");
                Finding::warning(check, what, format!("delete {path} and what is named after it if you do not need it"))
            }
            None => {
                let what = format!("damaged, and renamed to {path}: what can be read of it is not salvaged yet");
                Finding::warning(check, what, format!("run `longhaul memory salvage {path}`"))
            }
        });
    }
    if !facts.unreleased.is_empty() {
        let what =
            format!("databases from before the first release were renamed: {}", few(facts.unreleased.iter().cloned()));
        let dir = facts.paths.data.dir().display();
        let fix = format!("`longhaul memory import` fills the new one from the transcripts; then delete them in {dir}");
        found.push(Finding::warning(check, what, fix));
    }
    found
}

/// Reports a database that cannot be read, which does not mean that it is damaged.
fn unreadable_database(facts: &Facts, why: &str) -> Vec<Finding> {
    let check = "database";
    let file = facts.paths.data.database();
    match facts.storage {
        Some(_) => vec![Finding::note(check, format!("{} cannot be checked: {why}", file.display()))],
        None => {
            let what = format!("{} cannot be read: {why}", file.display());
            vec![Finding::broken(check, what, "make the file and its folder readable and writable for your user")]
        }
    }
}

/// Checks that other users can read nothing in the data folder.
pub(super) fn permissions(facts: &Facts) -> Vec<Finding> {
    let check = "permissions";
    let dir = facts.paths.data.dir();
    if facts.open_to_others.is_empty() {
        return vec![Finding::ok(check, format!("only you can read {}", dir.display()))];
    }
    let what = format!(
        "other users can read or write {}",
        few(facts.open_to_others.iter().map(|path| path.display().to_string()))
    );
    vec![Finding::warning(check, what, format!("run `chmod -R go= {}`", dir.display()))]
}

/// Reports transcripts that are missing.
pub(super) fn transcripts(facts: &Facts) -> Vec<Finding> {
    let stale = facts.stale.iter().take(NAMED);
    stale.map(|(session, path)| sessions::missing(session, path.display().to_string(), true)).collect()
}
