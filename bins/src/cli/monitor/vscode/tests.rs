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
