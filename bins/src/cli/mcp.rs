//! `longhaul mcp`: the MCP server, with which an agent asks questions to the memory and reads records.

use std::fmt;

use anyhow::{Context, Result, anyhow};
use longhaul_core::Env;
use longhaul_core::text::cut_middle;
use longhaul_memory::Query;
use longhaul_runtime::memory::ANSWER_TOKENS;
use longhaul_store::{Content, RecordId, What};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::schemars::{self, JsonSchema};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde::Deserialize;

use super::blame;
use super::memory::open_memory::{self, Memory, ProjectFilter};
use super::memory::render::{self, Shown};
use super::memory::search::{self, Ordering, Type, Wanted, answer, within};
use super::memory::{NewText, save};
use super::out::{FRAME_TOKENS, framed, printable};

/// The instructions that an agent gets with the list of tools.
const INSTRUCTIONS: &str = "Memory of past sessions in this project. `recall` answers a question with the passages \
    themselves: use it first. `search` lists records, one line each with its id and token cost, and filters them; \
    `timeline` shows what happened around an id; `get_observations` returns whole records for the few ids that matter. \
    `why` returns the prompt behind a line of a file. `save_memory` stores what the user wants to be remembered.";

/// Serves until the input is closed.
pub(crate) fn run(env: &Env) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start")?;
    let server = Server { is_disabled: env.disabled };
    let served = runtime.block_on(async {
        // A client that disconnects before the handshake is not an error.
        if let Ok(service) = server.serve(rmcp::transport::stdio()).await {
            service.waiting().await.context("the connection broke")?;
        }
        anyhow::Ok(())
    });
    // A thread may still be waiting for input.
    runtime.shutdown_background();
    served
}

/// The server. It does not keep the database open between calls, so that it can be replaced or vacuumed.
#[derive(Clone)]
struct Server {
    is_disabled: bool,
}

#[tool_router]
impl Server {
    #[tool(
        description = "Answer a question from past sessions of this project: what was decided, why, how something was \
            fixed, what the user wants. Returns the best passages themselves (what was asked, what was answered), cut \
            around the words that match, grouped by session with its date, each with its id. Use it first for any \
            question, in plain words or with a pasted error message; one call is usually enough. The answer has up to 1500 \
            tokens, up to 20000 with `tokens`. A passage marked as \
            older was replaced by a newer one. `get_observations` returns a passage whole.",
        annotations(title = "Recall from memory", read_only_hint = true, open_world_hint = false)
    )]
    fn recall(&self, Parameters(question): Parameters<Question>) -> CallToolResult {
        self.answer(|memory| recall(memory, question))
    }

    #[tool(
        description = "List records of past sessions of this project: prompts, observations (what tool calls did) and \
            session summaries. Returns one line per record: id, time, kind, title, tokens that reading it costs. Use it to \
            list or filter by file, kind or day; for a question use `recall`. Shows 20 records, up to 200 with `limit`. Then `timeline` around an interesting id, \
            or `get_observations` for the few ids worth their tokens.",
        annotations(title = "Search memory", read_only_hint = true, open_world_hint = false)
    )]
    fn search(&self, Parameters(words): Parameters<Words>) -> CallToolResult {
        self.answer(|memory| search(memory, words))
    }

    #[tool(
        description = "What happened around a record, one line each, oldest first; the record is marked with \
            `>`. Shows 3 records on each side, up to 200 with `depth_before` and `depth_after`. Cheap: use it to see what led to a result of `recall` or `search`, and what came of it.",
        annotations(title = "Memory timeline", read_only_hint = true, open_world_hint = false)
    )]
    fn timeline(&self, Parameters(around): Parameters<Around>) -> CallToolResult {
        self.answer(|memory| timeline(memory, &around))
    }

    #[tool(
        description = "Whole records for ids from `recall`, `search` or `timeline`, raw tool input and output included; \
            only of a very long reply the middle is left out, and `recall` finds what is in it. Ask for all ids you need in one call, 50 at most, and only for those: each costs the tokens that its line says.",
        annotations(title = "Read memory records", read_only_hint = true, open_world_hint = false)
    )]
    fn get_observations(&self, Parameters(records): Parameters<Records>) -> CallToolResult {
        self.answer(|memory| get(memory, &records))
    }

    #[tool(
        description = "Why a line of a file is there: the prompt that led to it, word for word, the tool call that wrote it, what \
            the reply said about it, the decision if there is one, and what stood there before. Also for lines that a shell \
            command wrote, and for uncommitted ones. It names every candidate if several prompts may have written the line. \
            Use it before you change code whose reason you do not see.",
        annotations(title = "Why a line is there", read_only_hint = true, open_world_hint = false)
    )]
    fn why(&self, Parameters(line): Parameters<Line>) -> CallToolResult {
        self.answer(|memory| why(memory, &line))
    }

    #[tool(
        description = "Remember a text for later sessions of this project: a decision and its reason, a convention, \
            something the user asked to be remembered. Text in <private> tags and known secrets are left out.",
        annotations(
            title = "Save to memory",
            read_only_hint = false,
            destructive_hint = false,
            open_world_hint = false
        )
    )]
    fn save_memory(&self, Parameters(note): Parameters<Note>) -> CallToolResult {
        self.answer(|memory| remember(memory, &note))
    }

    /// Runs a tool. An error is returned to the agent, with the fix.
    fn answer(&self, tool: impl FnOnce(&Memory<'_>) -> Result<String>) -> CallToolResult {
        if self.is_disabled {
            let fix = "longhaul is disabled by LONGHAUL_DISABLE=1: unset it and start Claude Code again";
            return CallToolResult::error(vec![ContentBlock::text(fix)]);
        }
        // Read for every call: the server runs for hours, and the configuration may change.
        let env = longhaul_runtime::env();
        match Memory::of(&env).and_then(|memory| tool(&memory)) {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(printable(&text))]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(printable(&format!("{error:#}")))]),
        }
    }
}

#[tool_handler]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("longhaul", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }
}

fn search(memory: &Memory<'_>, words: Words) -> Result<String> {
    let Some(store) = search::open(memory)? else { return Ok(EMPTY.to_owned()) };
    let wanted = Wanted {
        query: Query::parse(&words.query.unwrap_or_default()),
        kinds: words.kinds.iter().flatten().map(|name| search::kind(name)).collect::<Result<_>>()?,
        file: words.file.filter(|file| !file.is_empty()),
        since: words.since.as_deref().map(search::day).transpose()?,
        before: words.before.as_deref().map(search::day).transpose()?,
        what: words.types.into_iter().flatten().map(What::from).collect(),
        order: words.order.unwrap_or_default().into(),
        limit: words.limit.unwrap_or(20).clamp(1, MOST_LINES),
        offset: words.offset.unwrap_or_default(),
        session: None,
        without_session: None,
        from_host: words.from_host.filter(|host| !host.is_empty()),
    };
    let projects = ProjectFilter { project: words.project, all: words.all_projects.unwrap_or_default() };
    let hits = search::find(memory, &store, &projects, &wanted)?;
    if hits.is_empty() {
        return Ok(format!(
            "{}; try other words, another kind, or all_projects",
            search::nothing_found(&store, &wanted)
        ));
    }
    let lines = render::lines(&hits, Shown::of(projects.all), render::Screen::NONE).join("\n");
    let weak = if hits[0].is_weak { "\n(weak matches: no record has most of these words)" } else { "" };
    let Wanted { limit, offset, .. } = wanted;
    let next = offset + limit;
    let more = (hits.len() == limit).then(|| {
        format!("\n({limit} lines are shown: `offset` {next} shows the next, `limit` up to {MOST_LINES} more)")
    });
    Ok(framed(&lines) + weak + &more.unwrap_or_default())
}

fn recall(memory: &Memory<'_>, asked: Question) -> Result<String> {
    let wanted = Wanted {
        query: longhaul_runtime::memory::question(&asked.question)?,
        since: asked.since.as_deref().map(search::day).transpose()?,
        before: asked.before.as_deref().map(search::day).transpose()?,
        from_host: asked.from_host.filter(|host| !host.is_empty()),
        ..Wanted::default()
    };
    let tokens =
        asked.tokens.map(|tokens| within(tokens).map_err(|problem| anyhow!("tokens: {problem}"))).transpose()?;
    let Some(store) = search::open(memory)? else { return Ok(EMPTY.to_owned()) };
    let projects = ProjectFilter { project: asked.project, all: asked.all_projects.unwrap_or_default() };
    // The frame also counts.
    let room = tokens.unwrap_or(ANSWER_TOKENS).saturating_sub(FRAME_TOKENS);
    let answer = answer(memory, &store, &projects, wanted.clone(), room)?;
    if answer.is_empty() {
        return Ok(format!("{}; try other words, or all_projects", search::nothing_found(&store, &wanted)));
    }
    Ok(framed(&answer.text()))
}

/// The answer if there is no memory yet.
const EMPTY: &str = "the memory is empty: the user can run `longhaul memory import` to read past sessions";

fn timeline(memory: &Memory<'_>, around: &Around) -> Result<String> {
    let id = match (&around.id, &around.anchor) {
        (Some(id), None) | (None, Some(id)) => open_memory::parse_id(&id.to_string())?,
        (Some(_), Some(_)) => anyhow::bail!("id and anchor are the same argument: give one of them"),
        (None, None) => anyhow::bail!("name a record with id, such as {{\"id\": \"O345\"}}; `search` lists them"),
    };
    let store = memory.existing()?.context(EMPTY)?;
    let depth = |depth: Option<usize>| depth.unwrap_or(3).min(MOST_LINES);
    let only: Vec<What> = around.only.map(What::from).into_iter().collect();
    let hits = store.timeline(id, depth(around.depth_before), depth(around.depth_after), &only)?;
    if hits.is_empty() {
        anyhow::bail!(open_memory::unknown_record(id));
    }
    Ok(framed(&render::lines(&hits, Shown::Around(id), render::Screen::NONE).join("\n")))
}

fn get(memory: &Memory<'_>, records: &Records) -> Result<String> {
    if records.ids.is_empty() || records.ids.len() > MOST_RECORDS {
        anyhow::bail!("name 1 to {MOST_RECORDS} ids from `search` or `timeline`, such as [\"O345\", \"S6\"]");
    }
    let ids = records.ids.iter().map(|id| open_memory::parse_id(&id.to_string()));
    let wanted = open_memory::distinct(ids.collect::<Result<Vec<RecordId>>>()?);
    let store = memory.existing()?.context(EMPTY)?;
    let mut found = store.records(&wanted)?;
    // A long reply would fill the model's context. `recall` shows the part of it that is about a question.
    for record in &mut found {
        if let Content::Prompt { reply, .. } = &mut record.content {
            *reply = cut_middle(reply, SHOWN_REPLY_CHARS);
        }
    }
    let missing = wanted.iter().filter(|id| !found.iter().any(|record| record.record == **id));
    let missing: Vec<String> = missing.map(|id| open_memory::unknown_record(*id)).collect();
    if found.is_empty() {
        anyhow::bail!(missing.join("\n"));
    }
    let texts = found.iter().map(render::record).chain(missing);
    Ok(framed(&texts.collect::<Vec<_>>().join("\n")))
}

fn why(memory: &Memory<'_>, line: &Line) -> Result<String> {
    let explained = blame::explain_stored(memory.env, &line.file, line.line)?;
    Ok(framed(&explained.to_text(&|at| render::when(longhaul_core::Millis(at)))))
}

fn remember(memory: &Memory<'_>, note: &Note) -> Result<String> {
    let new = NewText { text: &note.text, title: note.title.as_deref(), project: note.project.as_deref() };
    let id = save(memory, &new)?;
    Ok(format!("saved as {id}"))
}

// The arguments of each tool, and how much one call may ask for, or shows of a reply. The comments of types and fields become the
// descriptions that an agent reads.
//
// An unknown argument is refused: otherwise an agent that mistypes one would misread the answer.

/// How many records one call may ask for. More would fill the context of the agent. The comment of `Records::ids` repeats the
/// number.
const MOST_RECORDS: usize = 50;

/// How many lines one call may ask for. The comments of `Words::limit` and of the depths of
/// `Around` repeat the number.
const MOST_LINES: usize = 200;

/// Maximum length of a reply, in characters. The middle of a longer one is left out.
const SHOWN_REPLY_CHARS: usize = 16_384;

/// The arguments of `why`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The file, relative to the folder of this session, or with its whole path.
    file: String,
    /// The number of the line, from 1.
    line: usize,
}

/// The arguments of `recall`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Question {
    /// The question, in a sentence, or an error message. "A phrase" in quotes and +word must occur, -word must not.
    question: String,
    /// Maximum length of the answer in tokens, from 100 to 20000; default 1500.
    tokens: Option<usize>,
    /// Only records since this day, YYYY-MM-DD.
    since: Option<String>,
    /// Only records before this day, YYYY-MM-DD.
    before: Option<String>,
    /// Only what was made on this host, by the name that results show behind @; `here` is this machine.
    from_host: Option<String>,
    /// Another project: its name, or a folder in it; default is the project of this session.
    project: Option<String>,
    /// Ask every project.
    all_projects: Option<bool>,
}

/// The arguments of `search`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Words {
    /// A question, an error message or words: the more of them a record has, the better it ranks. "A phrase" in quotes and
    /// +word must occur, -word must not. Any text is valid. Leave it out to list the newest records that pass the filters.
    query: Option<String>,
    /// Only observations of these kinds: change, discovery, command, problem, fix, decision, delegation, note.
    kinds: Option<Vec<String>>,
    /// Only observations of a file whose path contains this.
    file: Option<String>,
    /// Only records since this day, YYYY-MM-DD.
    since: Option<String>,
    /// Only records before this day, YYYY-MM-DD.
    before: Option<String>,
    /// Only these types of records.
    types: Option<Vec<Type>>,
    /// The order of the results; default relevance.
    order: Option<Ordering>,
    /// Maximum number of lines, up to 200; default 20.
    limit: Option<usize>,
    /// Number of lines to skip.
    offset: Option<usize>,
    /// Only what was made on this host, by the name that results show behind @; `here` is this machine.
    from_host: Option<String>,
    /// Another project: its name, or a folder in it; default is the project of this session.
    project: Option<String>,
    /// Search every project.
    all_projects: Option<bool>,
}

/// The arguments of `timeline`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Around {
    /// The record, such as O345, P12 or S6.
    id: Option<Id>,
    /// The same as `id`.
    anchor: Option<Id>,
    /// Number of records before it, up to 200; default 3.
    depth_before: Option<usize>,
    /// Number of records after it, up to 200; default 3.
    depth_after: Option<usize>,
    /// Around it, only records of this type.
    #[serde(rename = "type")]
    only: Option<Type>,
}

/// The arguments of `get_observations`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Records {
    /// The records, such as ["O345", "P12", "S6"]; at most 50.
    ids: Vec<Id>,
}

/// The arguments of `save_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Note {
    /// The text to remember, in sentences that can be understood without this conversation.
    text: String,
    /// A title of one line; default is the first line of the text.
    title: Option<String>,
    /// Another project: its name, or a folder in it; default is the project of this session.
    project: Option<String>,
}

/// The id of a record. A number alone is an observation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Id {
    /// Such as O345.
    Name(String),
    /// Such as 345.
    Number(i64),
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}
