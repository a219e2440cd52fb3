//! The conclusions of a session: the sentences of its replies that state a decision, a cause or a finding. Code,
//! headings, tables, quotations and items that are left to do are no sentences.
//!
//! Reports of edits ("Added to CHANGELOG.md.") are separate, because they describe the work. Plans, questions and
//! polite phrases are ignored. The rules are tables of words, so a sentence in a language without such a table counts
//! as a finding.

mod cues;

use self::cues::{
    COURTESIES, CueKinds, DECISION_START, DOING_START, PROPOSAL_START, REPORT_END, REPORT_VERBS, SUBJECTS, TALK_START,
};
use crate::left_to_do::{heading, is_item, unmarked};
use crate::observe::{decisions, is_decision};
use crate::text::one_line;

/// Maximum number of bytes that are read of all replies, and of one reply. It limits the cost of every summary.
const READ_BYTES: usize = 32_768;
const REPLY_BYTES: usize = 12_288;

/// Maximum length of a sentence, in characters.
const SENTENCE_CHARS: usize = 240;

/// Maximum number of conclusions of a session, and of findings that one reply adds to them.
const CONCLUSIONS: usize = 6;
const FINDINGS_OF_REPLY: usize = 2;

/// Maximum number of sentences of one reply that are shown with its request.
const SENTENCES_OF_REPLY: usize = 2;

const REPORTS: usize = 2;

/// A sentence with fewer words or characters is a remark. Languages without spaces have few words.
const FINDING_WORDS: usize = 4;
const FINDING_CHARS: usize = 20;
const WIDE_FINDING_CHARS: usize = 8;

/// The kind of a sentence, in the order in which conclusions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Statement {
    Decision,
    Cause,
    Finding,
    /// A remark that means little alone, such as a short answer.
    Remark,
    Report,
    /// A plan, a question or a polite phrase.
    Talk,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Conclusions {
    /// Decisions, the newest first, then causes and findings: first those of the first reply, which answers the
    /// session's first request, then the newest.
    pub(crate) learned: Vec<String>,
    /// The reports of the newest reply that contains any.
    pub(crate) reported: Vec<String>,
    /// The conclusion of each reply. Replies without one, or that were not read, are missing.
    by_reply: Vec<ReplyConclusion>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReplyConclusion {
    place: usize,
    pub(crate) best: Statement,
    pub(crate) sentences: Vec<String>,
}

impl Conclusions {
    /// Returns the conclusion of the reply at an index.
    pub(crate) fn of_reply(&self, place: usize) -> Option<&ReplyConclusion> {
        self.by_reply.iter().find(|reply| reply.place == place)
    }
}

struct Found {
    statement: Statement,
    age: usize,
    is_first: bool,
    text: String,
}

impl Found {
    /// Returns the sort key of a conclusion. Within a reply, the order of the text is kept.
    fn order(&self) -> (Statement, usize) {
        let is_answer = self.is_first && self.statement != Statement::Decision;
        (self.statement, if is_answer { 0 } else { self.age + 1 })
    }
}

/// Returns the conclusions and reports of `replies`, which are ordered from old to new.
pub(crate) fn conclusions<'a>(replies: impl Iterator<Item = &'a str>) -> Conclusions {
    let replies: Vec<(usize, &str)> = replies.enumerate().filter(|(_, reply)| !reply.trim().is_empty()).collect();
    let Some(last) = replies.len().checked_sub(1) else { return Conclusions::default() };
    let mut found: Vec<Found> = Vec::new();
    let mut by_reply = Vec::new();
    let mut left = READ_BYTES;
    // The newest, the first, then the others from the newest on, up to the limit of bytes.
    let ends = if last > 0 { vec![last, 0] } else { vec![0] };
    for index in ends.into_iter().chain((1..last).rev()) {
        let ((place, reply), age, is_first) = (replies[index], last - index, index == 0);
        let read = &reply[..reply.floor_char_boundary(left.min(REPLY_BYTES))];
        left -= read.len();
        let mut said = sentences(read);
        if read.len() < reply.len() {
            // The last sentence is cut.
            said.pop();
        }
        let (mut findings, begun) = (0, found.len());
        // Labelled decisions are found by their label.
        for sentence in said.into_iter().filter(|sentence| !is_decision(sentence)) {
            let statement = statement(&sentence);
            findings += usize::from(statement == Statement::Finding);
            let is_one_more = statement == Statement::Finding && findings > FINDINGS_OF_REPLY;
            if statement != Statement::Talk && !is_one_more {
                found.push(Found { statement, age, is_first, text: one_line(&sentence, SENTENCE_CHARS) });
            }
        }
        by_reply.extend(reply_conclusion(place, read, &found[begun..]));
        if left == 0 {
            break;
        }
    }
    found.sort_by_key(Found::order);
    let of = |wanted: fn(&Found) -> bool, most: usize| {
        let mut texts: Vec<String> = Vec::new();
        for sentence in found.iter().filter(|sentence| wanted(sentence)) {
            if texts.len() < most && !texts.contains(&sentence.text) {
                texts.push(sentence.text.clone());
            }
        }
        texts
    };
    let mut learned = of(|sentence| sentence.statement <= Statement::Finding, CONCLUSIONS);
    if learned.is_empty() {
        learned = of(|sentence| sentence.statement == Statement::Remark && sentence.age == 0, 1);
    }
    let reports = || found.iter().filter(|sentence| sentence.statement == Statement::Report);
    let newest = reports().map(|report| report.age).min();
    let reported = reports().filter(|report| Some(report.age) == newest && is_telling(&report.text));
    let reported = reported.take(REPORTS).map(|report| report.text.clone()).collect();
    Conclusions { learned, reported, by_reply }
}

/// Returns the most important sentences of one reply: labelled decisions, then other conclusions, otherwise reports,
/// otherwise a remark.
fn reply_conclusion(place: usize, reply: &str, found: &[Found]) -> Option<ReplyConclusion> {
    let mut conclusions: Vec<&Found> =
        found.iter().filter(|sentence| sentence.statement <= Statement::Finding).collect();
    conclusions.sort_by_key(|sentence| sentence.statement);
    let labelled: Vec<String> =
        decisions(reply).iter().map(|decision| labelled_sentence(&decision.narrative)).collect();
    let first = conclusions.first().map(|sentence| sentence.statement);
    let mut best = if labelled.is_empty() { first } else { Some(Statement::Decision) };
    let mut sentences = labelled;
    sentences.extend(conclusions.iter().map(|sentence| sentence.text.clone()));
    if sentences.is_empty() {
        // A report such as `Pushed.` contains nothing useful.
        let is_report = |sentence: &&Found| sentence.statement == Statement::Report && is_telling(&sentence.text);
        let is_remark = |sentence: &&Found| sentence.statement == Statement::Remark;
        let said = if found.iter().any(|sentence| is_report(&sentence)) {
            found.iter().filter(is_report).collect::<Vec<_>>()
        } else {
            found.iter().filter(is_remark).collect()
        };
        best = said.first().map(|sentence| sentence.statement);
        sentences.extend(said.iter().map(|sentence| sentence.text.clone()));
    }
    sentences.truncate(SENTENCES_OF_REPLY);
    best.map(|best| ReplyConclusion { place, best, sentences })
}

/// Returns the first sentence of a labelled decision, with its label.
fn labelled_sentence(decision: &str) -> String {
    let sentence = first_sentence(decision);
    let end = if sentence.ends_with(['.', '!', '?', '…', '。']) { "" } else { "." };
    format!("Decided: {sentence}{end}")
}

/// Returns the first sentence of a text, cut to its length.
pub(crate) fn first_sentence(text: &str) -> String {
    one_line(sentences(text).first().map_or(text, String::as_str), SENTENCE_CHARS)
}

/// Returns as many of the first `sentences` as fit into `chars` characters, as one text.
pub(crate) fn joined(sentences: &[String], chars: usize) -> String {
    let mut text = String::new();
    let mut left = chars;
    for sentence in sentences {
        let gap = usize::from(!text.is_empty());
        let Some(rest) = left.checked_sub(sentence.chars().count() + gap) else { break };
        left = rest;
        text.push_str(if gap > 0 { " " } else { "" });
        text.push_str(sentence);
    }
    text
}

fn statement(sentence: &str) -> Statement {
    let lower = sentence.to_lowercase().replace('’', "'");
    let cues = CueKinds::in_sentence(&lower);
    let first = lower.as_bytes().first();
    // Comparing the first byte is faster than a call for every cue.
    let starts = |cues: &[&str]| cues.iter().any(|cue| cue.as_bytes().first() == first && lower.starts_with(cue));
    let bare = lower.trim_end_matches(['.', '!', '。', '！', ' ']);
    let is_plan = starts(&TALK_START) || (starts(&DOING_START) && !cues.has(CueKinds::CAUSE));
    if lower.ends_with(['?', '？', ':', '：']) || is_plan || COURTESIES.contains(&bare) {
        Statement::Talk
    } else if starts(&DECISION_START) || cues.has(CueKinds::DECISION) {
        Statement::Decision
    } else if cues.has(CueKinds::CAUSE) {
        Statement::Cause
    } else if cues.has(CueKinds::REPORT) || is_report(&lower, bare) {
        Statement::Report
    } else if cues.has(CueKinds::CONSEQUENCE) {
        Statement::Cause
    } else if is_telling(sentence) && !starts(&PROPOSAL_START) {
        Statement::Finding
    } else {
        Statement::Remark
    }
}

/// Returns whether a sentence, in lower case, reports by its beginning or end what the model has done.
fn is_report(lower: &str, bare: &str) -> bool {
    let subject = SUBJECTS.iter().find_map(|subject| lower.strip_prefix(subject)).unwrap_or(lower);
    let verb = subject.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    REPORT_VERBS.contains(&verb) || REPORT_END.iter().any(|end| bare.ends_with(end))
}

/// Returns whether a sentence is long enough to be understood alone.
fn is_telling(sentence: &str) -> bool {
    let (chars, words) = (sentence.chars().count(), sentence.split_whitespace().count());
    let is_wide = |c: char| matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}');
    (words >= FINDING_WORDS && chars >= FINDING_CHARS) || (chars >= WIDE_FINDING_CHARS && sentence.chars().any(is_wide))
}

/// Returns the sentences of a text, in order. An item of a list is a separate sentence.
fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut paragraph = String::new();
    let (mut in_code, mut under_heading, mut is_first) = (false, false, false);
    for line in text.lines() {
        let line = line.trim();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        in_code ^= is_fence;
        let is_prose = !in_code && !is_fence && !line.is_empty() && !line.starts_with(['#', '|', '>']);
        if !line.is_empty() && heading(line).is_some() {
            (under_heading, is_first) = (true, true);
            split_paragraph(&mut paragraph, &mut found);
            continue;
        }
        if under_heading && !line.is_empty() {
            under_heading = is_item(line) || std::mem::take(&mut is_first);
        }
        if !is_prose || under_heading || is_box(line) {
            split_paragraph(&mut paragraph, &mut found);
            continue;
        }
        if is_item(line) {
            split_paragraph(&mut paragraph, &mut found);
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(unmarked(line));
    }
    split_paragraph(&mut paragraph, &mut found);
    found
}

/// Returns whether a line is an item with a checkbox.
fn is_box(line: &str) -> bool {
    let item = line.trim_start_matches(['-', '*', '+', ' ']);
    ["[ ]", "[x]", "[X]", "☐", "☑", "☒", "✅"].iter().any(|mark| item.starts_with(mark))
}

/// Splits a paragraph into sentences.
fn split_paragraph(paragraph: &mut String, found: &mut Vec<String>) {
    let text = std::mem::take(paragraph).replace("**", "");
    let (mut start, mut in_code) = (0, false);
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        let is_end = match c {
            '`' => {
                in_code = !in_code;
                false
            }
            '。' | '！' | '？' => true,
            '.' | '!' | '?' => !in_code && ends_sentence(&text[start..at], &text[end..]),
            _ => false,
        };
        if is_end {
            push_sentence(&text[start..end], found);
            start = end;
        }
    }
    push_sentence(&text[start..], found);
}

/// Returns whether a full stop between two texts ends a sentence: not in `e.g. this`, `St. Mary`, `1.5` or `a.rs`.
fn ends_sentence(before: &str, after: &str) -> bool {
    let Some(next) = after.trim_start().chars().next() else { return true };
    let word = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    let letters = word.chars().take_while(|c| c.is_alphabetic()).count();
    let is_whole = letters == word.chars().count();
    let is_short = is_whole && (letters == 1 || (letters == 2 && word.starts_with(char::is_uppercase)));
    after.starts_with(char::is_whitespace) && !next.is_lowercase() && !is_short
}

fn push_sentence(sentence: &str, found: &mut Vec<String>) {
    let sentence = sentence.trim();
    if sentence.chars().any(char::is_alphanumeric) {
        found.push(sentence.to_owned());
    }
}
