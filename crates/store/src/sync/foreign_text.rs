//! What is stored of the texts of another host: only what a text of this host could be.
//!
//! A text that this program has stored on another host is not changed: the hosts have the same.

use longhaul_core::text::cut_middle;
use longhaul_memory::{Exchange, Kind, MadeBy, SAID_CHARS};
use longhaul_sync::{Body, BookmarkBody, Entry, ObservationBody, PromptBody, SummaryBody};
use longhaul_transcript::DetailKind;

use crate::Sanitizer;

/// The longest line: a title, a fact, a path.
const LINE_CHARS: usize = 2_000;

/// The longest name: of a tool, of a commit.
const NAME_CHARS: usize = 200;

/// How many lines a list has at most.
const LIST_LINES: usize = 500;

/// How many requests a summary has at most.
const EXCHANGES: usize = 20;

/// Returns an entry of another host as it may be stored.
pub(super) fn cleaned(mut entry: Entry) -> Entry {
    let body = match entry.body {
        Body::Prompt(body) => Body::Prompt(prompt(body)),
        Body::Observation(body) => Body::Observation(observation(body)),
        Body::Note(body) => Body::Note(observation(body)),
        Body::Summary(body) => Body::Summary(summary(body)),
        Body::Bookmark(body) => Body::Bookmark(bookmark(body)),
    };
    entry.body = body;
    entry
}

fn prompt(mut body: PromptBody) -> PromptBody {
    body.prompt = Sanitizer::default().capped(&body.prompt);
    body.reply = Sanitizer::default().reply(&body.reply);
    body
}

fn observation(mut body: ObservationBody) -> ObservationBody {
    let kind = Kind::from_name(&body.observed).unwrap_or(Kind::Discovery);
    body.made_by = maker(&body.made_by, kind == Kind::Note);
    body.observed = kind.as_str().to_owned();
    body.tool = line(&body.tool, NAME_CHARS);
    body.title = line(&body.title, LINE_CHARS);
    body.narrative = passage(&body.narrative);
    body.facts = list(&body.facts);
    body.files_read = list(&body.files_read);
    body.files_modified = list(&body.files_modified);
    body.command_key = body.command_key.map(|key| line(&key, LINE_CHARS));
    body.input = body.input.map(|text| Sanitizer::default().detail(DetailKind::ToolInput, "", &text));
    body.output = body.output.map(|text| Sanitizer::default().detail(DetailKind::ToolOutput, "", &text));
    body
}

fn summary(mut body: SummaryBody) -> SummaryBody {
    body.made_by = maker(&body.made_by, false);
    for text in
        [&mut body.request, &mut body.investigated, &mut body.learned, &mut body.completed, &mut body.next_steps]
    {
        *text = passage(text);
    }
    body.exchanges = body.exchanges.map(|text| {
        let mut exchanges = Exchange::from_json(&text);
        exchanges.truncate(EXCHANGES);
        for exchange in &mut exchanges {
            exchange.asked = line(&exchange.asked, LINE_CHARS);
            exchange.outcome = line(&exchange.outcome, LINE_CHARS);
        }
        Exchange::to_json(&exchanges)
    });
    body
}

fn bookmark(mut body: BookmarkBody) -> BookmarkBody {
    body.note = body.note.map(|text| line(&text, LINE_CHARS));
    body.git_commit = body.git_commit.map(|commit| line(&commit, NAME_CHARS));
    body
}

/// Returns who has written a text. Only a note is a person's: a summary of a person is overwritten by nothing.
fn maker(name: &str, is_note: bool) -> String {
    let maker = MadeBy::from_name(name).unwrap_or(MadeBy::Rule);
    let maker = if maker == MadeBy::Person && !is_note { MadeBy::Model } else { maker };
    maker.as_str().to_owned()
}

fn list(lines: &[String]) -> Vec<String> {
    lines.iter().take(LIST_LINES).map(|text| line(text, LINE_CHARS)).collect()
}

/// Returns a text as one line. One that is a line already stays as it is.
fn line(text: &str, max: usize) -> String {
    let text = Sanitizer::default().clean(text);
    if text.chars().any(char::is_control) || is_longer(&text, max) {
        return Sanitizer::default().line(&text, max);
    }
    text
}

/// Returns a text without control characters; line breaks and tabs stay.
fn passage(text: &str) -> String {
    let text = Sanitizer::default().clean(text);
    let is_printable = |c: char| matches!(c, '\n' | '\t') || !c.is_control();
    let text = if text.chars().all(is_printable) { text } else { text.chars().filter(|c| is_printable(*c)).collect() };
    if is_longer(&text, SAID_CHARS) { cut_middle(&text, SAID_CHARS) } else { text }
}

fn is_longer(text: &str, max: usize) -> bool {
    text.len() > max && text.chars().count() > max
}
