//! What the real client wrote.

use super::{RECORDED, read};
use crate::{DetailKind, PromptOrigin, Turn};

#[track_caller]
fn turns(name: &str) -> Vec<Turn> {
    let (_, transcript) = RECORDED.iter().find(|(recorded, _)| *recorded == name).unwrap();
    let batch = read(transcript.as_bytes());
    assert_eq!((batch.broken_lines, batch.sidechains.len(), batch.cursor.offset), (0, 0, transcript.len() as u64));
    batch.turns
}

fn told(turns: &[Turn]) -> Vec<(PromptOrigin, &str, String)> {
    turns
        .iter()
        .map(|turn| (turn.origin, turn.prompt.as_ref().map_or("", |said| said.text.as_str()), turn.reply()))
        .collect()
}

#[track_caller]
fn check(name: &str, expected: &[(PromptOrigin, &str, &str)]) {
    let turns = turns(name);
    let told = told(&turns);
    let told: Vec<(PromptOrigin, &str, &str)> =
        told.iter().map(|(origin, asked, reply)| (*origin, *asked, &**reply)).collect();
    assert_eq!(told, expected);
    assert!(turns.iter().all(|turn| turn.begins && turn.at.is_some_and(|at| at.0 > 1_794_000_000_000)));
}

#[test]
fn every_turn_has_its_words() {
    use PromptOrigin::{Command, Person};
    check("tools", &[(Person, "TOOLS:3", "3 tool calls done.")]);
    check("parallel", &[(Person, "PAR:3", "parallel calls done.")]);
    check(
        "rewound",
        &[
            (Person, "SAY:first answer", "first answer"),
            (Person, "WRITE:/home/dev/project/f1.txt", "WRITE finished."),
            (Person, "·", "OK from the fake model."),
            (Person, "🔖 bookmark: here", "OK from the fake model."),
        ],
    );
    check(
        "compact",
        &[
            (Person, "SAY:one", "one"),
            (Person, "SAY:two", "two"),
            (Command, "/compact keep the names", ""),
            (Person, "SAY:after", "after"),
        ],
    );
    let blocked = "first\n\nOK from the fake model.\n\nOK from the fake model.";
    check("stop-blocked", &[(Person, "SAY:first", blocked)]);
}

#[test]
fn tools_have_input_and_output() {
    let turns = turns("tools");
    let calls: Vec<_> = turns[0].calls.iter().map(|call| (call.name.as_deref(), call.output.as_deref())).collect();
    assert_eq!(calls, [1, 2, 3].map(|n| (Some("Bash"), Some(["step 1", "step 2", "step 3"][n - 1]))));
    assert_eq!(turns[0].calls[0].input.as_deref(), Some(r#"{"command": "echo step 1", "description": "step 1"}"#));
    assert!(turns[0].calls.iter().all(|call| call.id.starts_with("toolu_") && !call.is_error));
}

#[test]
fn parallel_results_all_stay() {
    let turns = turns("parallel");
    let outputs: Vec<_> = turns[0].calls.iter().filter_map(|call| call.output.as_deref()).collect();
    assert_eq!(outputs, ["par 1", "par 2", "par 3"]);
}

#[test]
fn stopped_and_failed_turns_say_so() {
    let interrupted = turns("interrupted");
    let said: Vec<_> = interrupted.iter().map(|turn| (turn.interrupted, turn.failure.is_some())).collect();
    assert_eq!(said, [(true, false), (true, false), (false, true)]);
    assert_eq!(interrupted[0].reply(), "one two three four");
    assert!(interrupted[1].calls[0].is_error);
    let denied = turns("permission-denied");
    assert!(denied[0].interrupted && denied[0].calls[0].is_error && !denied[1].interrupted);
    assert!(
        turns("failing-tool")[0].failure.as_ref().is_some_and(|failure| failure.text.starts_with("API Error: 400"))
    );
}

#[test]
fn returning_agents_are_nobodys_prompts() {
    let turns = turns("subagents");
    let origins: Vec<PromptOrigin> = turns.iter().map(|turn| turn.origin).collect();
    assert_eq!(
        origins,
        [PromptOrigin::Person, PromptOrigin::Task, PromptOrigin::Task, PromptOrigin::Person, PromptOrigin::Task]
    );
    assert_eq!(turns[0].calls.len(), 2);
    assert!(
        turns[0].calls.iter().all(|call| call.output.as_deref().is_some_and(|text| text.starts_with("Async agent")))
    );
}

#[test]
fn details_have_names_of_their_own() {
    for (name, transcript) in RECORDED {
        let turns = read(transcript.as_bytes()).turns;
        let mut sources: Vec<String> =
            turns.iter().flat_map(Turn::details).map(|detail| detail.source.into_owned()).collect();
        let all = sources.len();
        sources.sort();
        sources.dedup();
        assert_eq!(sources.len(), all, "{name}");
    }
    let blocked = turns("stop-blocked");
    let notes: Vec<_> =
        blocked[0].details().filter(|detail| detail.kind == DetailKind::System).map(|d| d.name).collect();
    assert_eq!(notes, ["note", "hook_blocking_error", "note", "hook_blocking_error"]);
    let compacted = turns("compact");
    assert!(compacted[1].details().any(|detail| detail.name == "compact_summary"));
}
