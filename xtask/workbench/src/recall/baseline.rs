//! The plainest ranking to compare with: bm25 over the words of the passages, without any rule.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use super::ALL;
use crate::recall_corpus::{Corpus, Half, Question, QuestionSet, REPORT, id_of};

/// The usual parameters of bm25.
const K1: f64 = 1.2;
const B: f64 = 0.75;

struct Passages {
    /// The session, the number of the prompt, and how often it has each word.
    all: Vec<(String, usize, HashMap<String, f64>)>,
    /// How many have a word.
    having: HashMap<String, f64>,
    /// Mean number of words.
    length: f64,
}

impl Passages {
    fn of(corpus: &Corpus, project: Half) -> Self {
        let mut all = Vec::new();
        let mut having: HashMap<String, f64> = HashMap::new();
        for (_, session) in corpus.sessions.iter().filter(|(half, _)| *half == project) {
            for (number, turn) in session.turns.iter().enumerate() {
                let mut often: HashMap<String, f64> = HashMap::new();
                words(&turn.prompt).chain(words(&turn.reply)).for_each(|word| *often.entry(word).or_default() += 1.0);
                often.keys().for_each(|word| *having.entry(word.clone()).or_default() += 1.0);
                all.push((id_of(&session.name), number + 1, often));
            }
        }
        let words: f64 = all.iter().map(|(_, _, often)| often.values().sum::<f64>()).sum();
        Self { length: words / all.len().max(1) as f64, all, having }
    }

    /// Returns the rank of the answer to a question, from 1.
    fn rank(&self, question: &Question) -> Option<usize> {
        let (session, prompt) = question.answer.as_ref()?;
        let wanted: HashSet<String> = words(&question.text).collect();
        let count = self.all.len() as f64;
        let score = |often: &HashMap<String, f64>| -> f64 {
            let long = K1 * (1.0 - B + B * often.values().sum::<f64>() / self.length);
            let part = |word: &String| {
                let (often, having) = (often.get(word)?, self.having[word]);
                let rarity = (1.0 + (count - having + 0.5) / (having + 0.5)).ln();
                Some(rarity * often * (K1 + 1.0) / (often + long))
            };
            wanted.iter().filter_map(part).sum()
        };
        let scores: Vec<f64> = self.all.iter().map(|(_, _, often)| score(often)).collect();
        let at = self.all.iter().position(|(of, number, _)| of == session && number == prompt)?;
        (scores[at] > 0.0).then(|| 1 + scores.iter().filter(|score| **score > scores[at]).count())
    }
}

/// Returns the words of a text: runs of letters and digits, in lower case.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// Returns the figures of the ranking as a table.
pub(super) fn table(corpus: &Corpus) -> String {
    let mut ranks: BTreeMap<(QuestionSet, &str), Vec<Option<usize>>> = BTreeMap::new();
    for project in Half::ALL {
        let passages = Passages::of(corpus, project);
        let asked = |question: &&Question| question.project == project && question.answer.is_some();
        for question in corpus.questions.iter().filter(asked) {
            let row = if question.category == REPORT { REPORT } else { ALL };
            ranks.entry((question.set, row)).or_default().push(passages.rank(question));
        }
    }
    let mut out = "For comparison, by bm25 over the words of prompts and replies, without any rule:\n\n\
                   | set | questions | number | hit@1 | R@5 | R@10 |\n| --- | --- | ---: | ---: | ---: | ---: |\n"
        .to_owned();
    for ((set, row), ranks) in ranks {
        let share = |most: usize| {
            ranks.iter().filter(|rank| rank.is_some_and(|rank| rank <= most)).count() as f64 / ranks.len() as f64
        };
        let [first, five, ten] = [1, 5, 10].map(share);
        let _ = writeln!(out, "| {} | {row} | {} | {first:.2} | {five:.2} | {ten:.2} |", set.name(), ranks.len());
    }
    out
}
