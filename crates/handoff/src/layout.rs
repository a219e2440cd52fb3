//! Which turns are quoted, which are shown in a line, and which not at all.

use crate::render::RECENT_TURNS;
use crate::render_input::{RenderInput, TurnView};
use crate::turn_text::{block_size, line};

/// How many turns stay quoted, shortened, even where that leaves the oldest lines out.
const FLOOR_TURNS: usize = 3;

/// What a message is cut to: the largest that lets enough turns in.
const CAPS: [usize; 9] = [8000, 4000, 2400, 1600, 1000, 700, 500, 300, 150];

/// Below this a message is not worth quoting while its turn's line would do.
const WORTH_QUOTING: usize = 500;

/// Which turns are shown how.
#[derive(Debug)]
pub(crate) struct TurnLayout {
    /// How many of the newest are quoted.
    pub(crate) recent: usize,
    /// How long their messages may be.
    pub(crate) cap: usize,
    /// The lines of those before them, newest first.
    pub(crate) lines: Vec<String>,
}

impl TurnLayout {
    /// Plans `turns`, oldest first, into `room` characters.
    pub(crate) fn new(context: &RenderInput<'_>, turns: &[&TurnView<'_>], room: usize) -> Self {
        let most = turns.len().min(RECENT_TURNS);
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

        // Every turn fits in a line: now as many of the newest as possible are quoted instead, as long as possible.
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

/// Returns how many of the newest turns stay in any case, and how long their messages may be.
fn floor(most: usize, fits: impl Fn(usize, usize) -> bool) -> (usize, usize) {
    let counts = (1..=most.min(FLOOR_TURNS)).rev();
    let choices = counts.flat_map(|count| CAPS.into_iter().map(move |cap| (count, cap)));
    choices.into_iter().find(|(count, cap)| fits(*count, *cap)).unwrap_or((0, 0))
}
