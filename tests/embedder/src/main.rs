//! A small program that uses every published crate, as a program outside of Longhaul's repository does.
//!
//! It reads a transcript of Claude Code, prints what a new session would be shown of it, what would be remembered of it, and
//! what tmux would show while it ran. It fails if a result is not the expected one.

use std::time::Duration;

use longhaul_activity_log::{BookmarkVerdict, LogLine, Situation, TailStart, decide, measure};
use longhaul_core::config::{Count, Seconds};
use longhaul_core::event::{Event, EventName};
use longhaul_core::{Config, Env, Millis, Platform, Reply, Status};
use longhaul_handoff::{RenderInput, TimedText, ToolUse, TurnView, TurnWork, render, skeleton};
use longhaul_inject::{Pane, Terminal};
use longhaul_memory::embedding::{FormatError, Model, Vector};
use longhaul_memory::{Call, Observation, PageInput, PageSession, RawCall, TurnText, observe, page, summarize};
use longhaul_tracker::{Agent, Options, Trigger, next};
use longhaul_transcript::{Reader, Turn};

const TRANSCRIPT: &str = include_str!("transcript.jsonl");

/// 2026-01-31 10:15 UTC.
const NOW: Millis = Millis(1_769_854_500_000);

fn main() {
    let turns = read_turns(TRANSCRIPT.as_bytes());
    assert_eq!(turns.len(), 2, "the transcript has two prompts");

    let handoff = hand_over(&turns);
    println!("{handoff}\n");
    assert!(handoff.contains("41 passed"), "the last reply is shown in full");

    let observations = remember(&turns);
    let titles: Vec<&str> = observations.iter().map(|observation| observation.title.as_str()).collect();
    println!("{titles:#?}\n");
    assert_eq!(titles.len(), 2, "each tool call is one record");
    assert!(observations.iter().all(|observation| !observation.narrative.contains("hunter2")), "secrets are redacted");

    let shown = project_page(&turns, &observations);
    println!("{shown}\n");
    assert!(shown.contains("make the parser faster"), "the page names what was asked");

    let reply = answer_prompt(r#"{"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "go on"}"#);
    println!("{reply}");
    assert!(reply.contains("additionalContext"), "the hook adds context");

    assert!(is_bookmark_due(3) && !is_bookmark_due(2), "the threshold is three tool calls");
    let line = status_line();
    println!("{line}");
    assert!(line.contains("1!"), "one session is blocked");
    assert!(typing_command().iter().any(|argument| argument == "send-keys"), "tmux types the text");
    compare_vectors();
}

fn read_turns(transcript: &[u8]) -> Vec<Turn> {
    let mut reader = Reader::default();
    reader.feed(transcript);
    reader.take().turns
}

/// Returns what a session that continues this one is shown.
fn hand_over(turns: &[Turn]) -> String {
    let lines: Vec<String> = turns.iter().map(turn_in_one_line).collect();
    let replies: Vec<String> = turns.iter().map(Turn::reply).collect();
    let views: Vec<TurnView<'_>> = turns
        .iter()
        .zip(lines.iter().zip(&replies))
        .map(|(turn, (line, reply))| {
            let at = turn.at.unwrap_or_default();
            let (asked, replied) = (TimedText::new(at, prompt_of(turn)), TimedText::new(at, reply));
            let mut view = TurnView::new("first", asked, replied);
            view.skeleton = line;
            view.has_detail = !turn.calls.is_empty();
            view
        })
        .collect();
    render(&RenderInput::new("first", &views, NOW)).text
}

fn turn_in_one_line(turn: &Turn) -> String {
    let actions: Vec<ToolUse<'_>> = turn
        .calls
        .iter()
        .map(|call| {
            let mut action =
                ToolUse::new(call.name.as_deref().unwrap_or_default(), call.input.as_deref().unwrap_or_default());
            action.is_error = call.is_error;
            action
        })
        .collect();
    let reply = turn.reply();
    skeleton(&TurnWork::new(prompt_of(turn), &reply, &actions))
}

fn prompt_of(turn: &Turn) -> &str {
    turn.prompt.as_ref().map_or("", |prompt| prompt.text.as_str())
}

/// Returns what is remembered of the tool calls.
fn remember(turns: &[Turn]) -> Vec<Observation> {
    let calls = turns.iter().flat_map(|turn| &turn.calls).map(|call| {
        let mut raw = RawCall::new(&call.id, call.name.as_deref().unwrap_or_default());
        raw.input = call.input.as_deref().unwrap_or_default();
        raw.response = call.result.as_deref().unwrap_or_default();
        raw.is_error = call.is_error;
        Call::new(&raw)
    });
    calls.filter_map(|call| observe(&call, Some("/project"))).collect()
}

/// Returns what a new session of the project is shown.
fn project_page(turns: &[Turn], observations: &[Observation]) -> String {
    let replies: Vec<String> = turns.iter().map(Turn::reply).collect();
    let texts: Vec<TurnText<'_>> =
        turns.iter().zip(&replies).map(|(turn, replied)| TurnText { asked: prompt_of(turn), replied }).collect();
    let mut session = PageSession::new("S1", NOW, summarize(&texts, observations));
    session.first_prompt = prompt_of(&turns[0]).to_owned();
    let mut input = PageInput::new("parser", NOW);
    let sessions = [session];
    input.sessions = &sessions;
    page(&input, 4_000).text
}

/// Returns the answer of a hook, as JSON.
fn answer_prompt(payload: &str) -> String {
    match Event::parse(payload) {
        Ok(Event::UserPromptSubmit(event)) => {
            Reply::context(EventName::UserPromptSubmit, format!("{} characters", event.prompt.chars().count()))
        }
        Ok(_) | Err(_) => Reply::default(),
    }
    .to_json()
}

/// Returns whether a bookmark is due after so many tool calls.
fn is_bookmark_due(calls: u64) -> bool {
    let (mut config, warnings) = Config::from_json(r#"{"bookmarks": {"thresholds": {"min_tool_calls": 3.0}}}"#);
    assert!(warnings.is_empty(), "{warnings:?}");
    config.bookmarks.thresholds.min_tokens = Count(1_000_000);
    config.bookmarks.thresholds.min_seconds = Seconds::from(Duration::from_secs(3_600));
    let log: String =
        (1..=calls).map(|call| format!("{}\n", LogLine::Tool { at: Millis(call * 1_000), chars: 10, mark: None })).collect();
    let metrics = measure(log.as_bytes(), TailStart::LogStart);
    let verdict = decide(Situation::ToolCall, &config.bookmarks, true, &metrics, Millis(60_000));
    matches!(verdict, BookmarkVerdict::Inject(_))
}

/// Returns what tmux shows while a session waits for a permission.
fn status_line() -> String {
    let mut agent = Agent::new("s", NOW.0 / 1_000);
    for trigger in [Trigger::Prompt, Trigger::PermissionRequested] {
        agent.status = next(agent.status, trigger).unwrap_or(agent.status);
    }
    assert_eq!(agent.status, Status::Blocked);
    longhaul_tracker::render(&[agent], &Options::default(), NOW.0 / 1_000)
}

/// Returns the command that types into the pane of a session.
fn typing_command() -> Vec<String> {
    let env = Env::new(NOW, Platform::Unix, |name| match name {
        "TMUX" => Some("/tmp/tmux-0/default,4711,0".to_owned()),
        "TMUX_PANE" => Some("%3".to_owned()),
        _ => None,
    });
    match Terminal::detect(&env) {
        Ok(Terminal::Tmux(pane)) => pane.type_text("·").argv,
        other => panic!("this is a tmux pane, not {other:?}"),
    }
}

fn compare_vectors() {
    assert_eq!(Model::parse(Vec::new()).err(), Some(FormatError::NotAModel));
    let vector = Vector::new(&[0.6, 0.8]).expect("its length is not zero");
    assert!((vector.similarity(&vector) - 1.0).abs() < 0.02, "a text is similar to itself");
}
