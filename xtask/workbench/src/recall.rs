//! `cargo xtask recall`: measures how well the memory answers questions.
//!
//! The real program imports the corpus in tests/recall as past sessions and answers every question as it would a
//! user's: by words, and by words and meaning. [`QuestionSet`] states which
//! questions may be used to choose rules and weights, and which only report.

mod baseline;
mod prompts;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use xtask::codegen::pretty;
use xtask::run;
use xtask::workspace::{MODEL_FILE, PACKAGE, Profile, Workspace};

use crate::bench::report::ms;
use crate::page_section;
use crate::recall_corpus::{Corpus, Half, Question, QuestionSet, REPORT, id_of};
use crate::stage::{check_interrupts, watch_interrupts};

const RESULTS: &str = "10";

/// Which questions are asked, and how the figures are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) json: bool,
    /// Prints the questions of the tuning half whose answer is not the first result. Other questions are never listed.
    pub(crate) misses: bool,
    /// Asks the questions of the tuning half only.
    pub(crate) tuning: bool,
    /// Asks the fresh questions, too, and writes the tables to docs/benchmarks.md instead of printing them.
    pub(crate) report: bool,
}

impl Output {
    fn asks(self, set: QuestionSet) -> bool {
        match set {
            QuestionSet::Tuning => true,
            QuestionSet::Reporting => !self.tuning,
            QuestionSet::Fresh => self.report,
        }
    }
}

/// The results of a question.
pub(crate) struct Answer<'a> {
    pub(crate) question: &'a Question,
    /// Rank of the right answer among the results, from 1.
    pub(crate) rank: Option<usize>,
    /// Rank of the answer that is no longer right.
    pub(crate) older: Option<usize>,
    /// Number of results; 0 if the best is not about the question.
    pub(crate) results: usize,
    /// Whether the first result is marked as weak, or there is none.
    is_weak: bool,
    pub(crate) took: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Search {
    Words,
    WordsAndMeaning,
}

impl Search {
    /// Returns the name of its configuration file.
    fn config(self) -> &'static str {
        match self {
            Self::Words => "words.json",
            Self::WordsAndMeaning => "meaning.json",
        }
    }
}

/// Builds the program, imports the corpus, asks everything and prints the figures.
pub(crate) fn run(workspace: &Workspace, profile: Profile, output: Output) -> Result<()> {
    let program =
        workspace.build(PACKAGE, &["--bin", "longhaul", "--bin", "longhaul-hook"], profile, None)?.join("longhaul");
    let mut corpus = Corpus::read(&workspace.root.join("tests/recall")).context("cannot read tests/recall")?;
    corpus.questions.append(&mut corpus.reports);
    corpus.questions.retain(|question| output.asks(question.set));
    ensure!(!corpus.questions.is_empty(), "tests/recall has no questions");
    watch_interrupts()?;
    let folder = tempfile::Builder::new().prefix("longhaul-recall-").tempdir()?;
    let scene = Scene { program, home: folder.path().to_owned() };
    scene.configure(&workspace.root.join("plugin").join(MODEL_FILE))?;
    scene.import(&corpus)?;
    let by_words = scene.ask_all(&corpus, Search::Words, output)?;
    let with_model = scene.ask_all(&corpus, Search::WordsAndMeaning, output)?;
    let prompts = prompts::measure(&scene, &corpus, &workspace.root.join("tests/recall"), output)?;
    let (sessions, questions) = (corpus.sessions.len(), corpus.questions.len());
    let mut out = io::stdout();
    if output.json {
        let all = json!({
            "sessions": sessions, "questions": questions, "sets": by_words.to_json(),
            "prompt_recall": prompts.iter().map(|figures| (figures.name(), figures.to_json())).collect::<serde_json::Map<_, _>>(),
            "with_model": { "sets": with_model.to_json() },
        });
        return Ok(write!(out, "{}", pretty(&all)?)?);
    }
    // Times of an unoptimised program are meaningless.
    let has_times = profile == Profile::Release;
    let (by_words, with_model) = (by_words.table(has_times), with_model.table(has_times));
    let mut text = format!(
        "{sessions} sessions, {questions} questions.\n\nBy words alone:\n\n{by_words}\nBy words and meaning:\n\n{with_model}\n{}",
        baseline::table(&corpus)
    );
    prompts.iter().for_each(|figures| text.push_str(&figures.table()));
    if output.report {
        return write_page(&workspace.root.join("docs/benchmarks.md"), &text);
    }
    Ok(write!(out, "{text}")?)
}

fn print_misses(answers: &[Answer<'_>]) -> Result<()> {
    let mut out = io::stderr();
    for Answer { question, rank, older, results, is_weak, .. } in answers {
        let is_missed = if question.answer.is_some() { *rank != Some(1) } else { !is_weak };
        if is_missed && question.set == QuestionSet::Tuning {
            let rank = rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string());
            let older = older.map(|older| format!(", older {older}")).unwrap_or_default();
            let Question { category, text, .. } = question;
            writeln!(out, "{category}: {rank} of {results}{older}: {text}")?;
        }
    }
    Ok(())
}

struct Scene {
    program: PathBuf,
    home: PathBuf,
}

impl Scene {
    /// Writes a configuration for each kind of search.
    fn configure(&self, model: &Path) -> Result<()> {
        let embeddings = |search: Search| match search {
            Search::WordsAndMeaning => json!(model),
            Search::Words => json!("off"),
        };
        for search in [Search::Words, Search::WordsAndMeaning] {
            let config = json!({ "memory": { "embeddings": embeddings(search) } });
            write(&self.home, search.config(), &config.to_string())?;
        }
        Ok(())
    }

    fn ask_all(&self, corpus: &Corpus, search: Search, output: Output) -> Result<Figures> {
        let mut answers = Vec::new();
        for question in &corpus.questions {
            check_interrupts()?;
            let answer = self.ask(question, search).with_context(|| format!("cannot ask {:?}", question.text))?;
            answers.push(answer);
        }
        if output.misses {
            print_misses(&answers)?;
        }
        Ok(Figures::of(&answers))
    }

    fn project(&self, half: Half) -> PathBuf {
        self.home.join("work").join(half.name())
    }

    fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    fn import(&self, corpus: &Corpus) -> Result<()> {
        for (half, session) in &corpus.sessions {
            let project = self.project(*half);
            let folder = self.home.join(".claude/projects").join(project.to_string_lossy().replace(['/', '.'], "-"));
            write(&folder, &format!("{}.jsonl", id_of(&session.name)), &session.transcript(&project))?;
            fs::create_dir_all(&project).with_context(|| format!("cannot create {}", project.display()))?;
        }
        // With the model, if there is one, because the import computes the vectors.
        self.longhaul(&self.home, Search::WordsAndMeaning, &["memory", "import"]).map(drop)
    }

    fn ask<'a>(&self, question: &'a Question, search: Search) -> Result<Answer<'a>> {
        let began = Instant::now();
        let project = self.project(question.project);
        let asked = ["memory", "search", "--json", "--limit", RESULTS, "--", &question.text];
        let json = self.longhaul(&project, search, &asked)?;
        let took = began.elapsed();
        let results: Vec<Value> = serde_json::from_str(&json).context("the results are not a JSON array")?;
        let place = |wanted: &Option<(String, usize)>| {
            let (session, prompt) = wanted.as_ref()?;
            // An observation belongs to the turn of its prompt; a summary is of the whole session.
            let is_it = |hit: &Value| {
                hit["type"] != "summary" && hit["session_id"] == session.as_str() && hit["prompt_number"] == *prompt
            };
            results.iter().position(is_it).map(|place| place + 1)
        };
        Ok(Answer {
            question,
            rank: place(&question.answer),
            older: place(&question.older),
            // `recall` answers "nothing found" then.
            results: if results.first().is_some_and(|hit| hit["unrelated"] == true) { 0 } else { results.len() },
            is_weak: results.first().is_none_or(|hit| hit["weak"] == true),
            took,
        })
    }

    /// Runs the program. Exit status 1, nothing found, is not a failure.
    fn longhaul(&self, folder: &Path, search: Search, arguments: &[&str]) -> Result<String> {
        let mut command = run::program(&self.program);
        command.args(arguments).current_dir(folder).env_clear().env("HOME", &self.home);
        command.env("LONGHAUL_HOME", self.data());
        command.env("LONGHAUL_CONFIG", self.home.join(search.config()));
        let output = command.output().with_context(|| format!("cannot start {}", self.program.display()))?;
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("longhaul ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let failed = || format!("cannot write {}", folder.join(name).display());
    fs::create_dir_all(folder).with_context(failed)?;
    fs::write(folder.join(name), text).with_context(failed)
}

/// Name of the row with all questions that have an answer.
const ALL: &str = "all with an answer";

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

struct Figures {
    groups: BTreeMap<(QuestionSet, String), Group>,
}

impl Figures {
    pub(crate) fn of(answers: &[Answer<'_>]) -> Self {
        let mut groups: BTreeMap<(QuestionSet, String), Group> = BTreeMap::new();
        for answer in answers {
            let set = answer.question.set;
            groups.entry((set, answer.question.category.clone())).or_default().count(answer);
            if answer.question.answer.is_some() && answer.question.category != REPORT {
                groups.entry((set, ALL.to_owned())).or_default().count(answer);
            }
        }
        Self { groups }
    }

    pub(crate) fn to_json(&self) -> Value {
        by_set(&self.groups, to_json)
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

/// Returns the figures of groups as JSON, by set and name.
fn by_set<G>(groups: &BTreeMap<(QuestionSet, String), G>, figures: impl Fn(&G) -> Value) -> Value {
    let set = |set: QuestionSet| -> Value {
        let own = groups.iter().filter(|((of, _), _)| *of == set);
        own.map(|((_, name), group)| (name.clone(), figures(group))).collect::<serde_json::Map<_, _>>().into()
    };
    let sets = QuestionSet::ALL.into_iter().map(|of| (of.name().to_owned(), set(of)));
    sets.collect::<serde_json::Map<_, _>>().into()
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

const NAME: &str = "recall";

/// The section's text before the figures.
const INTRODUCTION: &str = "\
## How well questions are answered

The conversations of tests/recall are imported as past sessions, and their questions are asked with `longhaul memory search`. hit@1
is the share of questions whose answer is the first result; R@5 and R@10 are the shares with the answer among five and ten. `weak` is
the share marked as weak, and `empty` the share to which `recall` answers that nothing was found; both are right if no answer
exists. `newer first` is the share of amended decisions whose newer answer
comes before the older one.

Rules, weights and thresholds are chosen with the `tuning` questions. The `reporting` questions, about other conversations, only report,
but their figures were seen while rules were added. The `fresh` questions are about the conversations of both. They were written before
any of them was asked, nothing was chosen with them, and they are asked only to write this page. A `report` is a bug report or a pasted
error as it is sent to Claude, with the turn that decides the matter as its answer; `all with an answer` does not count it.

In the last two tables, every question is the first prompt of a new session; they count what the hook adds to it. Everyday
prompts need nothing from earlier sessions.
`cargo xtask recall --report` writes this section.
";

fn write_page(page: &Path, figures: &str) -> Result<()> {
    page_section::write(page, NAME, &format!("{INTRODUCTION}\n{figures}"))
}
