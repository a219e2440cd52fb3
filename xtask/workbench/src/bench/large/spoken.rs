//! The conversation of a synthetic session: prompts and replies.

use anyhow::Result;
use longhaul_core::{Config, Millis};
use longhaul_store::{Bulk, NewObservation, PastPrompt, PastTurn};
use longhaul_transcript::{Batch, Cursor, SourcedText, Turn};

use super::library::Hand;

/// One conversation of this many is in Chinese.
const CHINESE: usize = 25;

/// A prompt and the reply to it.
pub(super) struct Spoken {
    id: String,
    prompt: String,
    reply: String,
    at: u64,
}

impl Spoken {
    pub(super) fn new(hand: &mut Hand<'_>, id: String, at: u64) -> Self {
        let (asked, said) = (hand.dice.log_uniform(4, 400), hand.dice.log_uniform(20, 800));
        let is_chinese = hand.dice.below(CHINESE) == 0;
        let mut say = |count: usize| match is_chinese {
            true => hand.words.chinese(&mut hand.dice, count),
            false => hand.words.sentence(&mut hand.dice, count),
        };
        let (prompt, reply) = (say(asked), say(said));
        Self { id, prompt, reply, at }
    }

    /// Returns the bytes of the text. The prompt is stored twice: for the memory and for the handoff.
    pub(super) fn text(&self) -> u64 {
        (2 * self.prompt.len() + self.reply.len()) as u64
    }

    fn turn(&self) -> Turn {
        let at = Some(Millis(self.at));
        let said = |text: &str, source: &str| SourcedText::new(format!("{}-{source}", self.id), at, text);
        let mut turn = Turn::new(format!("turn-{}", self.id));
        turn.at = at;
        turn.prompt = Some(said(&self.prompt, "asked"));
        turn.replies = vec![said(&self.reply, "said")];
        turn
    }
}

/// Stores the turns of a session, with `per_prompt` tool calls for each.
pub(super) fn store(
    bulk: &Bulk<'_>,
    session: &str,
    turns: &[Spoken],
    calls: Vec<NewObservation<'_>>,
    per_prompt: usize,
) -> Result<()> {
    let mut batch = Batch::default();
    batch.turns = turns.iter().map(Spoken::turn).collect();
    if let Some(stored) = bulk.plain().session(session)? {
        bulk.plain().ingest(&stored, &Cursor::default(), &batch, &Config::default(), stored.created_at)?;
    }
    let mut calls = calls.into_iter();
    let past = turns
        .iter()
        .map(|turn| PastTurn {
            prompt: Some(PastPrompt { id: &turn.id, text: &turn.prompt, at: Millis(turn.at) }),
            calls: calls.by_ref().take(per_prompt).collect(),
        })
        .collect();
    bulk.take_in_past(session, past, 0)?;
    bulk.link_replies(session)?;
    Ok(())
}
