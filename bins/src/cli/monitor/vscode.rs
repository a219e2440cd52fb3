//! `--vscode-task`: the VS Code task that opens the monitor with the folder.

use std::path::Path;

use anyhow::{anyhow, bail};
use longhaul_core::Env;
use longhaul_core::json_text::{Item, JsonFile, List, NotEditable};
use longhaul_runtime::shared_file::{self, Backup, NewFile};
use serde_json::{Value, json};

use crate::cli::tmux::own_path;
use crate::cli::{Exit, out};

/// The label by which the task is recognised.
const LABEL: &str = "Longhaul monitor";

const FOLDER: &str = ".vscode";

const FILE: &str = ".vscode/tasks.json";

/// The key of the list of tasks.
const TASKS: &str = "tasks";

/// Writes the task into the current folder.
pub(crate) fn run(env: &Env) -> anyhow::Result<Exit> {
    let exe = own_path(env)?;
    let task = task(&exe.to_string_lossy());
    for path in [FOLDER, FILE].map(Path::new) {
        // The folder may be hostile: a link could make this command change any file.
        if let Ok(target) = path.read_link() {
            let (path, target) = (path.display(), target.display());
            bail!(
                "{path} is a link to {target} and was not changed: replace the link by a file, or add the task by hand: {task}"
            );
        }
    }
    let refused = |refusal| anyhow!("{FILE} {refusal} and was not changed: add the task by hand: {task}");
    let is_new = shared_file::change(Path::new(FILE), (Backup::None, NewFile::Usual), |text| {
        merge(text, &task).map_err(refused)
    })?;
    out::message(&match is_new {
        true => {
            format!(
                "{FILE}: the task {LABEL:?} opens with this folder when VS Code is allowed to run automatic tasks in it."
            )
        }
        false => format!("{FILE} already has the task {LABEL:?}."),
    });
    Ok(Exit::Success)
}

fn task(program: &str) -> Value {
    json!({
        "label": LABEL,
        "type": "process",
        "command": program,
        "args": ["monitor"],
        "isBackground": true,
        "problemMatcher": [],
        "presentation": { "reveal": "always", "focus": false, "panel": "dedicated", "echo": false },
        "runOptions": { "runOn": "folderOpen" },
    })
}

/// Why the file is not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("has comments or is not JSON")]
    NotJson,
    #[error("is not an object with a list of tasks")]
    NotTasks,
}

/// Returns the file with the task, or `None` if it has the task already.
///
/// Everything else stays as it is, byte for byte.
fn merge(existing: Option<&str>, task: &Value) -> Result<Option<String>, Refusal> {
    let mut file = JsonFile::parse(existing.unwrap_or_default()).map_err(|unfit| match unfit {
        NotEditable::NotJson => Refusal::NotJson,
        NotEditable::NotObject => Refusal::NotTasks,
    })?;
    // With two lists of tasks it is not clear which one VS Code uses.
    let mut list = match file.members.get(TASKS).map_err(|_| Refusal::NotTasks)? {
        Some(list) => List::parse(list).ok_or(Refusal::NotTasks)?,
        None => List::default(),
    };
    let new = file.style.write(task, 2);
    let parsed = |item: &Item| serde_json::from_str::<Value>(&item.text).unwrap_or_default();
    match list.items.iter_mut().find(|item| parsed(item)["label"] == LABEL) {
        Some(ours) if parsed(ours) == *task => return Ok(None),
        Some(ours) => ours.text = new,
        None => list.items.push(Item::new(new)),
    }
    if !file.members.names().any(|name| name == "version" || name == TASKS) {
        file.members.set("version", Value::from("2.0.0").to_string());
    }
    file.members.set(TASKS, list.write(&file.style, 1));
    Ok(Some(file.write()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Refusal, merge, task};

    #[track_caller]
    fn merged(text: &str) -> String {
        let merged = merge(Some(text), &task("/l")).unwrap().expect("the task is missing");
        let parsed: Value = serde_json::from_str(&merged).unwrap_or_else(|error| panic!("{error}: {merged}"));
        let is_ours = |found: &&Value| found["label"] == "Longhaul monitor";
        assert_eq!(parsed["tasks"].as_array().unwrap().iter().filter(is_ours).collect::<Vec<_>>(), [&task("/l")]);
        assert!(parsed["version"].is_string(), "{merged}");
        assert_eq!(merge(Some(&merged), &task("/l")), Ok(None), "a second time changes nothing");
        merged
    }

    #[test]
    fn a_new_file_holds_the_task() {
        let text = merge(None, &task("/l")).unwrap().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!({ "version": "2.0.0", "tasks": [task("/l")] }));
        merged(" \n");
    }

    #[test]
    fn other_tasks_stay_as_they_are_byte_for_byte() {
        let others = "{\n\t\"version\": \"2.0.0\",\n\t\"tasks\": [\n\t\t{\"label\":  \"b\\u0075ild\", \"n\": 1.50e3}";
        let text = merged(&format!("{others}\n\t],\n\t\"inputs\": [ ]\n}}\n"));
        assert!(text.starts_with(others) && text.ends_with("],\n\t\"inputs\": [ ]\n}\n"), "{text}");
        merged(r#"{"version":"2.0.0","tasks":[]}"#);
        merged(r#"{"version":"2.0.0"}"#);
        merged("{}");
        merged("{ \"inputs\": [] }\n");
    }

    #[test]
    fn our_own_task_is_brought_up_to_date_in_its_place() {
        let text = r#"{"version":"2.0.0","tasks":[{"label":"Longhaul monitor","command":"/old"},{"label":"x"}]}"#;
        assert!(merged(text).ends_with(r#",{"label":"x"}]}"#));
    }

    #[test]
    fn what_cannot_be_kept_as_it_is_is_refused() {
        for (text, why) in [
            ("{\n// mine\n\"tasks\": []}", Refusal::NotJson),
            ("{\"tasks\": [],}", Refusal::NotJson),
            ("nonsense", Refusal::NotJson),
            ("[]", Refusal::NotTasks),
            ("{\"tasks\": {}}", Refusal::NotTasks),
            ("{\"tasks\": null}", Refusal::NotTasks),
            ("{\"tasks\": [], \"tasks\": []}", Refusal::NotTasks),
        ] {
            assert_eq!(merge(Some(text), &task("/l")), Err(why), "{text}");
        }
    }
}
