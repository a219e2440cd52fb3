//! The part of a long text that contains the words, which are marked in it, within a number of characters.

use std::ops::Range;

use super::amends::decides;
use super::matched_words::WordMatch;

/// Maximum length of a sentence, in bytes. A longer one is divided.
const LONGEST: usize = 320;

/// The mark for omitted text.
const GAP: &str = " … ";

/// The factor for a sentence with a decision, compared with others that have the same words.
const DECIDES: f64 = 1.25;

/// The weight of such a sentence without any of the words.
const LEAST: f64 = 0.001;

struct Sentence {
    range: Range<usize>,
    chars: usize,
    weight: f64,
}

/// Returns an excerpt of at most `chars` characters around the words.
///
/// Sentences with the words come first, then those after and before them. Of a text without any of the words, the
/// beginning and the decisions are kept. `weights` contains the weight of each term.
pub(super) fn excerpt(text: &str, matches: &[WordMatch], weights: &[f64], chars: usize) -> MarkedText {
    if text.chars().count() <= chars {
        return joined(text, std::slice::from_ref(&(0..text.len())), matches);
    }
    let sentences: Vec<Sentence> =
        sentences(text).into_iter().map(|range| weigh(text, range, matches, weights)).collect();
    let mut order: Vec<usize> = (0..sentences.len()).filter(|at| sentences[*at].weight > 0.0).collect();
    order.sort_by(|a, b| sentences[*b].weight.total_cmp(&sentences[*a].weight));
    if matches.is_empty() && !sentences.is_empty() && !order.contains(&0) {
        order.push(0);
    }
    let Some(best) = order.first().copied() else { return MarkedText::default() };
    let gap = GAP.chars().count();
    let mut is_taken = vec![false; sentences.len()];
    // Every sentence may stand alone, between two gaps.
    let mut left = chars.saturating_sub(2 * gap);
    let take = |at: usize, left: &mut usize, is_taken: &mut Vec<bool>| {
        let cost = sentences[at].chars + gap;
        let fits = !is_taken[at] && cost <= *left;
        if fits {
            is_taken[at] = true;
            *left -= cost;
        }
        fits
    };
    for at in &order {
        take(*at, &mut left, &mut is_taken);
    }
    if !is_taken.contains(&true) {
        return cut_sentence(text, &sentences[best], matches, chars);
    }
    // The sentence after one explains it, and the sentence before it introduces it.
    for seed in order.iter().copied().filter(|at| is_taken[*at]).collect::<Vec<_>>() {
        for after in seed + 1..sentences.len() {
            if is_taken[after] || !take(after, &mut left, &mut is_taken) {
                break;
            }
        }
        for before in (0..seed).rev() {
            if is_taken[before] || !take(before, &mut left, &mut is_taken) {
                break;
            }
        }
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (at, sentence) in sentences.iter().enumerate().filter(|(at, _)| is_taken[*at]) {
        match ranges.last_mut() {
            Some(range) if last == at.checked_sub(1) => range.end = sentence.range.end,
            _ => ranges.push(sentence.range.clone()),
        }
        last = Some(at);
    }
    joined(text, &ranges, matches)
}

/// Returns the part of one sentence around its first word, for when not even one sentence fits.
fn cut_sentence(text: &str, sentence: &Sentence, matches: &[WordMatch], chars: usize) -> MarkedText {
    let chars = chars.saturating_sub(2 * GAP.chars().count());
    let first = matches.iter().map(|found| found.range.start).find(|at| sentence.range.contains(at));
    let mut start = first.unwrap_or(sentence.range.start);
    // A quarter of the space is before the word.
    for (at, c) in text[sentence.range.start..start].char_indices().rev().take(chars / 4) {
        if c.is_whitespace() || at == 0 {
            start = sentence.range.start + at + if at == 0 { 0 } else { c.len_utf8() };
        }
    }
    let part = &text[start..sentence.range.end];
    let mut end = part.char_indices().nth(chars).map_or(part.len(), |(at, _)| at);
    if end < part.len()
        && let Some(space) = part[..end].rfind(char::is_whitespace).filter(|space| *space > end / 2)
    {
        end = space;
    }
    joined(text, std::slice::from_ref(&(start..start + end)), matches)
}

/// Returns the sentences and lines of a text, without surrounding spaces.
fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let mut start = 0;
    let mut add = |start: usize, end: usize| {
        let part = &text[start..end];
        // Indentation belongs to a line.
        let begins_line = start == 0 || text[..start].ends_with('\n');
        let trimmed = if begins_line { part.trim_start_matches('\n') } else { part.trim_start() };
        let begin = start + part.len() - trimmed.len();
        let trimmed = text[begin.min(end)..end].trim_end();
        if !trimmed.is_empty() {
            all.push(begin..begin + trimmed.len());
        }
    };
    let mut chars = text.char_indices().peekable();
    let mut space = None;
    while let Some((at, c)) = chars.next() {
        let next = at + c.len_utf8();
        let is_followed = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        let is_end = match c {
            '\n' | '。' | '！' | '？' => true,
            '.' | '!' | '?' => is_followed,
            _ => false,
        };
        if c.is_whitespace() {
            space = Some(next);
        }
        if is_end {
            add(start, next);
            (start, space) = (next, None);
        } else if next - start >= LONGEST {
            let end = space.unwrap_or(next);
            add(start, end);
            (start, space) = (end, None);
        }
    }
    add(start, text.len());
    all
}

fn weigh(text: &str, range: Range<usize>, matches: &[WordMatch], weights: &[f64]) -> Sentence {
    let first = matches.partition_point(|found| found.range.start < range.start);
    let inside = matches[first..].iter().take_while(|found| found.range.start < range.end);
    let mut terms: Vec<usize> = inside.map(|found| found.term).collect();
    let often = terms.len();
    terms.sort_unstable();
    terms.dedup();
    let weight: f64 = terms.iter().map(|term| weights.get(*term).copied().unwrap_or_default()).sum();
    // Of two sentences with the same terms, the one that repeats them is more about them.
    let weight = weight * (1.0 + 0.01 * often as f64);
    let weight = if decides(&text[range.clone()]) { weight * DECIDES + LEAST } else { weight };
    Sentence { chars: text[range.clone()].chars().count(), weight, range }
}

/// Joins parts of a text, with a mark for omitted text, and marks the words.
fn joined(text: &str, ranges: &[Range<usize>], matches: &[WordMatch]) -> MarkedText {
    let mut out = MarkedText::default();
    let mut at = 0;
    for range in ranges {
        if !text[at..range.start].trim().is_empty() {
            let is_first = out.text.is_empty();
            let gap = if text[at..range.start].contains('\n') && !is_first { "\n… " } else { GAP };
            out.text.push_str(if is_first { gap.trim_start() } else { gap });
        } else if !out.text.is_empty() {
            out.text.push_str(&text[at..range.start]);
        }
        let offset = out.text.len();
        out.text.push_str(&text[range.clone()]);
        let first = matches.partition_point(|found| found.range.start < range.start);
        for found in matches[first..].iter().take_while(|found| found.range.start < range.end) {
            let mark = found.range.start - range.start + offset..found.range.end.min(range.end) - range.start + offset;
            match out.marks.last_mut() {
                Some(last) if mark.start <= last.end => last.end = last.end.max(mark.end),
                _ => out.marks.push(mark),
            }
        }
        at = range.end;
    }
    if !text[at..].trim().is_empty() {
        out.text.push_str(GAP.trim_end());
    }
    out
}

/// A text with the positions of a query's words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MarkedText {
    /// The text.
    pub text: String,
    /// The positions of the words in bytes, in order and without overlaps.
    pub marks: Vec<Range<usize>>,
}

impl MarkedText {
    /// Returns the pieces of the text, each with whether it is marked.
    pub fn pieces(&self) -> Vec<(&str, bool)> {
        let mut pieces = Vec::new();
        let mut at = 0;
        for mark in &self.marks {
            pieces.push((&self.text[at..mark.start], false));
            pieces.push((&self.text[mark.clone()], true));
            at = mark.end;
        }
        pieces.push((&self.text[at..], false));
        pieces.retain(|(piece, _)| !piece.is_empty());
        pieces
    }

    /// Returns the positions of the words in characters, which are the same in every programming language.
    pub fn marks_in_chars(&self) -> Vec<[usize; 2]> {
        let mut marks = Vec::with_capacity(self.marks.len());
        let (mut byte, mut char) = (0, 0);
        for mark in &self.marks {
            let start = char + self.text[byte..mark.start].chars().count();
            let end = start + self.text[mark.clone()].chars().count();
            marks.push([start, end]);
            (byte, char) = (mark.end, end);
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::excerpt;
    use crate::{Query, WordMarker};

    #[track_caller]
    fn check(query: &str, text: &str, chars: usize, expected: &str) {
        let mut marker = WordMarker::new(&Query::parse(query), [text]);
        let matches = marker.matches(text);
        let weights: Vec<f64> = marker.weights().collect();
        assert_eq!(excerpt(text, &matches, &weights, chars).text, expected);
    }

    const TEXT: &str = "One is here. Two is there. The importer stalls. Four is near. Five is far.\nSix is last.";

    #[test]
    fn a_text_that_fits_is_whole() {
        check("importer", TEXT, 87, TEXT);
        check("importer", "", 10, "");
    }

    #[test]
    fn the_sentence_with_the_words_comes_with_those_after_and_before() {
        check("importer", TEXT, 40, "… The importer stalls. …");
        check("importer", TEXT, 44, "… The importer stalls. …");
        check("importer", TEXT, 45, "… The importer stalls. Four is near. …");
        check("importer", TEXT, 62, "… The importer stalls. Four is near. Five is far. …");
        check("importer", TEXT, 80, "… The importer stalls. Four is near. Five is far.\nSix is last.");
        check("six", TEXT, 46, "… Five is far.\nSix is last.");
        check("six", TEXT, 60, "… Four is near. Five is far.\nSix is last.");
    }

    #[test]
    fn sentences_with_more_of_the_words_come_first() {
        let text = "An importer. Something else is here. The importer stalls. Another remark is there. Rates are held.";
        check("importer stall", text, 30, "… The importer stalls. …");
        check("importer stall", text, 50, "An importer. … The importer stalls. …");
        let twice = "The importer runs. Something else is here. The importer is an importer. Another remark.";
        check("importer", twice, 40, "… The importer is an importer. …");
        let repeated = "An importer importer importer importer importer importer. Something else is written here now. \
                        The importer stalls. Another remark that is long enough to not fit.";
        check("importer stall", repeated, 70, "… Something else is written here now. The importer stalls. …");
        let decided = "The importer runs. Something else is here. We decided on an importer. Another remark.";
        check("importer", decided, 40, "… We decided on an importer. …");
        let both = "We decided on an importer. Something else is here. The importer stalls here. Another remark.";
        check("importer stall", both, 40, "… The importer stalls here. …");
    }

    #[test]
    fn a_sentence_that_does_not_fit_is_cut_around_its_word() {
        let long = "one two three four five six seven eight nine ten importer eleven twelve thirteen fourteen fifteen";
        check("importer", long, 40, "… ten importer eleven twelve …");
        check("one", long, 40, "one two three four five six seven …");
        check("one", long, 39, "one two three four five six …");
        check("zeppelin", &format!("{long}. More."), 40, "one two three four five six seven …");
        // Half of the space must stay in use, so a long word is cut.
        for before in [3, 17] {
            let word = "a".repeat(before) + " " + &"x".repeat(100);
            check("zeppelin", &word, 40, &format!("{} …", &word[..34]));
        }
    }

    #[test]
    fn the_words_are_marked_where_they_are_in_the_excerpt() {
        let marked = |query: &str, text: &str, chars: usize| {
            let mut marker = WordMarker::new(&Query::parse(query), [text]);
            let matches = marker.matches(text);
            let weights: Vec<f64> = marker.weights().collect();
            let excerpt = excerpt(text, &matches, &weights, chars);
            excerpt.marks.iter().map(|mark| excerpt.text[mark.clone()].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(marked("importer stall", TEXT, 40), ["importer", "stalls"]);
        assert_eq!(marked("importer six", TEXT, 60), ["importer", "Six"]);
        assert_eq!(marked("parseHttpUrl http", "see parseHttpUrl now", 40), ["parseHttpUrl"], "they overlap");
    }

    #[test]
    fn lines_and_wide_marks_end_sentences() {
        let lines = "First line\n  indented importer\nThird line\nFourth line\nFifth line";
        check("importer", lines, 33, "…   indented importer …");
        let apart = "alpha one.\nsecond line of some length.\nomega two.\nfourth line of some length.";
        check("alpha omega", apart, 40, "alpha one.\n… omega two. …");
        let wide = "これは一つ。importerは二つ。これは三つ。これは四つ。";
        check("importer", wide, 22, "… importerは二つ。 …");
        check("importer", "a.rs is v1.5 of it. The importer stalls! Why not?", 28, "… The importer stalls! …");
    }
}
