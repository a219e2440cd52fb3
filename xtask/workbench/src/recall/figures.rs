//! The figures, by set of questions and category.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::Answer;
use crate::bench::report::ms;
use crate::recall_corpus::QuestionSet;

/// Name of the row with all questions that have an answer.
const ALL: &str = "all with an answer";

/// Counts of a group of questions.
#[derive(Default)]
struct Group {
    questions: usize,
    first: usize,
    in_five: usize,
    in_ten: usize,
    empty: usize,
    weak: usize,
    newer_first: usize,
    amended: usize,
    times: Vec<Duration>,
}

impl Group {
    fn count(&mut self, answer: &Answer<'_>) {
        let within = |most: usize| usize::from(answer.rank.is_some_and(|rank| rank <= most));
        self.questions += 1;
        self.first += within(1);
        self.in_five += within(5);
        self.in_ten += within(10);
        self.empty += usize::from(answer.results == 0);
        self.weak += usize::from(answer.is_weak);
        if answer.question.older.is_some() {
            self.amended += 1;
            let is_first = answer.rank.is_some_and(|rank| answer.older.is_none_or(|older| rank < older));
            self.newer_first += usize::from(is_first);
        }
        self.times.push(answer.took);
    }

    fn share(&self, count: usize) -> f64 {
        count as f64 / self.questions.max(1) as f64
    }

    fn p95(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort();
        times.get((times.len() * 95 / 100).min(times.len().saturating_sub(1))).map_or(0.0, |time| ms(*time))
    }
}

/// The figures of all groups.
pub(crate) struct Figures {
    groups: BTreeMap<(QuestionSet, String), Group>,
}

impl Figures {
    pub(crate) fn of(answers: &[Answer<'_>]) -> Self {
        let mut groups: BTreeMap<(QuestionSet, String), Group> = BTreeMap::new();
        for answer in answers {
            let set = answer.question.set;
            groups.entry((set, answer.question.category.clone())).or_default().count(answer);
            if answer.question.answer.is_some() {
                groups.entry((set, ALL.to_owned())).or_default().count(answer);
            }
        }
        Self { groups }
    }

    /// Returns the figures by set and category.
    pub(crate) fn to_json(&self) -> Value {
        let set = |set: QuestionSet| -> Value {
            let own = self.groups.iter().filter(|((of, _), _)| *of == set);
            own.map(|((_, category), group)| (category.clone(), to_json(group)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let sets = QuestionSet::ALL.into_iter().map(|of| (of.name().to_owned(), set(of)));
        sets.collect::<serde_json::Map<_, _>>().into()
    }

    /// Returns the figures as a table, with or without the times of the answers.
    pub(crate) fn table(&self, has_times: bool) -> String {
        let (name, line) = if has_times { (" p95 |", " ---: |") } else { ("", "") };
        let mut out = format!(
            "| set | questions | number | hit@1 | R@5 | R@10 | empty | weak | newer first |{name}\n\
             | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |{line}\n"
        );
        for ((set, category), group) in &self.groups {
            let newer = match group.amended {
                0 => String::new(),
                amended => format!("{:.2}", group.newer_first as f64 / amended as f64),
            };
            let time = if has_times { format!(" {:.1} ms |", group.p95()) } else { String::new() };
            let _ = writeln!(
                out,
                "| {} | {category} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {newer} |{time}",
                set.name(),
                group.questions,
                group.share(group.first),
                group.share(group.in_five),
                group.share(group.in_ten),
                group.share(group.empty),
                group.share(group.weak)
            );
        }
        out
    }
}

fn to_json(group: &Group) -> Value {
    json!({
        "questions": group.questions,
        "hit_at_1": group.share(group.first),
        "recall_at_5": group.share(group.in_five),
        "recall_at_10": group.share(group.in_ten),
        "empty": group.share(group.empty),
        "weak": group.share(group.weak),
        "newer_first": (group.amended > 0).then(|| group.newer_first as f64 / group.amended as f64),
        "p95_ms": group.p95(),
    })
}
