//! Imports claude-mem's settings for exclusion.

use longhaul_core::{Config, json_text};
use serde_json::{Value, json};

use super::super::keys::{Wanted, bring};
use super::super::{Move, Report, Trouble, theirs};
use longhaul_runtime::{Error, bounded_read};

/// Their keys, each a list separated by commas, and ours.
const KEYS: [(&str, &str); 2] =
    [("CLAUDE_MEM_SKIP_TOOLS", "memory.skip_tools"), ("CLAUDE_MEM_EXCLUDED_PROJECTS", "memory.exclude")];

/// Their default for skipped tools, which is also ours.
const USUAL_TOOLS: &str = "ListMcpResourcesTool,SlashCommand,Skill,TodoWrite,AskUserQuestion";

/// Imports the settings. Returns the configuration with them.
pub(super) fn run(mover: &Move<'_>, report: &mut Report) -> Result<Config, Trouble> {
    let path = report.place.join("settings.json");
    let text = match bounded_read::text(&path, bounded_read::LARGE) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(mover.config.clone()),
        Err(source) => return Err(theirs(Error::Read { path, source })),
    };
    let Ok(settings) = json_text::from_file::<Value>(text.as_bytes()) else {
        report.leaves("settings files", 1, "settings.json is not JSON");
        return Ok(mover.config.clone());
    };
    // Some versions have them below `env`.
    let get = |key: &str| settings.get(key).or_else(|| settings.get("env")?.get(key)).and_then(Value::as_str);
    let wanted = KEYS.iter().filter_map(|(theirs, ours)| {
        let list = get(theirs)?;
        let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let is_usual = names.is_empty() || list == USUAL_TOOLS;
        (!is_usual).then(|| Wanted {
            theirs: (*theirs).to_owned(),
            ours: Some((*ours).to_owned()),
            value: json!(names),
        })
    });
    bring(mover, report, wanted.collect())
}
