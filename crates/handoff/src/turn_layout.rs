//! The layout of a rendered session: which turns are quoted, shown in one line, or left out.

use crate::render::RECENT_TURNS;
use crate::render_input::{RenderInput, TurnView};
use crate::turn_text::{block_size, line};

/// The number of turns that are always quoted, even where the lines of the oldest turns are left out for them.
const FLOOR_TURNS: usize = 3;

/// The lengths to which messages can be cut, in characters. The largest that leaves room for enough turns is used.
const CAPS: [usize; 9] = [8000, 4000, 2400, 1600, 1000, 700, 500, 300, 150];

/// The minimum length of a quoted message, in characters, where the turn could be shown in one line instead.
const WORTH_QUOTING: usize = 500;

/// How each turn is shown.
#[derive(Debug)]
pub(crate) struct TurnLayout {
    /// The number of newest turns that are quoted.
    pub(crate) recent: usize,
    /// The maximum length of their messages, in characters.
    pub(crate) cap: usize,
    /// The lines of the turns before them, newest first.
    pub(crate) lines: Vec<String>,
}

impl TurnLayout {
    /// Lays out `turns`, which are sorted oldest first, in `room` characters.
    pub(crate) fn new(context: &RenderInput<'_>, turns: &[&TurnView<'_>], room: usize) -> Self {
        // Turns from before a part that was not read are not recent, although no newer ones are known.
        let after_gap = context
            .after_gap
            .map_or(context.turns, |count| &context.turns[context.turns.len().saturating_sub(count)..]);
        let is_recent = |turn: &&&TurnView<'_>| after_gap.iter().any(|one| std::ptr::eq(one, **turn));
        let most = turns.iter().rev().take(RECENT_TURNS).take_while(is_recent).count();
        let sizes: Vec<_> = turns.iter().rev().take(most).map(|turn| block_size(turn, context)).collect();
        let cost = |count: usize, cap: usize| sizes[..count].iter().map(|size| size(cap)).sum::<usize>();

        let (floor, floor_cap) =
            floor(most, |count, cap| cost(count, cap) <= if count == turns.len() { room } else { room / 2 });
        let mut left = room - cost(floor, floor_cap);
        let mut lines = Vec::new();
        for turn in turns.iter().rev().skip(floor) {
            let line = line(turn, context);
            let Some(rest) = left.checked_sub(line.chars().count()) else {
                return Self { recent: floor, cap: floor_cap, lines };
            };
            left = rest;
            lines.push(line);
        }

        // Every turn fits in one line: quote as many of the newest as possible instead, as long as possible.
        let saved: Vec<usize> = lines.iter().map(|line| line.chars().count()).collect();
        let fits = |count: usize, cap: usize| cost(count, cap) + saved[count - floor..].iter().sum::<usize>() <= room;
        let caps = CAPS.into_iter().filter(|cap| *cap >= WORTH_QUOTING);
        let all = caps.clone().find(|cap| fits(most, *cap)).map(|cap| (most, cap));
        let some = || (floor..most).rev().find(|count| fits(*count, WORTH_QUOTING)).map(|count| (count, WORTH_QUOTING));
        let (recent, cap) = all.or_else(some).filter(|(count, _)| *count > floor).unwrap_or((floor, floor_cap));
        lines.drain(..recent - floor);
        Self { recent, cap, lines }
    }
}

/// Returns the number of newest turns that are quoted in any case, and the maximum length of their messages.
fn floor(most: usize, fits: impl Fn(usize, usize) -> bool) -> (usize, usize) {
    let counts = (1..=most.min(FLOOR_TURNS)).rev();
    let choices = counts.flat_map(|count| CAPS.into_iter().map(move |cap| (count, cap)));
    choices.into_iter().find(|(count, cap)| fits(*count, *cap)).unwrap_or((0, 0))
}
