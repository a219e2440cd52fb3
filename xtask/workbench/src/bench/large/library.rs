//! A synthetic memory: two years of sessions, with as many observations as the caller asks for. The default of
//! `--large` is in `xtask/src/arguments.rs`.

use std::io::{self, Write};

use anyhow::Result;
use longhaul_core::{Config, Millis};
use longhaul_memory::{Kind, MadeBy, Observation, Summary};
use longhaul_store::{Bulk, NewObservation, NewSession, PastPrompt, PastTurn, Store};
use longhaul_transcript::{Batch, Cursor, SourcedText, Turn};

use crate::stage::check_interrupts;

/// The time at which the last session ends.
pub(crate) const NOW: u64 = 1_800_000_000_000;

/// Two years.
const SPAN: u64 = 2 * 365 * 86_400_000;

const PROJECTS: usize = 300;
const FILES: usize = 400;
/// Tool calls per session.
const CALLS: usize = 200;
pub(super) const PER_PROMPT: usize = 20;
/// Largest stored input and output of a tool call; lengths are distributed log-uniformly.
const INPUT: usize = 4_096;
const OUTPUT: usize = 16_384;

/// What the database was filled with.
pub(crate) struct Library {
    /// Keys of the projects, the busiest first.
    pub(crate) projects: Vec<String>,
    /// Files that were changed, one per session.
    pub(crate) files: Vec<String>,
    /// Bytes of all text: prompts, observations, summaries, input and output of tools.
    pub(crate) text: u64,
}

impl Library {
    /// Writes `count` observations to a store, session by session, in chronological order.
    pub(crate) fn fill(store: &mut Store, words: &Words, count: usize) -> Result<Self> {
        Self::fill_projects(store, words, count, projects(words))
    }

    /// As `fill`, with an existing folder as the busiest project.
    pub(crate) fn fill_around(store: &mut Store, words: &Words, count: usize, busiest: &str) -> Result<Self> {
        let mut projects = projects(words);
        busiest.clone_into(&mut projects[0]);
        Self::fill_projects(store, words, count, projects)
    }

    /// As `fill`, with all observations in one project.
    pub(crate) fn fill_one(store: &mut Store, words: &Words, count: usize, project: &str) -> Result<Self> {
        Self::fill_projects(store, words, count, vec![project.to_owned()])
    }

    fn fill_projects(store: &mut Store, words: &Words, count: usize, projects: Vec<String>) -> Result<Self> {
        let bulk = store.bulk()?;
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let all: Vec<String> = (0..PROJECTS * FILES)
            .map(|_| format!("src/{}/{}_{}.rs", words.any(&mut dice), words.any(&mut dice), words.any(&mut dice)))
            .collect();
        let raw = words.sentence(&mut dice, 200_000);
        let mut library = Self { projects, files: Vec::new(), text: 0 };
        let mut hand = Hand { words, dice, raw: &raw, files: &all };
        let sessions = count.div_ceil(CALLS);
        for session in 0..sessions {
            check_interrupts()?;
            let at = NOW - SPAN + SPAN * session as u64 / sessions as u64;
            library.play(&bulk, &mut hand, session, at, CALLS.min(count - session * CALLS))?;
            if session % 500 == 499 {
                writeln!(io::stderr(), "{} of {count}", (session + 1) * CALLS)?;
            }
        }
        drop(bulk);
        // The same steps as at the end of an import.
        store.merge_index(|| {})?;
        store.settle_writes()?;
        Ok(library)
    }

    /// Writes a session as an import of its transcript does, in few transactions.
    fn play(&mut self, bulk: &Bulk<'_>, hand: &mut Hand<'_>, number: usize, at: u64, calls: usize) -> Result<()> {
        let project = hand.dice.log_uniform(1, self.projects.len()) - 1;
        // Random, as Claude Code's session ids are.
        let session = format!("{:08x}-{number:04x}-4000-8000-{project:012x}", hand.dice.below(1 << 32));
        let key = self.projects[project].clone();
        register(bulk.plain(), &session, &key, at)?;
        let turns: Vec<Spoken> = (0..calls.div_ceil(PER_PROMPT))
            .map(|prompt| Spoken::new(hand, format!("{number}-{prompt}"), at + (prompt * PER_PROMPT) as u64 * 10_000))
            .collect();
        self.text += turns.iter().map(Spoken::text).sum::<u64>();
        let made: Vec<Made> = (0..calls).map(|call| hand.call(project, number, call)).collect();
        self.files.extend(made.iter().find_map(Made::file).cloned());
        self.text += made.iter().map(Made::text).sum::<u64>();
        store_turns(bulk, &session, &turns, new_observations(&made, at), PER_PROMPT)?;
        let mut summary = Summary::new(hand.words.sentence(&mut hand.dice, 20));
        summary.investigated = hand.words.sentence(&mut hand.dice, 40);
        summary.learned = hand.words.sentence(&mut hand.dice, 40);
        summary.completed = hand.words.sentence(&mut hand.dice, 40);
        summary.next_steps = hand.words.sentence(&mut hand.dice, 20);
        let Summary { request, investigated, learned, completed, next_steps, .. } = &summary;
        self.text +=
            [request, investigated, learned, completed, next_steps].iter().map(|t| t.len() as u64).sum::<u64>();
        bulk.write_past_summary(&session, 1, &summary, Millis(at + CALLS as u64 * 10_000))?;
        bulk.plain().complete_session(&session, "other", Millis(at + CALLS as u64 * 10_000))?;
        Ok(())
    }
}

pub(super) fn register(store: &Store, session: &str, key: &str, at: u64) -> Result<()> {
    Ok(store.register_session(&NewSession {
        session,
        project: key.split('/').nth(4).unwrap_or_default(),
        project_key: key,
        project_path: key,
        client_pid: 0,
        transcript: None,
        at: Millis(at),
    })?)
}

pub(super) fn new_observations<'a>(made: &'a [Made<'_>], at: u64) -> Vec<NewObservation<'a>> {
    made.iter()
        .enumerate()
        .map(|(n, made)| NewObservation {
            tool_use_id: &made.id,
            prompt_number: Some((n / PER_PROMPT) as i64 + 1),
            prompt_id: None,
            observation: made.observation.clone(),
            after_problem: None,
            made_by: MadeBy::Rule,
            command_key: made.command.as_deref(),
            fold_key: Some(made.fold),
            input: &made.input,
            response: made.response,
            is_error: false,
            in_subagent: false,
            at: Millis(at + n as u64 * 10_000),
        })
        .collect()
}

/// Generates tool calls.
pub(super) struct Hand<'a> {
    pub(super) words: &'a Words,
    pub(super) dice: Dice,
    pub(super) raw: &'a str,
    pub(super) files: &'a [String],
}

/// A tool call.
pub(super) struct Made<'a> {
    id: String,
    observation: Observation,
    command: Option<String>,
    fold: i64,
    input: String,
    response: &'a str,
}

impl Made<'_> {
    fn file(&self) -> Option<&String> {
        self.observation.files_modified.first()
    }

    fn text(&self) -> u64 {
        let Observation { title, narrative, facts, files_read, files_modified, .. } = &self.observation;
        let lists = [facts, files_read, files_modified].into_iter().flatten();
        let all = [title, narrative, &self.input].into_iter().chain(lists).map(String::len).sum::<usize>();
        (all + self.response.len()) as u64
    }
}

impl<'a> Hand<'a> {
    /// Generates a call: of ten, three change a file, three read one, three are commands, one searches the web.
    pub(super) fn call(&mut self, project: usize, session: usize, number: usize) -> Made<'a> {
        let file = self.files[(project * FILES + self.dice.log_uniform(1, FILES) - 1) % self.files.len()].clone();
        let few = self.words.sentence(&mut self.dice, 3);
        let (kind, tool, title, command) = match self.dice.below(10) {
            0..3 => (Kind::Change, "Edit", format!("Edited {file}"), None),
            3..6 => (Kind::Discovery, "Read", format!("Read {file}"), None),
            6 => (Kind::Problem, "Bash", format!("cargo test {few} failed"), Some(few)),
            7..9 => (Kind::Command, "Bash", format!("cargo test {few} succeeded"), Some(few)),
            _ => (Kind::Discovery, "WebSearch", format!("Searched the web for {few}"), None),
        };
        let in_file = tool == "Edit" || tool == "Read";
        let count = self.dice.log_uniform(8, 60);
        let mut observation = Observation::new(kind, tool, title);
        observation.narrative = self.words.sentence(&mut self.dice, count);
        observation.facts = (0..self.dice.below(3)).map(|_| self.words.sentence(&mut self.dice, 4)).collect();
        observation.files_read.extend((kind == Kind::Discovery && in_file).then(|| file.clone()));
        observation.files_modified.extend((kind == Kind::Change).then(|| file.clone()));
        let input = format!("{{\"file_path\":\"{file}\",\"text\":\"{}\"}}", self.piece(40, INPUT));
        let id = format!("toolu_{session:08x}{number:016x}");
        Made {
            id,
            observation,
            command,
            fold: session.wrapping_mul(CALLS).wrapping_add(number) as i64,
            input,
            response: self.piece(40, OUTPUT),
        }
    }

    fn piece(&mut self, least: usize, most: usize) -> &'a str {
        let length = self.dice.log_uniform(least, most);
        let from = self.dice.below(self.raw.len() - length);
        &self.raw[from..from + length]
    }
}

fn projects(words: &Words) -> Vec<String> {
    (0..PROJECTS).map(|n| format!("/home/someone/work/{}-{n}/.git", words.ranked(n * 3))).collect()
}

/// Size of the vocabulary.
const WORDS: usize = 40_000;

/// The most common words. They are real ones, because the model has vectors of real words.
const ENGLISH: &str = "server client request response session message parser importer database timeout migration schema \
    column worker thread process memory pointer buffer socket network packet header payload encoder decoder compiler \
    linker library package version release branch commit repository conflict review comment function method argument \
    parameter variable constant interface module account password token permission security certificate signature \
    encryption storage backup snapshot archive folder directory filename extension terminal keyboard window screen \
    colour picture document paragraph sentence language translation currency invoice payment customer product warehouse \
    delivery shipping calendar schedule reminder notification channel subscriber publisher consumer producer broker \
    cluster replica partition leader follower election consensus latency throughput benchmark profile sampling metric \
    dashboard incident outage recovery rollback container registry kernel driver device battery sensor camera microphone \
    speaker volume frequency filter transform matrix vector gradient training dataset feature regression estimate \
    variance template renderer stylesheet button dialog cursor scroll animation layout margin border padding shadow \
    texture shader vertex polygon collision physics player weapon inventory journal ledger balance budget revenue \
    expense salary employee manager department contract licence copyright address postcode country region weather \
    temperature pressure humidity distance velocity altitude compass satellite antenna receiver";

/// Chinese words of two characters.
const CHINESE: &str = "数据 连接 超时 服务 请求 错误 日志 缓存 索引 查询 线程 进程 内存 文件 目录 权限 密码 用户 会话 消息 \
    队列 任务 调度 重试 失败 成功 测试 部署 版本 分支 合并 冲突 编译 链接 接口 参数 返回 函数 变量 类型 模块 配置 网络 协议 \
    端口 证书 签名 加密 备份 恢复 迁移 表格 字段 主键 事务 锁定 性能 延迟";

/// A vocabulary, the most common word first.
pub(crate) struct Words {
    words: Vec<String>,
}

impl Words {
    /// Takes the real words, and builds the others from syllables; the result is always the same.
    pub(crate) fn new() -> Self {
        const ONSETS: [&str; 16] = ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
        const RIMES: [&str; 20] = [
            "a", "e", "i", "o", "u", "an", "er", "in", "or", "us", "ar", "en", "ist", "ock", "um", "ad", "el", "ig",
            "ont", "ut",
        ];
        let syllable = |n: usize| format!("{}{}", ONSETS[n % 16], RIMES[n / 16 % 20]);
        // Three syllables each, so that every word is long enough for a search for a part of it.
        let word = |n: usize| {
            let mixed = n * 7_919 % 32_768_000;
            [mixed % 320, mixed / 320 % 320, mixed / 102_400].map(syllable).concat()
        };
        let real = ENGLISH.split_whitespace().map(str::to_owned);
        Self { words: real.chain((0..WORDS).map(word)).take(WORDS).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn ranked(&self, rank: usize) -> &str {
        &self.words[rank % self.words.len()]
    }

    /// Returns a random word; a word of rank n is about n times less likely than the first.
    pub(crate) fn any(&self, dice: &mut Dice) -> &str {
        self.ranked(dice.log_uniform(1, WORDS) - 1)
    }

    /// Returns `count` random words, separated by spaces.
    pub(crate) fn sentence(&self, dice: &mut Dice, count: usize) -> String {
        (0..count).map(|_| self.any(dice)).collect::<Vec<_>>().join(" ")
    }

    /// Returns `count` random Chinese words, without spaces.
    pub(crate) fn chinese(&self, dice: &mut Dice, count: usize) -> String {
        let words: Vec<&str> = CHINESE.split_whitespace().collect();
        (0..count).map(|_| words[dice.below(words.len())]).collect()
    }
}

/// A pseudo-random generator (xorshift) with a fixed seed, so that every run uses the same data.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// Returns a log-uniform random number: every order of magnitude is equally likely.
    pub(crate) fn log_uniform(&mut self, least: usize, most: usize) -> usize {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let (least, most) = (least as f64, most as f64);
        ((least * (most / least).powf(share)) as usize).max(1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// One conversation of this many is in Chinese.
const ONE_IN_CHINESE: usize = 25;

/// A prompt and the reply to it.
struct Spoken {
    id: String,
    prompt: String,
    reply: String,
    at: u64,
}

impl Spoken {
    fn new(hand: &mut Hand<'_>, id: String, at: u64) -> Self {
        let (asked, said) = (hand.dice.log_uniform(4, 400), hand.dice.log_uniform(20, 800));
        let is_chinese = hand.dice.below(ONE_IN_CHINESE) == 0;
        let mut say = |count: usize| match is_chinese {
            true => hand.words.chinese(&mut hand.dice, count),
            false => hand.words.sentence(&mut hand.dice, count),
        };
        let (prompt, reply) = (say(asked), say(said));
        Self { id, prompt, reply, at }
    }

    /// Returns the bytes of the text. The prompt is stored twice: for the memory and for the handoff.
    fn text(&self) -> u64 {
        (2 * self.prompt.len() + self.reply.len()) as u64
    }

    fn turn(&self) -> Turn {
        let at = Some(Millis(self.at));
        let said = |text: &str, source: &str| SourcedText::new(format!("{}-{source}", self.id), at, text);
        let mut turn = Turn::new(format!("turn-{}", self.id));
        turn.at = at;
        turn.prompt = Some(said(&self.prompt, "asked"));
        turn.replies = vec![said(&self.reply, "said")];
        turn
    }
}

/// Stores the turns of a session, with `per_prompt` tool calls for each.
fn store_turns(
    bulk: &Bulk<'_>,
    session: &str,
    turns: &[Spoken],
    calls: Vec<NewObservation<'_>>,
    per_prompt: usize,
) -> Result<()> {
    let mut batch = Batch::default();
    batch.turns = turns.iter().map(Spoken::turn).collect();
    if let Some(stored) = bulk.plain().session(session)? {
        bulk.plain().ingest(&stored, &Cursor::default(), &batch, &Config::default(), stored.created_at)?;
    }
    let mut calls = calls.into_iter();
    let past = turns
        .iter()
        .map(|turn| PastTurn {
            prompt: Some(PastPrompt { id: &turn.id, text: &turn.prompt, at: Millis(turn.at) }),
            calls: calls.by_ref().take(per_prompt).collect(),
        })
        .collect();
    bulk.take_in_past(session, past, 0)?;
    bulk.link_replies(session)?;
    Ok(())
}
