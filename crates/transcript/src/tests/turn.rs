use longhaul_core::Millis;
use serde_json::{Value, json};

use super::read;
use crate::{Attachment, Detail, DetailKind, PromptOrigin, ReportedBy, SourcedText, Turn, WindowSource};

/// Reads a prompt and `lines`, each a second after the one before; returns the turn.
#[track_caller]
fn turn(lines: &[Value]) -> Turn {
    let prompt = json!({"type": "user", "uuid": "p", "message": {"content": "go on"}});
    let text: String =
        [&[prompt], lines].concat().into_iter().enumerate().fold(String::new(), |text, (at, mut line)| {
            line["timestamp"] = json!(format!("1970-01-01T00:00:0{at}Z"));
            text + &line.to_string() + "\n"
        });
    let turns = read(text.as_bytes()).turns;
    assert_eq!(turns.len(), 1);
    turns.into_iter().next().unwrap_or_default()
}

fn reply(content: Value) -> Value {
    json!({"type": "assistant", "uuid": "r", "message": {"content": content}})
}

fn results(content: Value, result: Value) -> Value {
    json!({"type": "user", "uuid": "o", "toolUseResult": result, "message": {"content": content}})
}

#[test]
fn every_block_has_an_id_of_its_own() {
    let turn = turn(&[reply(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))]);
    let at = Some(Millis(1_000));
    assert_eq!(turn.replies, [SourcedText::new("r", at, "a"), SourcedText::new("r:1", at, "b")]);
    assert_eq!(turn.at, Some(Millis(0)));
}

#[test]
fn a_call_has_the_time_of_its_input_and_the_result_of_its_output() {
    let input = reply(json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]));
    let output = results(json!([{"type": "tool_result", "tool_use_id": "t", "content": "x"}]), json!({"stdout": "x"}));
    let both = turn(&[input, output.clone()]);
    assert_eq!((both.calls[0].at, both.calls[0].result.as_deref()), (Some(Millis(1_000)), Some(r#"{"stdout":"x"}"#)));
    // Its input was in an earlier read.
    assert_eq!(turn(&[output]).calls[0].at, Some(Millis(1_000)));
}

#[test]
fn the_input_and_the_output_of_a_call_are_details() {
    let input = reply(json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]));
    let failed = json!([{"type": "tool_result", "tool_use_id": "t", "content": "not found", "is_error": true}]);
    let output = results(failed, json!(null));
    let details = |lines: &[Value]| -> Vec<String> {
        let shown = |d: Detail<'_>| format!("{:?} {} {:?} {} {}", d.kind, d.source, d.name, d.text, d.is_error);
        turn(lines).details().map(shown).collect()
    };
    assert_eq!(
        details(&[input.clone(), output.clone()]),
        [r#"ToolInput t "Bash" {"command":"ls"} true"#, r#"ToolOutput t:result "Bash" not found true"#]
    );
    assert_eq!(details(&[input]), [r#"ToolInput t "Bash" {"command":"ls"} false"#]);
    // Its input, which has the name of the tool, was in an earlier read.
    assert_eq!(details(&[output]), [r#"ToolOutput t:result "" not found true"#]);
}

#[test]
fn text_beside_results_is_a_note_or_an_interrupt() {
    let beside = |text: &str| {
        let output = json!({"type": "tool_result", "tool_use_id": "t", "content": "x"});
        turn(&[results(json!([output, {"type": "text", "text": text}]), json!(null))])
    };
    let noted = beside("look again");
    let note = Attachment { at: Some(Millis(1_000)), text: "look again".to_owned(), ..Attachment::new("o:1", "note") };
    assert_eq!((noted.attachments, noted.replies, noted.interrupted), (vec![note], vec![], false));
    let stopped = beside("[Request interrupted by user for tool use]");
    assert_eq!((stopped.attachments, stopped.interrupted), (vec![], true));
}

#[test]
fn the_first_prompt_of_a_turn_stays() {
    let prompted = |text: &str, origin: PromptOrigin| Turn {
        prompt: Some(SourcedText::new("p", None, text)),
        origin,
        prompt_id: Some(text.to_owned()),
        ..Turn::new("p")
    };
    let mut turn = prompted("a", PromptOrigin::Person);
    turn.extend(prompted("b", PromptOrigin::Task));
    assert_eq!(turn, prompted("a", PromptOrigin::Person));
    let mut begun = Turn { prompt_id: Some("a".to_owned()), ..Turn::new("p") };
    begun.extend(Turn::new("p"));
    assert_eq!(begun.prompt_id.as_deref(), Some("a"));
    begun.extend(prompted("b", PromptOrigin::Task));
    assert_eq!(begun, prompted("b", PromptOrigin::Task));
}

#[test]
fn names_are_stored_and_shown() {
    let kinds =
        [DetailKind::ToolInput, DetailKind::ToolOutput, DetailKind::System, DetailKind::Image, DetailKind::Thinking];
    assert_eq!(kinds.map(DetailKind::as_str), ["tool_input", "tool_output", "system", "image", "thinking"]);
    use PromptOrigin::{Command, Other, Person, Queued, Shell, Task};
    let origins = [Person, Queued, Command, Shell, Task, Other];
    assert_eq!(origins.map(PromptOrigin::role), ["user", "user", "command", "shell", "task", "other"]);
    assert_eq!(origins.map(PromptOrigin::is_person), [true, true, true, true, false, false]);
    let sources = [
        WindowSource::Rollout,
        WindowSource::Reported(ReportedBy::StatusLine),
        WindowSource::Reported(ReportedBy::Bridge),
        WindowSource::SameModel,
        WindowSource::ModelTable,
    ];
    assert_eq!(
        sources.map(WindowSource::as_str),
        ["rollout", "statusline", "bridge", "statusline of the model", "model"]
    );
}
