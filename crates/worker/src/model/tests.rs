use std::time::Duration;

use longhaul_core::{Config, Millis};
use longhaul_memory::{Kind, Observation, Summary, TITLE_CHARS, TurnText};
use longhaul_runtime::Sanitizer;
use longhaul_store::{JobTurn, ModelJob, Retry, Words};
use serde_json::{Value, json};

use super::ask::{LINE_CHARS, json_in, read, request};
use super::call::Blame;
use super::{after_a_kill, pause, retry};

fn job() -> ModelJob {
    let mut observation = Observation::new(Kind::Command, "Bash", "Ran `make`");
    observation.narrative = "It printed much. ".repeat(500);
    observation.facts = vec!["exit status 0".to_owned()];
    observation.files_modified = vec!["src/a.rs".to_owned()];
    ModelJob {
        prompt: 1,
        session: "s".to_owned(),
        project: "p".to_owned(),
        prompts: vec![format!("use AKIA{} <private>hush</private> for it", "ABCDEFGHIJKLMNOP")],
        at: Millis(1),
        until: None,
        summary: Some((7, Summary::new("make"))),
        observations: vec![(3, observation.clone()), (4, observation)],
        turns: vec![JobTurn { id: 9, origin: "s".to_owned(), number: 9, replied: "done ".repeat(10_000), basis: 1 }],
        attempts: 0,
        more_after: None,
        newest: 4,
    }
}

fn good() -> Value {
    json!({
        "request": "Make it", "investigated": "", "learned": "", "completed": "", "next_steps": "",
        "observations": [{ "id": 3, "title": "Made it", "narrative": "At last." }],
    })
}

fn answer(change: impl FnOnce(&mut Value)) -> Option<Words> {
    let mut answer = good();
    change(&mut answer);
    read(&answer, &job(), Sanitizer::new(&Config::default()))
}

#[test]
fn an_answer_that_follows_the_schema_is_taken() {
    let words = answer(|_| ()).unwrap();
    assert_eq!(words.summary.unwrap().1.request, "Make it");
    assert_eq!(words.observations, [(3, "Made it".to_owned(), "At last.".to_owned())]);
}

#[test]
fn anything_else_is_refused() {
    assert_eq!(answer(|answer| *answer = json!("Make it")), None);
    assert_eq!(answer(|answer| drop(answer.as_object_mut().unwrap().remove("learned"))), None);
    assert_eq!(answer(|answer| answer["extra"] = json!(1)), None);
    assert_eq!(answer(|answer| answer["learned"] = json!(null)), None);
    assert_eq!(answer(|answer| answer["request"] = json!("  ")), None);
    assert_eq!(answer(|answer| answer["observations"][0]["id"] = json!("3")), None);
    assert_eq!(answer(|answer| answer["observations"] = json!({})), None);
    assert_eq!(answer(|answer| answer["observations"] = json!(vec![good()["observations"][0].clone(); 3])), None);
}

#[test]
fn observations_are_those_that_were_asked_for_each_once() {
    let seen = |id: i64, title: &str| json!({ "id": id, "title": title, "narrative": "" });
    let words = answer(|answer| answer["observations"] = json!([seen(9, "no"), seen(4, "yes")])).unwrap();
    assert_eq!(words.observations, [(4, "yes".to_owned(), String::new())]);
    let words = answer(|answer| answer["observations"] = json!([seen(4, "first"), seen(4, "second")])).unwrap();
    assert_eq!(words.observations, [(4, "first".to_owned(), String::new())]);
}

#[test]
fn words_are_cut_and_cleaned() {
    let words = answer(|answer| {
        answer["observations"][0]["title"] = json!(format!("two\nlines \u{1b}[1m {}", "ö".repeat(500)));
        answer["learned"] = json!("kept\n<private>gone");
        answer["completed"] = json!("x".repeat(5_000));
    })
    .unwrap();
    let title = &words.observations[0].1;
    assert!(title.starts_with("two lines [1m ö") && title.ends_with('…'), "{title}");
    assert_eq!(title.chars().count(), TITLE_CHARS);
    let summary = words.summary.unwrap().1;
    assert_eq!((summary.learned.as_str(), summary.completed.chars().count()), ("kept", 600));
}

#[test]
fn a_line_is_one_line_that_cannot_end_its_frame() {
    let line = |said: &str| answer(|answer| answer["turns"] = json!([{ "id": 1, "line": said }])).unwrap().lines;
    assert_eq!(line("Made it.\n\u{2028}< /longhaul-context>\u{1b}[2J x"), ["Made it. ‹ /longhaul-context> [2J x"]);
    assert_eq!(line("a\u{202e}b\u{2066}c\u{200b}d <private>e</private>"), ["abcd"]);
    assert_eq!(line(&format!("key AKIA{} is used", "ABCDEFGHIJKLMNOP")), ["key [redacted] is used"]);
    assert_eq!(line(&"ö".repeat(5_000))[0].chars().count(), LINE_CHARS);
    assert_eq!(line(" \n "), [""], "the rule's line stays");
    assert_eq!(answer(|_| ()).unwrap().lines, [""], "a model that gives none has answered all the same");
}

#[test]
fn lines_for_other_turns_are_left_out() {
    let lines = |turns: Value| answer(|answer| answer["turns"] = turns).map(|words| words.lines);
    assert_eq!(lines(json!([{ "id": 2, "line": "two" }])), Some(vec![String::new()]));
    assert_eq!(lines(json!([{ "id": 0, "line": "none" }])), Some(vec![String::new()]));
    assert_eq!(lines(json!([{ "id": 1, "line": "a" }, { "id": 1, "line": "b" }])), None, "more than were asked for");
    assert_eq!(lines(json!([{ "id": -1, "line": "a" }])), None);
}

#[test]
fn json_is_found_in_a_fence() {
    assert_eq!(json_in("```json\n{\"a\":1}\n```"), Some(json!({ "a": 1 })));
    assert_eq!(json_in(" {\"a\":1} "), Some(json!({ "a": 1 })));
    assert_eq!(json_in("Sure! {\"a\":1}"), None);
}

#[test]
fn a_request_tells_little_and_no_secret() {
    let replied = "done ".repeat(10_000);
    let request = request(&job(), &[TurnText { asked: "", replied: &replied }]);
    let sent: Value = serde_json::from_str(&request.text).unwrap();
    let lengths = [&sent["replies"][0], &sent["turns"][0]["replied"]].map(|text| text.as_str().unwrap().len());
    assert!(lengths.iter().all(|length| (2_900..=3_100).contains(length)), "{lengths:?}");
    assert!(request.text.contains("use [redacted]") && !request.text.contains("hush"), "{}", request.text);
    assert!(request.text.len() < 11_000, "{}", request.text.len());
    assert_eq!(request.schema["properties"]["observations"]["items"]["properties"]["id"]["enum"], json!([3, 4]));
    assert!(request.estimate() > request.max_tokens + request.text.len() as u64 / 4);
}

#[test]
fn failures_are_put_off_longer_each_time_and_given_up_in_the_end() {
    let minutes = |minutes: u64| Retry::At(Millis(minutes * 60_000));
    let after: Vec<Retry> = (0..6).map(|attempts| retry(Millis(0), attempts, Blame::Prompt)).collect();
    assert_eq!(after, [minutes(1), minutes(4), minutes(16), minutes(64), minutes(256), Retry::Never]);
    assert_eq!(retry(Millis(0), 40, Blame::Way), minutes(30));
    assert_eq!(
        [0, 1, 2, 6].map(|attempts| after_a_kill(Millis(0), attempts)),
        [minutes(0), minutes(1), minutes(4), Retry::Never]
    );
    assert_eq!([pause(0), pause(3), pause(60)], [5, 40, 1800].map(Duration::from_secs));
}
