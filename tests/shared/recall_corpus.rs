//! The corpus that recall is measured with: conversations in tests/recall, made into transcripts, and questions.
//!
//! A file holds the sessions of one subject:
//!
//! ```text
//! == NAME DATE TIME         a session begins
//! > TEXT                    a prompt; indented lines go on
//! ! TOOL | ARGUMENT         a tool call of the turn, its output in lines that begin with |
//! < TEXT                    the reply
//! ?CATEGORY QUESTION        a question that this turn answers
//! ?amended QUESTION ~ NAME.TURN   … and that the named, older turn answers otherwise
//! ?none QUESTION            a question that nothing answers
//! ```
//!
//! Subjects are divided into two halves, each one project. Between the turns that are written there are others, made of
//! the same words, as there are in real sessions.
//!
//! fresh.questions holds further questions about the same sessions, apart from them:
//!
//! ```text
//! == HALF                   the project that the questions below are asked in
//! ?CATEGORY QUESTION = NAME.TURN
//! ?amended QUESTION = NAME.TURN ~ NAME.TURN
//! ?none QUESTION
//! ```
//!
//! reports.prompts holds bug reports and pasted errors, each with the turn that decides the matter:
//!
//! ```text
//! == HALF
//! > TEXT                    a prompt; indented lines go on
//! = NAME.TURN
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::dice::Dice;

/// The subjects of the half that weights may be tuned with. All others only report.
const TUNING: [&str; 5] = ["ledger", "clinic", "compiler", "shop", "survey"];

/// What somebody says between the turns that matter.
const SMALL_TALK: [&str; 12] = [
    "run the tests again",
    "commit that",
    "yes",
    "continue",
    "looks good, go on",
    "what is left to do?",
    "push it please",
    "format the code",
    "show me the diff first",
    "ok, next",
    "wait, rebase on main before that",
    "lint, too",
];

/// The file of the questions of [`QuestionSet::Fresh`].
const FRESH: &str = "fresh.questions";

/// The file of the bug reports.
const REPORTS: &str = "reports.prompts";

/// The category of a bug report.
pub(crate) const REPORT: &str = "report";

/// Which half a subject belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Half {
    Tuning,
    Reporting,
}

/// Questions that are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum QuestionSet {
    /// Rules, weights and thresholds are chosen with these.
    Tuning,
    /// These only report, but their figures have been seen while rules were added.
    Reporting,
    /// Nothing was chosen with these. They are asked only when the figures are published.
    Fresh,
}

impl QuestionSet {
    pub(crate) const ALL: [Self; 3] = [Self::Tuning, Self::Reporting, Self::Fresh];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tuning => "tuning",
            Self::Reporting => "reporting",
            Self::Fresh => "fresh",
        }
    }
}

impl From<Half> for QuestionSet {
    fn from(half: Half) -> Self {
        match half {
            Half::Tuning => Self::Tuning,
            Half::Reporting => Self::Reporting,
        }
    }
}

impl Half {
    pub(crate) const ALL: [Self; 2] = [Self::Tuning, Self::Reporting];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tuning => "tuning",
            Self::Reporting => "reporting",
        }
    }
}

/// A turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    pub(crate) prompt: String,
    /// Tool, argument, output.
    pub(crate) calls: Vec<(String, String, String)>,
    pub(crate) reply: String,
    /// Its number as it is written, from 1; 0 where it is only there to be in the way.
    number: usize,
}

/// A session.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) name: String,
    /// As the transcript writes times, without seconds.
    began: String,
    pub(crate) turns: Vec<Turn>,
}

/// A question.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) set: QuestionSet,
    /// The project that it is asked in.
    pub(crate) project: Half,
    pub(crate) category: String,
    pub(crate) text: String,
    /// The session and the number of the prompt that answer it.
    pub(crate) answer: Option<(String, usize)>,
    /// Those that answer it as it was decided before.
    pub(crate) older: Option<(String, usize)>,
}

/// Everything.
#[derive(Debug, Default)]
pub(crate) struct Corpus {
    pub(crate) sessions: Vec<(Half, Session)>,
    pub(crate) questions: Vec<Question>,
    /// Bug reports, which nobody would type as a question.
    pub(crate) reports: Vec<Question>,
}

/// A prompt of a file of prompts.
#[derive(Debug, Clone)]
pub(crate) struct Prompt {
    pub(crate) half: Half,
    pub(crate) text: String,
    /// The turn that decides the matter, as the file names it.
    pub(crate) decided_by: Option<(String, usize)>,
}

/// Reads a file of prompts.
pub(crate) fn prompts(path: &Path) -> io::Result<Vec<Prompt>> {
    let mut half = Half::Tuning;
    let mut prompts: Vec<Prompt> = Vec::new();
    for line in fs::read_to_string(path)?.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            half = Half::ALL.into_iter().find(|half| half.name() == name).unwrap_or(half);
        } else if let Some(text) = line.strip_prefix("> ") {
            prompts.push(Prompt { half, text: text.to_owned(), decided_by: None });
        } else if let Some(prompt) = prompts.last_mut() {
            if let Some(more) = line.strip_prefix("  ") {
                prompt.text.push('\n');
                prompt.text.push_str(more);
            } else if let Some((name, turn)) = line.strip_prefix("= ").and_then(|turn| turn.split_once('.')) {
                prompt.decided_by = Some((name.to_owned(), turn.trim().parse().unwrap_or_default()));
            }
        }
    }
    Ok(prompts)
}

impl Corpus {
    /// Reads the subjects in a folder.
    pub(crate) fn read(folder: &Path) -> io::Result<Self> {
        let mut files: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        files.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
        files.sort();
        let mut corpus = Self::default();
        for file in files {
            let subject = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let half = if TUNING.contains(&subject.as_str()) { Half::Tuning } else { Half::Reporting };
            corpus.add(&fs::read_to_string(&file)?, half);
        }
        corpus.add_fresh(&fs::read_to_string(folder.join(FRESH))?);
        corpus.add_reports(prompts(&folder.join(REPORTS))?);
        Ok(corpus)
    }

    fn add_reports(&mut self, reports: Vec<Prompt>) {
        let sessions: Vec<&Session> = self.sessions.iter().map(|(_, session)| session).collect();
        for Prompt { half, text, decided_by } in reports {
            let (name, turn) = decided_by.unwrap_or_default();
            let mut report = question("", half, &name, turn);
            (report.category, report.text) = (REPORT.to_owned(), text);
            place(&sessions, &mut report.answer);
            self.reports.push(report);
        }
    }

    /// Adds the questions that stand apart from the sessions.
    fn add_fresh(&mut self, text: &str) {
        let mut project = Half::Tuning;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("== ") {
                project = Half::ALL.into_iter().find(|half| half.name() == name).unwrap_or(project);
            }
            let Some(rest) = line.strip_prefix('?') else { continue };
            let (rest, answer) = match rest.split_once(" = ") {
                Some((before, after)) => {
                    let (name, older) = after.split_once(" ~ ").unwrap_or((after, ""));
                    let text = if older.is_empty() { before.to_owned() } else { format!("{before} ~ {older}") };
                    (text, name.split_once('.'))
                }
                None => (rest.to_owned(), None),
            };
            let (name, turn) = answer.unwrap_or_default();
            let mut question = question(&rest, project, name, turn.trim().parse().unwrap_or_default());
            question.set = QuestionSet::Fresh;
            let sessions: Vec<&Session> = self.sessions.iter().map(|(_, session)| session).collect();
            place(&sessions, &mut question.answer);
            place(&sessions, &mut question.older);
            self.questions.push(question);
        }
    }

    fn add(&mut self, text: &str, half: Half) {
        let mut sessions: Vec<Session> = Vec::new();
        let mut questions = Vec::new();
        for line in text.lines() {
            let (sign, rest) = line.split_at(line.len().min(1));
            let rest = rest.trim();
            if let Some(begins) = line.strip_prefix("== ") {
                let mut words = begins.split(' ').map(str::to_owned);
                let mut next = || words.next().unwrap_or_default();
                let (name, began) = (next(), format!("{}T{}", next(), next()));
                sessions.push(Session { name, began, turns: Vec::new() });
                continue;
            }
            let Some(session) = sessions.last_mut() else { continue };
            if sign == ">" {
                let number = session.turns.len() + 1;
                session.turns.push(Turn { prompt: rest.to_owned(), number, ..Turn::default() });
            } else if let Some(turn) = session.turns.last_mut() {
                match sign {
                    "!" => {
                        let (tool, argument) = rest.split_once(" | ").unwrap_or((rest, ""));
                        turn.calls.push((tool.to_owned(), argument.to_owned(), String::new()));
                    }
                    "|" => {
                        let Some((_, _, output)) = turn.calls.last_mut() else { continue };
                        output.push_str(rest);
                        output.push('\n');
                    }
                    "<" if turn.reply.is_empty() => turn.reply = rest.to_owned(),
                    "<" => turn.reply = format!("{}\n\n{rest}", turn.reply),
                    " " if turn.reply.is_empty() => turn.prompt = format!("{}\n{rest}", turn.prompt),
                    " " => turn.reply = format!("{}\n{rest}", turn.reply),
                    "?" => questions.push(question(rest, half, &session.name, turn.number)),
                    _ => {}
                }
            }
        }
        let words: Vec<String> = words_of(&sessions);
        let mut dice = Dice(words.len() as u64);
        for session in &mut sessions {
            crowd(session, &words, &mut dice);
        }
        let all: Vec<&Session> = sessions.iter().collect();
        for mut question in questions {
            place(&all, &mut question.answer);
            place(&all, &mut question.older);
            self.questions.push(question);
        }
        self.sessions.extend(sessions.into_iter().map(|session| (half, session)));
    }
}

/// Replaces a session's name by its id, and a turn as it is written by the number of its prompt, which counts the prompts
/// between them, too. A turn that does not exist gets the number 0.
fn place(sessions: &[&Session], place: &mut Option<(String, usize)>) {
    let Some((name, number)) = place else { return };
    let session = sessions.iter().find(|session| session.name == *name);
    let at = session.and_then(|session| session.turns.iter().position(|turn| turn.number == *number));
    *number = at.map_or(0, |at| at + 1);
    *name = id_of(name);
}

fn question(text: &str, project: Half, session: &str, turn: usize) -> Question {
    let (category, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (text, older) = match rest.rsplit_once(" ~ ") {
        Some((text, older)) => (text, older.split_once('.')),
        None => (rest, None),
    };
    Question {
        set: project.into(),
        project,
        category: category.to_owned(),
        text: text.trim().to_owned(),
        answer: (category != "none").then(|| (session.to_owned(), turn)),
        older: older.map(|(name, number)| (name.to_owned(), number.trim().parse().unwrap_or_default())),
    }
}

/// Returns the words of a subject, as often as they are there.
fn words_of(sessions: &[Session]) -> Vec<String> {
    let texts = sessions.iter().flat_map(|session| &session.turns).flat_map(|turn| [&turn.prompt, &turn.reply]);
    let words = texts.flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.filter(|word| word.len() > 3 && word.chars().all(|c| c < '\u{3000}')).map(str::to_owned).collect()
}

/// Puts turns between those that are written, with output of tools that has the same words.
fn crowd(session: &mut Session, words: &[String], dice: &mut Dice) {
    let mut turns = Vec::new();
    for turn in std::mem::take(&mut session.turns) {
        turns.push(turn);
        for _ in 0..dice.index(3) {
            let mut some = |count: usize, between: &str| {
                let some: Vec<&str> = (0..count).map(|_| words[dice.index(words.len())].as_str()).collect();
                some.join(between)
            };
            let file = format!("src/{}/{}.rs", some(1, ""), some(2, "_")).to_lowercase();
            let tests: String = (0..12).map(|_| format!("test {} ... ok\n", some(3, "_").to_lowercase())).collect();
            let source: String = (0..15).map(|_| format!("// {}\n", some(6, " "))).collect();
            let reply = format!("Done. All checks pass; I touched {file}, and {} is as it was.", some(2, " "));
            let prompt = dice.pick(&SMALL_TALK).to_owned();
            let calls = vec![("Bash".to_owned(), "make check".to_owned(), tests), ("Read".to_owned(), file, source)];
            turns.push(Turn { prompt, calls, reply, number: 0 });
        }
    }
    session.turns = turns;
}

/// Returns the id of a session, as the client's ids look.
pub(crate) fn id_of(name: &str) -> String {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{:08x}-{:04x}-4000-8000-{:012x}", hash >> 32, (hash >> 16) & 0xffff, hash & 0xffff_ffff_ffff)
}

impl Session {
    /// Returns the transcript of the session, in a project's folder.
    pub(crate) fn transcript(&self, cwd: &Path) -> String {
        let id = id_of(&self.name);
        let mut lines = String::new();
        let mut entries = 0;
        let mut write = |kind: &str, content: Value, more: Value| {
            let uuid = |entry: usize| format!("{}{entry:010x}", &id[..26]);
            let parent = (entries > 0).then(|| uuid(entries - 1));
            let time = format!("{}:{:02}.{:03}Z", self.began, entries / 20 % 60, entries % 20 * 50);
            let mut line = json!({
                "type": kind, "uuid": uuid(entries), "parentUuid": parent, "isSidechain": false, "sessionId": id,
                "cwd": cwd, "timestamp": time, "message": { "role": kind, "content": content },
            });
            if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
                line.extend(more);
            }
            entries += 1;
            lines.push_str(&line.to_string());
            lines.push('\n');
        };
        for (number, turn) in self.turns.iter().enumerate() {
            let prompt_id = format!("{}{:010x}", &id[..26], 0xa_0000 + number);
            write("user", json!(turn.prompt), json!({ "promptId": prompt_id, "origin": { "kind": "human" } }));
            for (call, (tool, argument, output)) in turn.calls.iter().enumerate() {
                let call = format!("toolu_{}_{number}_{call}", self.name);
                let input = match tool.as_str() {
                    "Bash" => json!({ "command": argument }),
                    "Grep" => json!({ "pattern": argument }),
                    "Edit" => json!({ "file_path": cwd.join(argument), "old_string": "a", "new_string": "b" }),
                    _ => json!({ "file_path": cwd.join(argument), "content": "" }),
                };
                let more = json!({ "promptId": prompt_id });
                let used = json!([{ "type": "tool_use", "id": call, "name": tool, "input": input }]);
                write("assistant", used, more.clone());
                let result = json!([{ "type": "tool_result", "tool_use_id": call, "content": output }]);
                write("user", result, more);
            }
            write("assistant", json!([{ "type": "text", "text": turn.reply }]), json!({ "promptId": prompt_id }));
        }
        lines
    }
}
