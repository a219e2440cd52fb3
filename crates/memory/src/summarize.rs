//! Summarizes a session by rules: five short parts, and its requests with their results.

use crate::conclusions::{Conclusions, conclusions, first_sentence, joined};
use crate::exchanges::exchanges;
use crate::left_to_do::left_to_do;
use crate::observation::{Kind, Observation, Summary};
use crate::observe::{decisions, normalized};
use crate::text::{first_lines, one_line, passage};

/// Number of a session's newest turns and observations that its summary is made of.
pub const SUMMED_UP: usize = 40;

/// Maximum length of the request, in characters.
pub const REQUEST_CHARS: usize = 300;
/// Maximum length of each other part, in characters.
pub const PART_CHARS: usize = 600;

/// A prompt shorter than this (`go on`) means little without the previous one.
const TELLING_CHARS: usize = 40;

/// Maximum number of prompts in a request, and of items in a part.
const PROMPTS: usize = 3;
const ITEMS: usize = 12;

/// Maximum number of decisions in `learned`.
const DECISIONS: usize = 4;

/// The beginning of the list of successful commands, which is the last part of `completed`.
const RAN: &str = "Ran ";

/// The text of a turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct TurnText<'a> {
    /// The prompt.
    pub asked: &'a str,
    /// The last text of the reply.
    pub replied: &'a str,
}

/// Summarizes a session from its turns and observations, both ordered from old to new.
///
/// A part without content is empty.
pub fn summarize(turns: &[TurnText<'_>], observations: &[Observation]) -> Summary {
    let reply = turns.iter().rev().map(|turn| turn.replied).find(|reply| !reply.trim().is_empty()).unwrap_or_default();
    let concluded = conclusions(turns.iter().map(|turn| turn.replied));
    Summary {
        request: request(turns),
        investigated: investigated(observations),
        learned: learned(turns, &concluded, observations),
        completed: completed(&concluded, observations),
        next_steps: next_steps(reply, observations),
        exchanges: exchanges(turns, &concluded),
    }
}

fn request(turns: &[TurnText<'_>]) -> String {
    let prompts = turns.iter().rev().map(|turn| first_lines(turn.asked, 2)).filter(|prompt| !prompt.is_empty());
    let mut request = String::new();
    for prompt in prompts.take(PROMPTS) {
        request = if request.is_empty() { prompt } else { format!("{request} (before: {prompt})") };
        if request.chars().count() >= TELLING_CHARS {
            break;
        }
    }
    one_line(&request, REQUEST_CHARS)
}

fn investigated(observations: &[Observation]) -> String {
    let found = || observations.iter().filter(|seen| seen.kind == Kind::Discovery);
    let is_read = |seen: &&Observation| matches!(seen.tool.as_str(), "Read" | "NotebookRead");
    let read = found().filter(is_read).flat_map(|seen| seen.files_read.iter().cloned());
    let others = found().filter(|seen| !is_read(seen)).map(|seen| seen.title.clone());
    part(&[("Read ", newest(read)), ("", newest(others))])
}

/// Returns decisions, the newest first, then the other conclusions of the replies.
fn learned(turns: &[TurnText<'_>], concluded: &Conclusions, observations: &[Observation]) -> String {
    let said = turns.iter().flat_map(|turn| decisions(turn.replied)).map(|decision| {
        let sentence = first_sentence(&decision.narrative);
        sentence.trim_end_matches('.').to_owned()
    });
    let recorded = observations.iter().filter(|seen| seen.kind == Kind::Decision).map(|seen| seen.title.clone());
    let mut decided = newest(recorded.chain(said));
    decided.reverse();
    decided.truncate(DECISIONS);
    let decided = part(&[("Decided: ", decided)]);
    let decided = if decided.is_empty() { decided } else { format!("{}.", decided.trim_end_matches('.')) };
    let room = PART_CHARS.saturating_sub(decided.chars().count() + 1);
    let rest = joined(&concluded.learned, room);
    passage(format!("{decided} {rest}").trim(), PART_CHARS)
}

fn completed(concluded: &Conclusions, observations: &[Observation]) -> String {
    let of = |kind: Kind| observations.iter().filter(move |seen| seen.kind == kind);
    let changed = of(Kind::Change).flat_map(|seen| seen.files_modified.iter().cloned());
    let passed = of(Kind::Command).filter_map(|seen| command(&seen.title).filter(|_| has_passed(seen)));
    let titles = |kind: Kind| newest(of(kind).map(|seen| seen.title.clone()));
    let reported = joined(&concluded.reported, PART_CHARS / 2);
    part(&[
        ("", vec![reported.trim_end_matches('.').to_owned()]),
        ("Changed ", newest(changed)),
        ("", titles(Kind::Fix)),
        ("", titles(Kind::Delegation)),
        ("Noted: ", titles(Kind::Note)),
        (RAN, newest(passed)),
    ])
}

/// Returns `completed` without the list of commands.
pub(crate) fn without_commands(completed: &str) -> &str {
    let list = format!("{RAN}`");
    let end =
        if completed.starts_with(&list) { Some(0) } else { completed.find(&format!(". {list}")).map(|at| at + 1) };
    completed[..end.unwrap_or(completed.len())].trim()
}

/// Returns `next_steps` without the failed commands, which may have succeeded since.
pub(crate) fn without_failures(next_steps: &str) -> &str {
    let list = "Failed: `";
    let end =
        if next_steps.starts_with(list) { Some(0) } else { next_steps.find(&format!(". {list}")).map(|at| at + 1) };
    next_steps[..end.unwrap_or(next_steps.len())].trim()
}

fn next_steps(reply: &str, observations: &[Observation]) -> String {
    part(&[("", left_to_do(reply)), ("", open_problems(observations))])
}

/// Returns the problems whose command has not succeeded since.
fn open_problems(observations: &[Observation]) -> Vec<String> {
    let mut open: Vec<&Observation> = Vec::new();
    for seen in observations {
        let key = |title: &str| command(title).map(|command| normalized(command.trim_matches('`')));
        let is_same = |other: &Observation| key(&other.title) == key(&seen.title);
        match seen.kind {
            Kind::Problem => {
                open.retain(|other| !is_same(other));
                open.push(seen);
            }
            Kind::Fix => open.retain(|other| !is_same(other)),
            Kind::Command if has_passed(seen) => open.retain(|other| !is_same(other)),
            Kind::Command | Kind::Change | Kind::Discovery | Kind::Decision | Kind::Delegation | Kind::Note => {}
        }
    }
    newest(open.into_iter().map(|problem| problem.title.clone()))
}

fn command(title: &str) -> Option<String> {
    let (start, end) = (title.find('`')?, title.rfind('`')?);
    (start < end).then(|| title[start..=end].to_owned())
}

/// Returns whether a title only names the command that was run.
fn has_passed(seen: &Observation) -> bool {
    seen.tool == "Bash" && seen.title.starts_with("Ran `") && seen.title.ends_with('`')
}

/// Returns the newest few, each once, in their order.
fn newest(items: impl Iterator<Item = String>) -> Vec<String> {
    let items: Vec<String> = items.collect();
    let mut kept: Vec<String> = Vec::new();
    for item in items.into_iter().rev() {
        if kept.len() < ITEMS && !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept.reverse();
    kept
}

/// Joins the groups. If not all items fit, the newest come first.
fn part(groups: &[(&str, Vec<String>)]) -> String {
    let groups = groups.iter().map(|(label, items)| {
        let items: Vec<&str> = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty()).collect();
        let separator = if label.is_empty() { "; " } else { ", " };
        (label, items.join(separator))
    });
    let texts = groups.filter(|(_, items)| !items.is_empty()).map(|(label, items)| format!("{label}{items}"));
    passage(&texts.collect::<Vec<_>>().join(". "), PART_CHARS)
}
