//! Renders a session's memory for the next session, and parses a handoff that a model wrote.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use longhaul_core::Millis;
use longhaul_handoff::continuation::Document;
use longhaul_handoff::{RenderInput, TimedText, TurnView, render};

fn main() {
    let said = |minute: u64, text| TimedText { at: Millis(minute * 60_000), text };
    let turn = |asked, replied, skeleton| TurnView { role: "user", asked, replied, skeleton, ..TurnView::default() };
    let turns = [
        turn(said(1, "make the parser faster"), said(9, "It is twice as fast now."), "parser.rs edited, bench run"),
        turn(said(10, "and the tests?"), said(14, "Two fail: unicode and cut."), "tests run: 2 failed"),
    ];
    let rendered = render(&RenderInput {
        session: "first",
        turns: &turns,
        older_turns: 0,
        now: Millis(15 * 60_000),
        offset_seconds: 0,
        said_tokens: 4_000,
        transcript_tokens: 90_000,
    });
    println!("{}\n({} tokens for {} saved)\n", rendered.text, rendered.tokens, rendered.tokens_saved);

    let written = "Here it is:\n---\ncontinue: true\nnonce: lh-1\n---\n# Remaining\n- fix the two tests\n";
    match Document::parse_answer(written, "lh-1") {
        Ok(handoff) => println!("left to do: {}", handoff.remaining()),
        Err(malformed) => println!("no handoff: {malformed}"),
    }
}
