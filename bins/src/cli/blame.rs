//! `longhaul blame` and `longhaul why`: which prompt, command or person each line of a file comes from. `--export` writes it
//! in the formats of other programs.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use longhaul_core::hash::fnv1a;
use longhaul_core::{Env, Millis, counted, one_line, short_session};
use longhaul_inject::printable;
use longhaul_runtime::git;
use longhaul_snapshot_store::{
    Blame, Depth, Explanation, Origin, OriginKind, Place, Question, Told, blame, changed_lines, changed_paths,
    encoded_path, is_in_snapshots, reading_git, shown_path,
};
use longhaul_store::Store;
use serde_json::{Value, json};

use super::memory::open_memory::Memory;
use super::memory::render::when;
use super::snapshots::{failed, here, inside};
use super::{out, paint};

/// How much of a prompt stands before its lines.
const PROMPT_CHARS: usize = 32;

/// The most time for finding a commit, and for writing its note.
const GIT_NOTE: Duration = Duration::from_secs(60);

/// The maximum number of files of a commit that are exported.
const MAX_FILES: usize = 2_000;

/// The colours of prompts on a terminal, which take turns.
const COLOURS: [&str; 6] = ["36", "33", "32", "35", "34", "31"];

#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub(crate) struct Args {
    /// The file, or some of its lines: FILE:12 or FILE:12-20
    #[arg(value_name = "FILE[:LINE[-LINE]]", group = "what")]
    file: Option<OsString>,
    /// Print a JSON object
    #[arg(long, conflicts_with_all = ["porcelain", "export"])]
    json: bool,
    /// Print a line for each line, with fields separated by tabs: number, kind, prompt, prompt id, session, milliseconds, call, text
    #[arg(long, conflicts_with = "export")]
    porcelain: bool,
    /// Write which lines of a commit come from which prompt: as git notes (refs/notes/ai) into the repository, or as a JSON text of Agent Trace
    #[arg(long, value_name = "FORMAT", group = "what")]
    export: Option<Export>,
    /// With --export: the commit
    #[arg(long, value_name = "REV", default_value = "HEAD", requires = "export")]
    commit: String,
}

/// A format of another program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Export {
    /// The Git AI standard 3.0.0, as a note of the commit
    Notes,
    /// Agent Trace 0.1.0, on standard output
    AgentTrace,
}

#[derive(clap::Args)]
pub(crate) struct WhyArgs {
    /// The line, as FILE:12
    #[arg(value_name = "FILE:LINE")]
    line: OsString,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(env: &Env, args: &Args) -> Result<()> {
    if let Some(format) = args.export {
        return export(env, format, &args.commit);
    }
    let file = args.file.as_deref().context("name a file")?;
    let (place, path, lines) = place_of(env, file)?;
    let store = store(env)?;
    let found = ask(env, &store, &place, &path, Depth::Origins)?;
    let (from, to) = lines.unwrap_or((1, found.lines.len()));
    check_lines(&found, from)?;
    let range = from - 1..to.min(found.lines.len());
    if args.json {
        let origins = found.origins.iter().map(|origin| Ok(Told::of(&store, origin, &[])?.to_json()));
        let origins: Vec<Value> = origins.collect::<Result<_>>()?;
        let line = |at: usize| {
            let line = &found.lines[at];
            json!({ "line": at + 1, "origin": line.origin, "text": String::from_utf8_lossy(&line.text) })
        };
        let lines: Vec<Value> = range.map(line).collect();
        out::json(&json!({ "path": encoded_path(&found.path), "origins": origins, "lines": lines }))?;
    } else if args.porcelain {
        let names = names(&store, &found)?;
        let row = |at: usize| {
            let line = &found.lines[at];
            let (origin, (prompt, _)) = (&found.origins[line.origin], &names[line.origin]);
            let or_dash = |text: Option<&str>| text.filter(|text| !text.is_empty()).unwrap_or("-").to_owned();
            let fields = [
                (at + 1).to_string(),
                origin.kind.as_str().to_owned(),
                or_dash(Some(prompt)),
                or_dash(origin.prompt_id.as_deref()),
                or_dash(origin.session.as_deref()),
                origin.at.to_string(),
                or_dash(origin.call.as_deref()),
            ];
            let text = printable(&String::from_utf8_lossy(&line.text).replace('\t', "    "));
            format!("{}\t{text}", fields.map(|field| printable(&field)).join("\t"))
        };
        out::lines(&range.map(row).collect::<Vec<_>>())?;
    } else {
        show(env, &store, &found, range)?;
    }
    Ok(())
}

pub(crate) fn why(env: &Env, args: &WhyArgs) -> Result<()> {
    let (place, path, lines) = place_of(env, &args.line)?;
    let Some((number, _)) = lines.filter(|(from, to)| from == to) else {
        bail!("name one line, such as {}:12", shown_path(&path))
    };
    let explained = explain(env, &store(env)?, &place, &path, number)?;
    if args.json {
        return out::json(&explained.to_json());
    }
    out::recorded_text(env, &explained.to_text(&|at| when(Millis(at))))
}

fn explain(env: &Env, store: &Store, place: &Place, path: &[u8], number: usize) -> Result<Explanation> {
    let found = ask(env, store, place, path, Depth::WithBefore)?;
    check_lines(&found, number)?;
    let problem = if number == 0 { "lines are counted from 1" } else { "the file has fewer lines" };
    found.explain(store, number).map_err(failed)?.context(problem)
}

/// Explains a line of a file that snapshots hold: what they leave out, such as secrets, is not shown to an agent.
pub(super) fn explain_stored(env: &Env, file: &str, number: usize) -> Result<Explanation> {
    let place = here(env)?;
    let path = inside(&place, &[file.into()])?.pop().context("name a file")?;
    let store = store(env)?;
    if !is_in_snapshots(&store, &place, &path).map_err(failed)? {
        let file = shown_path(&path);
        bail!("no snapshot has {file}: snapshots leave out ignored files and those that look like secrets");
    }
    explain(env, &store, &place, &path, number)
}

fn check_lines(found: &Blame, from: usize) -> Result<()> {
    if from > found.lines.len().max(1) {
        let lines = counted(found.lines.len(), "line");
        bail!("{} has only {lines}", shown_path(&found.path));
    }
    Ok(())
}

/// Opens the database, with the tool calls of running turns.
fn store(env: &Env) -> Result<Store> {
    Memory::of(env)?.existing()?.context("nothing is recorded yet: Longhaul records from the next prompt on, and `longhaul memory import` reads past sessions")
}

fn ask(env: &Env, store: &Store, place: &Place, path: &[u8], depth: Depth) -> Result<Blame> {
    let home = longhaul_runtime::Home::of(env)?;
    blame(&Question { env, home: &home, store, place, path, depth }).map_err(failed)
}

/// The first and the last line that an argument names, from 1; `None` for all.
type Lines = Option<(usize, usize)>;

/// Returns the work tree around the file of an argument, its path there, and the lines that the argument names.
fn place_of(env: &Env, named: &OsStr) -> Result<(Place, Vec<u8>, Lines)> {
    let (file, lines) = divided(named);
    let place = here(env)?;
    let mut paths = inside(&place, std::slice::from_ref(&file))?;
    let path = paths.pop().filter(|path| !path.is_empty()).with_context(|| format!("{} is no file", file.display()))?;
    Ok((place, path, lines))
}

/// Divides `FILE:12-20`. What is the name of a file as a whole has no lines.
fn divided(named: &OsStr) -> (OsString, Lines) {
    let bytes = named.as_bytes();
    let whole = || (named.to_owned(), None);
    let Some(colon) = bytes.iter().rposition(|byte| *byte == b':').filter(|_| !PathBuf::from(named).exists()) else {
        return whole();
    };
    let Ok(range) = std::str::from_utf8(&bytes[colon + 1..]) else { return whole() };
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    let (Ok(from), Ok(to)) = (from.parse::<usize>(), to.parse::<usize>()) else { return whole() };
    (OsString::from_vec(bytes[..colon].to_vec()), Some((from.max(1), to.max(from).max(1))))
}

/// Returns for each origin the number of its prompt, and the beginning of its text.
fn names(store: &Store, found: &Blame) -> Result<Vec<(String, String)>> {
    let name = |origin: &Origin| {
        let turn = match &origin.session {
            Some(session) => store.turn_text(session, origin.prompt_id.as_deref(), origin.at)?,
            None => None,
        };
        Ok(turn.map(|turn| (format!("P{}", turn.id), one_line(&turn.prompt, PROMPT_CHARS))).unwrap_or_default())
    };
    found.origins.iter().map(name).collect()
}

/// Shows the lines, each run of the same origin with its origin once.
fn show(env: &Env, store: &Store, found: &Blame, range: std::ops::Range<usize>) -> Result<()> {
    let is_coloured = std::io::stdout().is_terminal() && !env.no_color;
    let names = names(store, found)?;
    let head = |origin: &Origin, (prompt, text): &(String, String)| {
        let kind = if origin.by_text { "by text".to_owned() } else { origin.kind.as_str().to_owned() };
        let session = origin.session.as_deref().map(|id| short_session(id).to_owned()).unwrap_or_default();
        let time = if origin.at > 0 { when(Millis(origin.at)) } else { String::new() };
        let said = match origin.kind {
            OriginKind::Commit | OriginKind::Outside => {
                origin.commit.as_deref().map(|id| id.chars().take(10).collect()).unwrap_or_default()
            }
            OriginKind::Unknown => candidates(store, origin),
            OriginKind::Prompt | OriginKind::Command | OriginKind::Private => printable(text),
        };
        [kind, prompt.clone(), time, session, said]
    };
    let mut rows: Vec<[String; 7]> = Vec::new();
    let mut origins = Vec::new();
    let mut last = None;
    for at in range {
        let line = &found.lines[at];
        let [kind, prompt, time, session, said] = if last == Some(line.origin) {
            Default::default()
        } else {
            head(&found.origins[line.origin], &names[line.origin])
        };
        last = Some(line.origin);
        let text = printable(&String::from_utf8_lossy(&line.text).trim_end_matches('\r').replace('\t', "    "));
        rows.push([kind, prompt, time, session, said, (at + 1).to_string(), text]);
        origins.push(line.origin);
    }
    let mut lines = paint::columns(&rows, &[5]);
    if is_coloured {
        for (line, origin) in lines.iter_mut().zip(&origins) {
            let is_turn = found.origins[*origin].session.is_some();
            let code = if is_turn { COLOURS[origin % COLOURS.len()] } else { "2" };
            *line = format!("\u{1b}[{code}m{line}\u{1b}[0m");
        }
    }
    out::recorded_lines(env, &lines)
}

/// Returns what may have written a line of unknown origin, in a few words.
fn candidates(store: &Store, origin: &Origin) -> String {
    let name = |origin: &Origin| {
        let text = |session| store.turn_text(session, origin.prompt_id.as_deref(), origin.at).ok().flatten();
        let turn = origin.session.as_deref().and_then(text);
        turn.map_or_else(|| origin.kind.as_str().to_owned(), |turn| format!("P{}", turn.id))
    };
    origin.candidates.iter().map(name).collect::<Vec<_>>().join(" or ")
}

// Formats of other programs.

/// The prompts of a commit, each with the lines of each file that come from it.
type Prompts = BTreeMap<(String, String), (Origin, BTreeMap<Vec<u8>, Vec<usize>>)>;

fn export(env: &Env, format: Export, rev: &str) -> Result<()> {
    let place = here(env)?;
    let store = store(env)?;
    let git = reading_git(env, &place).map_err(failed)?;
    let commit = git::resolve(&place.tree, rev, GIT_NOTE)?.with_context(|| format!("{rev:?} names no commit"))?;
    let mut prompts = Prompts::new();
    for path in changed_paths(&git, &commit).map_err(failed)?.into_iter().take(MAX_FILES) {
        // A file that is gone meanwhile, or is no text, has no lines.
        let Ok(found) = ask(env, &store, &place, &path, Depth::Origins) else { continue };
        for (line, at) in changed_lines(&git, &commit, &path, &found).map_err(failed)? {
            let origin = &found.origins[found.lines[at].origin];
            let is_certain = matches!(origin.kind, OriginKind::Prompt | OriginKind::Command) && !origin.by_text;
            let Some(session) = origin.session.clone().filter(|_| is_certain) else { continue };
            let key = (session, origin.prompt_id.clone().unwrap_or_else(|| origin.at.to_string()));
            let entry = prompts.entry(key).or_insert_with(|| (origin.clone(), BTreeMap::new()));
            entry.1.entry(path.clone()).or_default().push(line);
        }
    }
    match format {
        Export::Notes => {
            let lines: usize = prompts.values().flat_map(|(_, files)| files.values()).map(Vec::len).sum();
            let (short, top) = (&commit[..10], place.tree.top.display());
            out::message(&format!("Writes a note about {lines} lines of commit {short} to refs/notes/ai of {top}."));
            let note = authorship_log(&commit, &prompts);
            Ok(git::write_note(&place.tree, "refs/notes/ai", &commit, note.as_bytes(), GIT_NOTE)?)
        }
        Export::AgentTrace => out::json(&agent_trace(env, &git, &commit, &prompts)?),
    }
}

/// Returns lines as ranges, such as `1-4,9`.
fn ranges(lines: &[usize]) -> Vec<(usize, usize)> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for line in lines {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == *line => *end = *line,
            _ => ranges.push((*line, *line)),
        }
    }
    ranges
}

/// Returns the note of a commit in the Git AI standard 3.0.0: the lines of each file, then JSON about the prompts.
fn authorship_log(commit: &str, prompts: &Prompts) -> String {
    let id = |(session, prompt): &(String, String)| {
        let hash = fnv1a(format!("{session}:{prompt}").bytes());
        format!("{hash:016x}")
    };
    let mut files: BTreeMap<&Vec<u8>, Vec<String>> = BTreeMap::new();
    let mut about = serde_json::Map::new();
    for (key, (origin, lines)) in prompts {
        for (path, lines) in lines {
            let range = |(from, to)| if from == to { format!("{from}") } else { format!("{from}-{to}") };
            let shown: Vec<String> = ranges(lines).into_iter().map(range).collect();
            files.entry(path).or_default().push(format!("  {} {}", id(key), shown.join(",")));
        }
        let total: usize = lines.values().map(Vec::len).sum();
        let agent = json!({ "tool": origin.agent(), "id": origin.session, "model": "unknown" });
        about.insert(id(key), json!({ "agent_id": agent, "human_author": null, "messages": [], "total_additions": total, "total_deletions": 0, "accepted_lines": total, "overriden_lines": 0 }));
    }
    let mut note = String::new();
    for (path, lines) in files {
        let name = shown_path(path);
        let name = if name.contains(char::is_whitespace) { format!("\"{name}\"") } else { name };
        note.push_str(&format!("{name}\n{}\n", lines.join("\n")));
    }
    let metadata = json!({ "schema_version": "authorship/3.0.0", "base_commit_sha": commit, "prompts": about });
    format!("{note}---\n{}\n", serde_json::to_string_pretty(&metadata).unwrap_or_default())
}

/// Returns the record of a commit in Agent Trace 0.1.0.
fn agent_trace(env: &Env, git: &git::PrivateGit, commit: &str, prompts: &Prompts) -> Result<Value> {
    let mut files: BTreeMap<&Vec<u8>, Vec<Value>> = BTreeMap::new();
    for (origin, lines) in prompts.values() {
        for (path, lines) in lines {
            let text = longhaul_snapshot_store::text_of_commit(git, commit, path).map_err(failed)?;
            let all: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
            let range = |(from, to): (usize, usize)| {
                let content = all.get(from - 1..to).unwrap_or_default().join(&b'\n');
                let hash = fnv1a(content);
                json!({ "start_line": from, "end_line": to, "content_hash": format!("fnv1a:{hash:016x}") })
            };
            let ranges: Vec<Value> = ranges(lines).into_iter().map(range).collect();
            let related = json!([{ "type": "session", "url": format!("longhaul:session/{}", origin.session.as_deref().unwrap_or_default()) }]);
            let conversation = json!({ "contributor": { "type": "ai" }, "ranges": ranges, "related": related });
            files.entry(path).or_default().push(conversation);
        }
    }
    let file = |(path, conversations): (&Vec<u8>, Vec<Value>)| json!({ "path": encoded_path(path), "conversations": conversations });
    let files: Vec<Value> = files.into_iter().map(file).collect();
    // The same record of the same commit has the same id.
    let (start, end) = (fnv1a(commit.bytes()), fnv1a(commit.bytes().rev()));
    let start = format!("{:08x}-{:04x}-8{:03x}", start >> 32, start >> 16 & 0xffff, start & 0xfff);
    let id = format!("{start}-8{:03x}-{:012x}", end >> 52, end & 0xffff_ffff_ffff);
    Ok(json!({
        "version": "0.1.0",
        "id": id,
        "timestamp": paint::utc_time(env.now),
        "vcs": { "type": git::NAME, "revision": commit },
        "tool": { "name": "longhaul", "version": env!("CARGO_PKG_VERSION") },
        "files": files,
    }))
}
