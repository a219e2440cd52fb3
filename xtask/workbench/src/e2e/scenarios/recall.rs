//! A question in a new session, answered from an old one.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::super::world::{Cast, World};

/// The decision in the first session.
const DECIDED: &str = "brokers choked on oversized payloads, so messages are chunked at 64 kilobytes";

/// The question with other inflections: no word of it occurs in the first session.
const INFLECTED: &str = "why does chunking a message stop any broker from choking?";

/// The question in entirely different words, which only the model can match.
const PARAPHRASED: &str = "reason for splitting large texts before sending them to the queue";

/// A new session asks over MCP, in words that do not occur in the old one, and is answered from it.
///
/// If the bundle has the model, the words are entirely different; otherwise only their inflections are.
pub(crate) fn recall(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let first = world.open(&[])?;
    first.say(&format!("SAY:{DECIDED}"))?;
    first.say("SAY:the beans are counted")?;
    first.exit()?;
    let second = world.open(&[])?;
    let has_model = cast.bundle().join("model").is_dir();
    let questions = [Some(INFLECTED), Some(PARAPHRASED).filter(|_| has_model)];
    for question in questions.into_iter().flatten() {
        let words: Vec<&str> = question.split([' ', '?']).filter(|word| word.len() > 3).collect();
        ensure!(!words.iter().any(|word| DECIDED.contains(&format!("{word} "))), "{question:?} shares a word");
        let call = json!({ "question": question });
        second.say(&format!("TOOL:mcp__plugin_longhaul_longhaul__recall {call}"))?;
        let results: Vec<_> = world.model.shown().iter().flat_map(longhaul_fake_model::Shown::results).collect();
        let answer = results.last().context("the tool was not called")?;
        ensure!(answer.contains("chunked at 64 kilobytes"), "{question:?} is not answered: {answer}");
        ensure!(answer.contains("<longhaul-context>"), "the answer is not framed as a record: {answer}");
    }
    ensure!(world.errors().is_empty(), "the hooks wrote errors: {}", world.errors());
    Ok(())
}
