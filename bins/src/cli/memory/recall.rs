//! `longhaul memory recall`: answers a question with passages.

use anyhow::{Result, bail};
use longhaul_memory::{Answer, AnswerLine, LinePart};
use longhaul_runtime::memory::{ANSWER_TOKENS, ANSWER_TOKENS_RANGE, Recall, Wanted, answer_json, meaning, question};
use longhaul_store::Store;

use super::open_memory::{Memory, ProjectFilter};
use super::render::Screen;
use super::{find, nothing_found};
use crate::cli::paint::{self, Span, Tone};
use crate::cli::{Exit, out};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The question, as a sentence; +required, "a phrase", -excluded and filters work as in a search
    #[arg(required = true, value_name = "QUESTION")]
    question: Vec<String>,
    #[command(flatten)]
    projects: ProjectFilter,
    /// Maximum length of the answer, in tokens of about four characters
    #[arg(long, value_name = "N", default_value_t = ANSWER_TOKENS, value_parser = tokens)]
    tokens: usize,
    /// Only records since this day, as YYYY-MM-DD
    #[arg(long, value_name = "DATE")]
    since: Option<String>,
    /// Only records before this day
    #[arg(long, value_name = "DATE")]
    before: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Parses a number of tokens.
fn tokens(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number")).and_then(within)
}

/// Refuses a number of tokens that is too small for an answer, or that would fill the context of a model.
pub(crate) fn within(tokens: usize) -> Result<usize, String> {
    let (least, most) = (ANSWER_TOKENS_RANGE.start(), ANSWER_TOKENS_RANGE.end());
    if ANSWER_TOKENS_RANGE.contains(&tokens) {
        return Ok(tokens);
    }
    Err(format!("{tokens} is out of range: use {least} to {most} tokens"))
}

pub(crate) fn run(memory: &Memory<'_>, args: &Args) -> Result<Exit> {
    let wanted = Wanted {
        query: question(&find::typed(&args.question))?,
        since: args.since.as_deref().map(find::day).transpose()?,
        before: args.before.as_deref().map(find::day).transpose()?,
        ..Wanted::default()
    };
    let Some(store) = find::open(memory)? else { bail!(nothing_found::EMPTY) };
    // The frame also counts.
    let is_framed = !args.json && out::is_for_model(memory.env);
    let tokens = if is_framed { args.tokens.saturating_sub(out::FRAME_TOKENS) } else { args.tokens };
    let answer = answer(memory, &store, &args.projects, wanted.clone(), tokens)?;
    if args.json {
        out::json(&answer_json(&answer))?;
    } else {
        let screen = Screen::of(memory.env);
        let lines: Vec<String> = answer.lines().into_iter().map(|line| painted(line, screen)).collect();
        out::recorded_lines(memory.env, &lines)?;
    }
    if answer.is_empty() {
        out::message(&nothing_found::message(&store, &wanted));
        return Ok(Exit::Problem);
    }
    Ok(Exit::Success)
}

/// Answers a question of the session in which this process runs.
pub(crate) fn answer(
    memory: &Memory<'_>,
    store: &Store,
    projects: &ProjectFilter,
    wanted: Wanted,
    tokens: usize,
) -> Result<Answer> {
    wanted.check()?;
    let key = find::project_key(memory, store, projects, &wanted)?;
    let asking_session = memory.env.client_session.as_deref();
    let recall = Recall { asking_session, ..Recall::new(wanted, key.as_deref(), tokens) };
    Ok(meaning::recall(memory.env, &memory.home, &memory.config, store, &recall)?)
}

fn painted(line: AnswerLine, screen: Screen) -> String {
    let tone = |part: LinePart| match part {
        LinePart::Text => Tone::Plain,
        LinePart::Word => Tone::Found,
        LinePart::Id => Tone::Bold,
        LinePart::Label => Tone::Dim,
    };
    let spans: Vec<Span> = line.into_iter().map(|(text, part)| Span::new(text, tone(part))).collect();
    paint::render(&spans, screen.colours())
}
