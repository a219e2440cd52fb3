//! Records as lines, as text and as JSON: the same for people and for agents.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use longhaul_core::clock::{date_of, time_of};
use longhaul_core::{Env, Millis, short_session};
use longhaul_memory::{Kind, MadeBy, Observation, Summary};
use longhaul_runtime::utc_offset_seconds;
use longhaul_store::{Content, Hit, Record, RecordId, Score};

use crate::cli::paint::{self, Colours, Span, Tone, fit, fit_line, harmless, width};

/// How much of a project's name a line shows.
const PROJECT_COLUMNS: usize = 24;

/// Where lines are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    columns: Option<usize>,
    colours: Colours,
}

impl Screen {
    /// No terminal: no colours, and nothing is cut.
    pub(crate) const NONE: Self = Self { columns: None, colours: Colours::No };

    /// Returns what standard output is.
    pub(crate) fn of(env: &Env) -> Self {
        if !io::stdout().is_terminal() {
            return Self::NONE;
        }
        let columns = crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)).or(env.columns);
        Self {
            columns: columns.filter(|columns| *columns > 0),
            colours: if env.no_color { Colours::No } else { Colours::Yes },
        }
    }
}

/// How lines are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// As they are: all are of one project.
    Plain,
    /// Each with its project.
    Projects,
    /// With this one marked.
    Around(RecordId),
}

impl Shown {
    /// Returns how records of one project are shown, or of `all`.
    pub(crate) fn of(all: bool) -> Self {
        if all { Self::Projects } else { Self::Plain }
    }
}

/// Returns records in a line each: id, time, kind, title, and the tokens that reading it costs.
pub(crate) fn lines(hits: &[Hit], shown: Shown, screen: Screen) -> Vec<String> {
    let widest = hits.iter().map(|hit| hit.record.to_string().len()).max().unwrap_or_default();
    let widest_project = hits.iter().map(|hit| width(&project(hit))).max().unwrap_or_default();
    let line = |hit: &Hit| {
        let mark = match shown {
            Shown::Around(middle) if middle == hit.record => "> ",
            Shown::Around(_) => "  ",
            Shown::Plain | Shown::Projects => "",
        };
        let cost = format!("  ~{} tokens", paint::tokens(hit.tokens()));
        let mut start = vec![
            Span::new(format!("{mark}{:widest$}", hit.record.to_string()), Tone::Bold),
            Span::new(format!("  {}  ", when(hit.at)), Tone::Dim),
            Span::new(format!("{:10}  ", kind_name(hit)), tone(hit.kind)),
        ];
        if shown == Shown::Projects {
            let project = project(hit);
            let gap = " ".repeat(widest_project - width(&project) + 2);
            start.push(Span::new(project + &gap, Tone::Dim));
        }
        let taken = start.iter().map(Span::width).sum::<usize>() + cost.chars().count();
        let mut line = start;
        let title = [Span::new(one_line(&hit.title), Tone::Plain)];
        match screen.columns {
            Some(columns) => line.extend(fit_line(&title, columns.saturating_sub(taken))),
            None => line.extend(title),
        }
        line.push(Span::new(cost, Tone::Dim));
        paint::render(&line, screen.colours)
    };
    hits.iter().map(line).collect()
}

/// Returns what a record was found by: the text around the words, and the parts of its score.
pub(crate) fn explained(hit: &Hit) -> Vec<String> {
    let Score { thousandths, covered, near, similarity } = hit.score;
    let weak = if hit.is_weak { ", weak" } else { "" };
    let older = if hit.is_older { ", older than a result above that answers the same" } else { "" };
    let score = thousandths as f64 / 1_000.0;
    let words = format!("has {covered} % of the words' weight, {near} % close together");
    let found_by = match similarity {
        Some(percent) if covered == 0 => {
            format!("found by meaning alone, similarity {:.2}", f64::from(percent) / 100.0)
        }
        Some(percent) => format!("{words}, similarity {:.2}", f64::from(percent) / 100.0),
        None => words,
    };
    let parts = format!("score {score:.3}: {found_by}{weak}{older}");
    let snippet = harmless(&one_line(&hit.snippet));
    [snippet, parts].into_iter().filter(|line| !line.is_empty()).collect()
}

/// Returns the project's name, as much of it as a line has room for.
fn project(hit: &Hit) -> String {
    fit(&harmless(&one_line(&hit.project)), PROJECT_COLUMNS)
}

fn tone(kind: Option<Kind>) -> Tone {
    match kind {
        Some(Kind::Problem) => Tone::Bad,
        Some(Kind::Fix) => Tone::Good,
        Some(Kind::Decision | Kind::Note) => Tone::Warn,
        Some(Kind::Change | Kind::Discovery | Kind::Command | Kind::Delegation) | None => Tone::Plain,
    }
}

/// Returns a whole record as text.
pub(crate) fn record(record: &Record) -> String {
    let mut text = format!("# {}  ", record.record);
    let session = record.session.as_deref().map(|session| format!(", session {}", short_session(session)));
    let prompt = Some(record.prompt_number).filter(|number| *number > 0).map(|number| format!(", prompt {number}"));
    let place = format!(
        "{}, project {}{}{}",
        when(record.at),
        record.project,
        session.unwrap_or_default(),
        prompt.unwrap_or_default()
    );
    match &record.content {
        Content::Prompt { prompt, reply } => {
            let _ = write!(text, "prompt\n{place}\n\n{prompt}\n");
            if !reply.trim().is_empty() {
                let _ = write!(text, "\n## reply\n{}\n", reply.trim());
            }
        }
        Content::Observation { observation, made_by, repeats, input, output, .. } => {
            let repeats = Some(*repeats).filter(|repeats| *repeats > 0).map(|times| format!(", {times} times more"));
            let tool = Some(&observation.tool).filter(|tool| !tool.is_empty()).map(|tool| format!(", {tool}"));
            let _ = writeln!(text, "{}  {}", observation.kind, one_line(&observation.title));
            let _ = writeln!(
                text,
                "{place}{}{}{}",
                tool.unwrap_or_default(),
                repeats.unwrap_or_default(),
                author(*made_by)
            );
            tell(&mut text, observation);
            for (label, raw) in [("input", input), ("output", output)] {
                if let Some(raw) = raw.as_deref().filter(|raw| !raw.is_empty()) {
                    let _ = write!(text, "\n## {label}\n{}\n", raw.trim_end());
                }
            }
        }
        Content::Summary { summary, made_by } => {
            let _ = writeln!(text, "summary\n{place}{}", author(*made_by));
            sum_up(&mut text, summary);
        }
    }
    text
}

fn tell(text: &mut String, observation: &Observation) {
    for (label, files) in [("changed", &observation.files_modified), ("read", &observation.files_read)] {
        if !files.is_empty() {
            let _ = writeln!(text, "{label}: {}", files.join(", "));
        }
    }
    for fact in &observation.facts {
        let _ = writeln!(text, "- {fact}");
    }
    if !observation.narrative.trim().is_empty() {
        let _ = write!(text, "\n{}\n", observation.narrative.trim_end());
    }
}

fn sum_up(text: &mut String, summary: &Summary) {
    let parts = [
        ("asked", &summary.request),
        ("looked at", &summary.investigated),
        ("learned", &summary.learned),
        ("done", &summary.completed),
        ("left", &summary.next_steps),
    ];
    for (label, part) in parts.iter().filter(|(_, part)| !part.trim().is_empty()) {
        let _ = writeln!(text, "{label}: {}", part.trim());
    }
}

fn author(made_by: MadeBy) -> String {
    match made_by {
        MadeBy::Rule => String::new(),
        MadeBy::Model | MadeBy::Person => format!(", by a {}", made_by.as_str()),
    }
}

fn kind_name(hit: &Hit) -> &'static str {
    hit.kind.map_or_else(|| hit.record.what.as_str(), Kind::as_str)
}

/// Returns a time as this machine's clock shows it, to the minute.
pub(crate) fn when(at: Millis) -> String {
    let offset = utc_offset_seconds(at);
    let time = time_of(at, offset);
    format!("{} {}", date_of(at, offset), &time[..5])
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
