//! Recall at the prompt, through the real hook: questions should bring the right passage, everyday prompts nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::run;

use super::{ALL, Output, Scene, Search, by_set};
use crate::recall_corpus::{self, Corpus, Half, Question, QuestionSet, REPORT};
use crate::stage::check_interrupts;

/// Name of the row with the prompts that need nothing.
const EVERYDAY: &str = "everyday prompts";

#[derive(Default)]
struct Group {
    prompts: usize,
    /// Prompts that brought the passage with the answer.
    right: usize,
    /// Prompts that brought any passage.
    any: usize,
    /// Total characters of the added text.
    chars: usize,
    slowest: Duration,
}

/// What the hook added to a prompt.
struct Brought {
    text: String,
    took: Duration,
}

/// The figures of all prompts, by set and category.
pub(super) struct PromptFigures {
    search: Search,
    groups: BTreeMap<(QuestionSet, String), Group>,
}

/// Asks every question and every everyday prompt as the first prompt of a new session, without and with the model.
pub(super) fn measure(scene: &Scene, corpus: &Corpus, folder: &Path, output: Output) -> Result<Vec<PromptFigures>> {
    // The hook stores the prompt, so every prompt gets a fresh copy of the imported memory.
    let imported = scene.home.join("imported");
    scene.longhaul(&scene.home, Search::WordsAndMeaning, &["memory", "upkeep"])?;
    fs::rename(scene.data(), &imported).context("cannot move the imported memory")?;
    let mut everyday = recall_corpus::prompts(&folder.join("everyday.prompts"))?;
    everyday.retain(|prompt| output.asks(prompt.half.into()));
    let searches = [Search::Words, Search::WordsAndMeaning].into_iter();
    searches.map(|search| ask_all(scene, &imported, corpus, &everyday, search, output.misses)).collect()
}

fn ask_all(
    scene: &Scene,
    imported: &Path,
    corpus: &Corpus,
    everyday: &[recall_corpus::Prompt],
    search: Search,
    misses: bool,
) -> Result<PromptFigures> {
    let mut figures = PromptFigures { search, groups: BTreeMap::new() };
    for question in &corpus.questions {
        check_interrupts()?;
        let brought = prompt(scene, imported, search, question.project, &question.text)?;
        let right = match &question.answer {
            Some((session, number)) => brought.text.contains(&format!("{}, ", id(scene, session, *number)?)),
            None => false,
        };
        figures.count(question, &brought, right);
        let is_missed = if question.answer.is_some() { !right } else { !brought.text.is_empty() };
        // Misses of the other questions are never printed, because seeing them would influence the rules.
        if misses && is_missed && question.set == QuestionSet::Tuning {
            let Question { category, text, .. } = question;
            writeln!(io::stderr(), "prompt {category}: brings {} for: {text}", first(&brought.text))?;
        }
    }
    for recall_corpus::Prompt { half, text, .. } in everyday {
        let brought = prompt(scene, imported, search, *half, text)?;
        if misses && !brought.text.is_empty() && *half == Half::Tuning {
            writeln!(io::stderr(), "prompt everyday: brings {} for: {text}", first(&brought.text))?;
        }
        figures.groups.entry(((*half).into(), EVERYDAY.to_owned())).or_default().count(&brought, false);
    }
    Ok(figures)
}

/// Returns the beginning of the first passage in a text.
fn first(text: &str) -> String {
    let lines: Vec<&str> = text.lines().skip(3).take(2).map(str::trim).collect();
    if lines.is_empty() { "nothing".to_owned() } else { lines.join(" ") }
}

fn id(scene: &Scene, session: &str, number: usize) -> Result<String> {
    let sql = format!(
        "SELECT 'P' || p.id FROM prompts p JOIN sessions s ON s.id = p.session_id
         WHERE s.session_id = '{session}' AND p.prompt_number = {number}"
    );
    Ok(run::output(run::program("sqlite3").arg(scene.data().join("longhaul.db")).arg(sql))?.trim().to_owned())
}

/// Runs the hook for the first prompt of a new session.
fn prompt(scene: &Scene, imported: &Path, search: Search, half: Half, text: &str) -> Result<Brought> {
    copy(imported, &scene.data())?;
    let project = scene.project(half);
    let payload = json!({
        "hook_event_name": "UserPromptSubmit", "session_id": "5e550000-0000-4000-8000-000000000001", "cwd": project,
        "transcript_path": project.join("none.jsonl"), "prompt": text, "prompt_id": "5e550000-0000-4000-8000-0000000000aa",
    });
    let mut command = run::program(scene.program.with_file_name("longhaul-hook"));
    command.arg("user-prompt-submit");
    command.current_dir(&project).env_clear().env("HOME", &scene.home).env("LONGHAUL_HOME", scene.data());
    command.env("LONGHAUL_CONFIG", scene.home.join(search.config()));
    let began = std::time::Instant::now();
    let answer = run::feed(&mut command, payload.to_string().as_bytes())?;
    let took = began.elapsed();
    let answer: Value = serde_json::from_str(&answer).context("the hook's answer is not JSON")?;
    ensure!(answer["continue"] == true, "the hook ends the turn: {answer}");
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default();
    Ok(Brought { text: text.to_owned(), took })
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

impl Group {
    fn count(&mut self, brought: &Brought, right: bool) {
        self.prompts += 1;
        self.right += usize::from(right);
        self.any += usize::from(!brought.text.is_empty());
        self.chars += brought.text.chars().count();
        self.slowest = self.slowest.max(brought.took);
    }

    fn share(&self, count: usize) -> f64 {
        count as f64 / self.prompts.max(1) as f64
    }
}

impl PromptFigures {
    fn count(&mut self, question: &Question, brought: &Brought, right: bool) {
        self.groups.entry((question.set, question.category.clone())).or_default().count(brought, right);
        if question.answer.is_some() && question.category != REPORT {
            self.groups.entry((question.set, ALL.to_owned())).or_default().count(brought, right);
        }
    }

    pub(super) fn name(&self) -> String {
        match self.search {
            Search::Words => "words".to_owned(),
            Search::WordsAndMeaning => "words_and_meaning".to_owned(),
        }
    }

    pub(super) fn table(&self) -> String {
        let by = if self.search == Search::Words { "words alone" } else { "words and meaning" };
        let mut out = format!(
            "\nWhat prompts bring by themselves, by {by}:\n\n\
             | set | prompts | number | bring the answer | bring anything | characters |\n\
             | --- | --- | ---: | ---: | ---: | ---: |\n"
        );
        for ((set, name), group) in &self.groups {
            let right = match name.as_str() {
                EVERYDAY | "none" => String::new(),
                _ => format!("{:.2}", group.share(group.right)),
            };
            let (number, any) = (group.prompts, group.share(group.any));
            let chars = group.chars / group.any.max(1);
            let _ = writeln!(out, "| {} | {name} | {number} | {right} | {any:.2} | {chars} |", set.name());
        }
        out
    }

    pub(super) fn to_json(&self) -> Value {
        by_set(&self.groups, |group| {
            json!({
                "prompts": group.prompts, "bring_answer": group.share(group.right),
                "bring_anything": group.share(group.any), "characters": group.chars / group.any.max(1),
            })
        })
    }
}
