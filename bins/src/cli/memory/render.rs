//! Shows records as lines and as text, for people and for agents.

use std::fmt::Write as _;
use std::ops::Range;

use longhaul_core::{Env, Millis, one_line, short_session};
use longhaul_memory::{Kind, MadeBy, MarkedText, Observation, Summary};
use longhaul_store::{Content, Hit, Record, RecordId, Score, ScoreParts, from_host};

use crate::cli::out;
use crate::cli::paint::{self, Colours, Span, Tone, fit, fit_line, harmless, local_time, width};

/// The maximum width of a project's name in a line.
const PROJECT_COLUMNS: usize = 24;

/// The indentation of text that belongs to the line above.
const INDENT: &str = "    ";

/// Where lines are printed: how wide, and whether in colour.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    columns: Option<usize>,
    pub(crate) colours: Colours,
}

impl Screen {
    /// No terminal, or a model reads it: without colours, and nothing is cut.
    pub(crate) const NONE: Self = Self { columns: None, colours: Colours::No };

    /// Returns the properties of standard output.
    pub(crate) fn of(env: &Env) -> Self {
        if out::is_for_model(env) {
            return Self::NONE;
        }
        let columns = crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)).or(env.columns);
        Self {
            columns: columns.filter(|columns| *columns > 0),
            colours: if env.no_color { Colours::No } else { Colours::Yes },
        }
    }
}

/// Returns the positions of the query's words in a text.
pub(crate) type Marks<'a> = &'a mut dyn FnMut(&str) -> Vec<Range<usize>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// All are of one project.
    Plain,
    Projects,
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
    marked_lines(hits, shown, screen, &mut |_| Vec::new())
}

/// Returns the same lines with the words marked in the titles.
pub(crate) fn marked_lines(hits: &[Hit], shown: Shown, screen: Screen, marks: Marks<'_>) -> Vec<String> {
    let widest = hits.iter().map(|hit| hit.record.to_string().len()).max().unwrap_or_default();
    let widest_project = hits.iter().map(|hit| width(&project(hit))).max().unwrap_or_default();
    let mut line = |hit: &Hit| {
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
        if let Some(host) = &hit.host {
            start.push(Span::new(format!("{}  ", harmless(&from_host(host))), Tone::Dim));
        }
        let taken = start.iter().map(Span::width).sum::<usize>() + cost.chars().count();
        let mut line = start;
        let title = marked(&one_line(&hit.title, usize::MAX), Tone::Plain, marks);
        match screen.columns {
            Some(columns) => line.extend(fit_line(&title, columns.saturating_sub(taken))),
            None => line.extend(title),
        }
        line.push(Span::new(cost, Tone::Dim));
        paint::render(&line, screen.colours)
    };
    hits.iter().map(&mut line).collect()
}

/// Returns a text as spans, with the words marked.
fn marked(text: &str, tone: Tone, marks: Marks<'_>) -> Vec<Span> {
    let text = MarkedText { marks: marks(text), text: text.to_owned() };
    let span = |(piece, is_found): (&str, bool)| Span::new(piece, if is_found { Tone::Found } else { tone });
    text.pieces().into_iter().map(span).collect()
}

/// Returns the text around the words, in one line; `None` if the title contains it.
pub(crate) fn snippet(hit: &Hit, screen: Screen, marks: Marks<'_>) -> Option<String> {
    let snippet = one_line(&hit.snippet, usize::MAX);
    let text = snippet.trim_matches(['…', ' ']);
    if text.is_empty() || one_line(&hit.title, usize::MAX).contains(text) {
        return None;
    }
    let spans = [vec![Span::new(INDENT, Tone::Plain)], marked(&snippet, Tone::Dim, marks)].concat();
    let spans = screen.columns.map_or(spans.clone(), |columns| fit_line(&spans, columns));
    Some(paint::render(&spans, screen.colours))
}

/// Returns the parts of a record's score, and which words the record has.
pub(crate) fn explained(hit: &Hit, words: &[(String, bool)]) -> Vec<String> {
    let Score { thousandths, covered, near, similarity, parts } = hit.score;
    let weak = if hit.is_weak { ", weak" } else { "" };
    let older = if hit.is_older { ", older than a result above that answers the same" } else { "" };
    let score = thousandths as f64 / 1_000.0;
    let by_words = format!("contains {covered} % of the query's words by weight, {near} % close together");
    let found_by = match similarity {
        Some(percent) if covered == 0 => {
            format!("found by meaning alone, similarity {:.2}", f64::from(percent) / 100.0)
        }
        Some(percent) => format!("{by_words}, similarity {:.2}", f64::from(percent) / 100.0),
        None => by_words,
    };
    let mut lines = vec![format!("score {score:.3}: {found_by}{weak}{older}")];
    // Results that are ordered by time have no score.
    lines.extend((thousandths > 0).then(|| formula(parts)));
    let listed = |has: bool| {
        let some: Vec<&str> = words.iter().filter(|word| word.1 == has).map(|word| word.0.as_str()).collect();
        some.join(", ")
    };
    lines.extend(match (listed(true), listed(false)) {
        (has, lacks) if has.is_empty() && lacks.is_empty() => None,
        (has, lacks) if lacks.is_empty() => Some(format!("words: {has}")),
        (has, lacks) if has.is_empty() => Some(format!("none of the words: {lacks}")),
        (has, lacks) => Some(format!("words: {has}; missing: {lacks}")),
    });
    lines.iter().map(|line| format!("{INDENT}{}", harmless(line))).collect()
}

/// Returns how a score is computed. Parts that add nothing, and factors that change nothing, are left out, except age and kind.
fn formula(parts: ScoreParts) -> String {
    let ScoreParts { words, kind, neighbours, calls, meaning, age, date } = parts;
    let number = |thousandths: u64| format!("{:.3}", thousandths as f64 / 1_000.0);
    let own = if meaning > 0 { format!("meaning {}", number(meaning)) } else { format!("words {}", number(words)) };
    let added = [("neighbours", neighbours), ("tool calls", calls)].into_iter().filter(|(_, part)| *part > 0);
    let added: String = added.map(|(name, part)| format!(" + {name} {}", number(part))).collect();
    let date = if date == 1_000 { String::new() } else { format!(" × date {}", number(date)) };
    format!("= ({own} × kind {}{added}) × age {}{date}", number(kind), number(age))
}

/// Returns the project's name, cut to its maximum width.
fn project(hit: &Hit) -> String {
    fit(&harmless(&one_line(&hit.project, usize::MAX)), PROJECT_COLUMNS)
}

fn tone(kind: Option<Kind>) -> Tone {
    match kind {
        Some(Kind::Problem) => Tone::Bad,
        Some(Kind::Fix) => Tone::Good,
        Some(Kind::Decision | Kind::Note) => Tone::Warn,
        Some(Kind::Change | Kind::Discovery | Kind::Command | Kind::Delegation) | None => Tone::Plain,
    }
}

pub(crate) fn record(record: &Record) -> String {
    let mut text = format!("# {}  ", record.record);
    let session = record.session.as_deref().map(|session| format!(", session {}", short_session(session)));
    let prompt = Some(record.prompt_number).filter(|number| *number > 0).map(|number| format!(", prompt {number}"));
    let place = format!(
        "{}{}, project {}{}{}",
        when(record.at),
        record.host.as_deref().map(|host| format!(", {}", from_host(host))).unwrap_or_default(),
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
            let _ = writeln!(text, "{}  {}", observation.kind, one_line(&observation.title, usize::MAX));
            let _ = writeln!(
                text,
                "{place}{}{}{}",
                tool.unwrap_or_default(),
                repeats.unwrap_or_default(),
                author(*made_by)
            );
            write_observation(&mut text, observation);
            for (label, raw) in [("input", input), ("output", output)] {
                if let Some(raw) = raw.as_deref().filter(|raw| !raw.is_empty()) {
                    let _ = write!(text, "\n## {label}\n{}\n", raw.trim_end());
                }
            }
        }
        Content::Summary { summary, made_by } => {
            let _ = writeln!(text, "summary\n{place}{}", author(*made_by));
            write_summary(&mut text, summary);
        }
    }
    text
}

fn write_observation(text: &mut String, observation: &Observation) {
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

fn write_summary(text: &mut String, summary: &Summary) {
    let parts = [
        ("asked", &summary.request),
        ("investigated", &summary.investigated),
        ("learned", &summary.learned),
        ("done", &summary.completed),
        ("left to do", &summary.next_steps),
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

/// Returns a local time, to the minute.
pub(crate) fn when(at: Millis) -> String {
    local_time(at)[..16].to_owned()
}
