//! The decision against a known truth: any sequence of edits by prompts, commands, people and formatters.

use proptest::prelude::*;

use super::calls::{Edit, EditCall};
use super::decision::{ActiveTurn, Attribution, Change, Origin, OriginKind, Turn};
use super::line_maps;

/// Who wrote a line: the kind, and the number of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Writer(OriginKind, usize);

const FIRST: Writer = Writer(OriginKind::Commit, 0);

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

/// A file of which is known who wrote each line.
#[derive(Debug, Clone)]
struct File {
    lines: Vec<(String, Writer)>,
    written: usize,
}

impl File {
    fn text(&self) -> Vec<u8> {
        self.lines.iter().flat_map(|(line, _)| format!("{line}\n").into_bytes()).collect()
    }

    /// Returns a line; one in six says little if `may_be_short`.
    fn new_line(&mut self, dice: &mut Dice, may_be_short: bool) -> String {
        self.written += 1;
        match dice.roll(12) {
            _ if !may_be_short => format!("    let other_{} = call({});", self.written, dice.roll(1_000)),
            0 => "}".to_owned(),
            1 => String::new(),
            _ => format!("    let value_{} = call({});", self.written, dice.roll(1_000)),
        }
    }

    /// Inserts, replaces or deletes some lines; returns the place, and how many lines were there and are there now.
    fn change(&mut self, writer: Writer, dice: &mut Dice) -> (usize, usize, usize) {
        let at = dice.roll(self.lines.len() + 1);
        let gone = dice.roll(3).min(self.lines.len() - at);
        let new = dice.roll(5) + usize::from(gone == 0);
        // Where a line is replaced by an equal one, nobody could say who wrote it.
        let new_lines: Vec<_> = (0..new).map(|_| (self.new_line(dice, gone == 0), writer)).collect();
        self.lines.splice(at..at + gone, new_lines);
        (at, gone, new)
    }
}

impl File {
    /// What an edit has at both ends of its old and its new text stays: first at the beginning, then at the end.
    fn keep_common(&mut self, range: std::ops::Range<usize>, old: &[(String, Writer)], writer: Writer) {
        let new = &mut self.lines[range];
        let most = old.len().min(new.len());
        let head = (0..most).take_while(|at| old[*at].0 == new[*at].0).count();
        let (old_len, new_len) = (old.len(), new.len());
        let tail = (1..=most - head).take_while(|at| old[old_len - at].0 == new[new_len - at].0).count();
        for line in &mut new[head..new_len - tail] {
            line.1 = writer;
        }
        for at in 0..head {
            new[at].1 = old[at].1;
        }
        for at in 1..=tail {
            new[new_len - at].1 = old[old_len - at].1;
        }
    }
}

fn turn(number: usize) -> Turn {
    Turn {
        session: format!("s{}", number % 3),
        prompt_id: Some(format!("p{number}")),
        from: number as u64,
        to: number as u64 + 1,
        is_end_known: true,
        is_private: number % 7 == 6,
        is_forgotten: false,
        is_here: true,
    }
}

/// Edits a file in every way, and follows it. Returns how many lines are right, unknown, and wrong.
fn play(seed: u64, steps: usize) -> (usize, usize, Vec<String>) {
    let mut dice = Dice(seed);
    let mut file = File { lines: Vec::new(), written: 0 };
    for _ in 0..dice.roll(30) {
        let line = file.new_line(&mut dice, true);
        file.lines.push((line, FIRST));
    }
    let mut known = Attribution::new(file.text(), Origin::of(OriginKind::Commit));
    known.remember(0);
    let mut older: Vec<File> = vec![file.clone()];
    let mut first = std::collections::HashMap::from([(file.text(), 0)]);
    for number in 1..=steps {
        let turn = turn(number);
        let mut calls: Vec<EditCall> = Vec::new();
        let mut commands: Vec<String> = Vec::new();
        let mut change = Change { from: number as u64, to: number as u64, ..Change::default() };
        let kind = |kind| if turn.is_private { Writer(OriginKind::Private, 0) } else { Writer(kind, number) };
        let mut id = number as u64;
        match dice.roll(8) {
            // Edit calls, one after the other.
            0..=2 => {
                for call in 0..=dice.roll(3) {
                    let before = file.lines.clone();
                    let (at, gone, new) = file.change(kind(OriginKind::Prompt), &mut dice);
                    let text = |lines: &[(String, Writer)]| {
                        lines.iter().map(|(line, _)| format!("{line}\n")).collect::<String>()
                    };
                    // The lines around say where it is: as many as needed for the place to be the only one.
                    let whole = before.iter().map(|(line, _)| format!("{line}\n")).collect::<String>();
                    let (mut from, mut after) = (at.saturating_sub(1), at + gone);
                    let edit = loop {
                        let old = text(&before[from..after]);
                        let is_here = whole.find(&old) == Some(text(&before[..from]).len());
                        let is_only = !old.is_empty() && is_here && whole.matches(&old).count() == 1;
                        if is_only {
                            let end = at + new + (after - at - gone);
                            let new = text(&file.lines[from..end]);
                            file.keep_common(from..end, &before[from..after], kind(OriginKind::Prompt));
                            break Edit::Replace { old: old.into_bytes(), new: new.into_bytes(), all: false };
                        }
                        if from == 0 && after == before.len() {
                            file.keep_common(0..file.lines.len(), &before, kind(OriginKind::Prompt));
                            break Edit::Whole(file.text());
                        }
                        from = from.saturating_sub(1);
                        after = (after + 1).min(before.len());
                    };
                    calls.push(EditCall { id: format!("c{number}.{call}"), at: 0, edits: vec![edit], is_whole: true });
                }
            }
            // A command, perhaps after an edit call whose text is not known.
            3 => {
                file.change(kind(OriginKind::Command), &mut dice);
                commands.push(format!("b{number}"));
            }
            // A person.
            4 | 5 => {
                file.change(Writer(OriginKind::Outside, number), &mut dice);
                change.may_be_outside = true;
            }
            // A formatter.
            6 => {
                let by = " ".repeat(dice.roll(3) * 4);
                for (line, _) in &mut file.lines {
                    *line = if line.trim().is_empty() { String::new() } else { format!("{by}{}", line.trim()) };
                }
                commands.push(format!("f{number}"));
            }
            // A checkout of what was there once.
            _ => {
                let at = older.len() - 1 - dice.roll(older.len().min(20));
                let at = first.get(&older[at].text()).copied().unwrap_or(at);
                file = File { written: file.written, ..older[at].clone() };
                change.may_be_outside = true;
            }
        }
        if !change.may_be_outside {
            let commands = commands.iter().map(String::as_str).collect();
            change.turns.push(ActiveTurn { turn: &turn, commands, reported: None, knows_calls: true });
        }
        change.calls = calls.iter().map(|call| (call, &turn)).collect();
        id = first.get(&file.text()).map_or(id, |at| *at as u64);
        known.advance(file.text(), Some(id), &change);
        older.push(file.clone());
        first.entry(file.text()).or_insert(number);
        if dice.roll(10) == 0 {
            // A line map that is stored and read again.
            let (lines, origins) = line_maps::to_bytes(&known);
            known = line_maps::from_bytes(&lines, &origins).expect("a map that was just written");
            known.know_text(file.text());
        }
    }
    let (mut right, mut unknown, mut wrong) = (0, 0, Vec::new());
    assert_eq!(known.lines.len(), file.lines.len());
    // Lines that stay are not read again: they are as if they were.
    assert_eq!(known.lines, Attribution::new(file.text(), Origin::of(OriginKind::Commit)).lines);
    for (at, (text, writer)) in file.lines.iter().enumerate() {
        let origin = known.origin(known.origins[at]);
        let is = |origin: &Origin| match writer.0 {
            OriginKind::Prompt | OriginKind::Command => {
                origin.kind == writer.0 && origin.prompt_id.as_deref() == Some(&format!("p{}", writer.1))
            }
            OriginKind::Outside => origin.kind == OriginKind::Outside && origin.at == writer.1 as u64,
            kind => origin.kind == kind,
        };
        if is(origin) {
            right += 1;
        } else if origin.kind == OriginKind::Unknown
            && (origin.candidates.is_empty() || origin.candidates.iter().any(is))
        {
            unknown += 1;
        } else {
            wrong.push(format!("seed {seed}, line {at} {text:?}: {writer:?}, found {origin:?}"));
        }
    }
    (right, unknown, wrong)
}

proptest! {
    #[test]
    fn no_line_has_a_wrong_origin(seed in any::<u64>(), steps in 1_usize..40) {
        let (_, _, wrong) = play(seed, steps);
        // A line that says little may be like another one.
        prop_assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn few_lines_are_unknown() {
    let (mut right, mut unknown) = (0, 0);
    for seed in 0..80 {
        let (correct, other, wrong) = play(seed, 30);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        right += correct;
        unknown += other;
    }
    assert!(unknown * 100 <= (right + unknown) * 3, "{unknown} of {} lines are unknown", right + unknown);
}

#[test]
fn a_file_that_is_written_whole_is_compared_with_what_was_there_when_the_turn_began() {
    for (from, kind) in [(2, OriginKind::Prompt), (1, OriginKind::Unknown)] {
        let turn = Turn { to: 5, ..turn(2) };
        let write = |edits| EditCall { id: "c".to_owned(), at: 3, edits, is_whole: true };
        let whole = write(vec![Edit::Whole(b"the first line\na line of somebody\nthe last line\n".to_vec())]);
        let edit = |new: &[u8]| Edit::Replace { old: b"the last line\n".to_vec(), new: new.to_vec(), all: false };
        let edit = write(vec![edit(b"a line of an edit\nthe last line\n")]);
        let mut known = Attribution::new(b"the first line\n".to_vec(), Origin::of(OriginKind::Commit));
        let active = ActiveTurn { turn: &turn, commands: Vec::new(), reported: None, knows_calls: true };
        let calls = vec![(&whole, &turn), (&edit, &turn)];
        let change = Change { from, to: 5, turns: vec![active], may_be_outside: from < 2, calls, ..Change::default() };
        let text = b"the first line\na line of somebody\na line of an edit\nthe last line\n";
        known.advance(text.to_vec(), None, &change);
        let kinds: Vec<OriginKind> = known.origins.iter().map(|id| known.origin(*id).kind).collect();
        assert_eq!(kinds, [OriginKind::Commit, kind, OriginKind::Prompt, kind]);
    }
}
