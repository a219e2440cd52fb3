//! The account of a session: `sessions/<id>.limits`, which exists only where a limit is set. It says how far the transcripts of
//! the session and of its subagents were read, and what was spent so far.

use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs2::FileExt;
use longhaul_core::config::{Limits, SpendLimit};
use longhaul_core::hash::fnv1a;
use longhaul_core::{Millis, SessionId};
use longhaul_cost::limits::{Measure, Scope, Spent, Subagents, Told};
use longhaul_cost::{Prices, UsageLine, UsageScanner};
use serde::{Deserialize, Serialize};

use super::day;
use crate::cost::usage_files;
use crate::{Deadline, Error, Home, bounded_read, files};

/// How many requests of a transcript are remembered, in order to recognise those that a reply repeats. Its lines follow each
/// other.
const REMEMBERED: usize = 4;

/// Of how many transcripts requests are remembered. More subagents do not write at the same time.
const REMEMBERED_FILES: usize = 64;

/// Number of bytes that are read at a time.
const BUFFER: usize = 256 * 1024;

/// Number of bytes after which the account is saved, so that a hook that runs out of time has not read them in vain.
const PIECE: u64 = 16 << 20;

/// How long a command waits for an account that a hook has.
const OPENED_FOR_COMMAND: Duration = Duration::from_secs(10);

/// Time between two attempts to open an account that another hook has.
const OPEN_TRIED: Duration = Duration::from_millis(5);

/// The largest account that is read.
const MAX_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct InForce {
    /// In the order of [`Scope::ALL`].
    spend: [SpendLimit; 3],
    at_once: u64,
    in_turn: u64,
}

impl InForce {
    pub fn of(limits: &Limits) -> Self {
        let (at_once, in_turn) = (limits.subagents.at_once.0, limits.subagents.in_turn.0);
        Self { spend: Scope::ALL.map(|scope| scope.limit(limits)), at_once, in_turn }
    }

    /// Returns whether there is a limit of what may be spent.
    pub fn has_spend(&self) -> bool {
        self.spend.iter().any(|limit| !limit.is_off())
    }

    pub fn has_day(&self) -> bool {
        !self.spend[Scope::Day as usize].is_off() || !self.spend[Scope::ProjectDay as usize].is_off()
    }

    /// Returns whether there is any limit.
    pub fn is_any(&self) -> bool {
        self.has_spend() || self.at_once > 0 || self.in_turn > 0
    }

    /// Returns how many subagents there may be: at once, and in a turn; 0 is no limit.
    pub fn subagents(&self) -> Subagents {
        Subagents { running: self.at_once, in_turn: self.in_turn }
    }
}

/// What is known of what a session has spent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// The user's limits, when those in force were found out.
    pub(super) own: InForce,
    /// The limits in force: the user's, or stricter ones of the project.
    pub in_force: InForce,
    /// The limits that the user has raised for this session.
    raised: [SpendLimit; 3],
    pub(super) told: Told,
    /// Whether this turn goes on although a limit is reached.
    pub(super) passes: bool,
    pub is_stopped: bool,
    /// Whether what a session leaves at a limit was left since then: the baton, so that the next one continues.
    pub(super) has_left: bool,
    /// Whether a subagent was denied in this turn.
    pub(super) has_denied: bool,
    pub session: Spent,
    day: SessionDay,
    /// How far each transcript was read, that which has changed last at the end: a storm of subagents has hundreds.
    read: Vec<ReadFile>,
    /// The running subagents, by their ids.
    agents: Vec<String>,
    /// How many subagents were launched and have not started yet.
    launches: u64,
    /// How many subagents were started in this turn.
    in_turn: u64,
}

/// What a session has spent in a day.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct SessionDay {
    begins: u64,
    ends: u64,
    spent: Spent,
    /// A hash of the key of the project.
    project: u64,
    /// The position of its slot in the file of the day.
    slot: Option<u64>,
}

/// How far a transcript was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct ReadFile {
    path: u64,
    /// The end of the last line that was read.
    to: u64,
    /// Its last requests, the newest last: key, what was counted, and whether it was of this day.
    last: Vec<(u64, Spent, bool)>,
}

impl SessionDay {
    fn has(&self, at: Millis) -> bool {
        (self.begins..self.ends).contains(&at.0)
    }
}

impl Account {
    pub(super) fn begin_turn(&mut self, passes: bool) {
        (self.passes, self.is_stopped, self.has_denied, self.in_turn) = (passes, false, false, 0);
        self.launches = 0;
    }

    /// Takes over which subagents run at the end of a turn. A launch that the user has denied sends no event.
    pub(super) fn end_turn(&mut self, is_running: impl Fn(&str) -> bool) {
        self.launches = 0;
        self.agents.retain(|agent| is_running(agent));
    }

    /// Ends what belongs to a process of the client: no subagent outlives it, and what the user has allowed ends with it.
    pub(super) fn end_session(&mut self) {
        self.begin_turn(false);
        self.end_turn(|_| false);
        self.raised = Default::default();
    }

    /// Notes a call that launches a subagent.
    pub(super) fn launch(&mut self) {
        self.launches += 1;
        self.in_turn += 1;
    }

    /// Notes a subagent that has started: the oldest launch is no longer awaited.
    pub(super) fn agent_began(&mut self, agent: &str) {
        self.launches = self.launches.saturating_sub(1);
        self.agent_works(agent);
    }

    /// Notes a subagent that runs, even if it seemed to be gone.
    pub(super) fn agent_works(&mut self, agent: &str) {
        if !self.agents.iter().any(|running| running == agent) {
            self.agents.push(agent.to_owned());
        }
    }

    pub(super) fn agent_returned(&mut self, agent: &str) {
        self.agents.retain(|running| running != agent);
    }

    /// Returns whether a subagent runs, as far as is known.
    pub(super) fn has_agents(&self) -> bool {
        !self.agents.is_empty()
    }

    /// Returns the subagents now: those that run, and those that were launched and have not started yet.
    pub(super) fn subagents(&self) -> Subagents {
        Subagents { running: self.agents.len() as u64 + self.launches, in_turn: self.in_turn }
    }

    /// Reads what was added to the transcripts of the session and of its subagents.
    ///
    /// Calls `keep` after each piece but the last one, so that what was read can be saved: of a large transcript, or of many small
    /// ones. If it breaks, the next call goes on there.
    pub(super) fn read(
        &mut self,
        transcript: &Path,
        prices: &Prices,
        piece: u64,
        mut keep: impl FnMut(&Self) -> ControlFlow<()>,
    ) {
        let subagents = usage_files(&[transcript.with_extension("")]).into_iter().map(|file| (file.path, file.bytes));
        let length = std::fs::metadata(transcript).map_or(0, |file| file.len());
        let files: Vec<(PathBuf, u64)> = std::iter::once((transcript.to_owned(), length)).chain(subagents).collect();
        let place = |read: &[ReadFile], path: &Path| read.iter().position(|known| known.path == hash_of(path));
        // Another file with the same name: what was counted is in it, too, or was taken back.
        let is_another =
            |(path, length): &(PathBuf, u64)| place(&self.read, path).is_some_and(|at| *length < self.read[at].to);
        if files.iter().any(is_another) {
            (self.session, self.day.spent, self.read) = Default::default();
        }
        let session = transcript.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut unsaved = 0;
        for (path, length) in files {
            let known = place(&self.read, &path);
            let from = known.map_or(0, |at| self.read[at].to);
            if from >= length {
                continue;
            }
            // What cannot be read is tried again at the next call.
            let Ok(mut reader) = TranscriptReader::open(&path, from, length) else { continue };
            let file = known.map(|at| self.read.remove(at));
            self.read.push(file.unwrap_or_else(|| ReadFile { path: hash_of(&path), ..ReadFile::default() }));
            let at = self.read.len() - 1;
            if let Some(old) = at.checked_sub(REMEMBERED_FILES) {
                self.read[old].last = Vec::new();
            }
            loop {
                let has_more = reader.read(piece, |line| self.count(at, line, &session, prices)).unwrap_or(false);
                unsaved += reader.complete.saturating_sub(std::mem::replace(&mut self.read[at].to, reader.complete));
                // Within a long line there is nothing to keep yet.
                if (has_more && unsaved > 0) || unsaved >= piece {
                    unsaved = 0;
                    if keep(self).is_break() {
                        return;
                    }
                }
                if !has_more {
                    break;
                }
            }
        }
    }

    /// Begins the day of `now`, unless it has begun.
    pub(super) fn begin_day(&mut self, now: Millis, project: impl FnOnce() -> String) {
        if self.day.has(now) {
            return;
        }
        let (begins, ends) = day::of(now);
        self.day =
            SessionDay { begins: begins.0, ends: ends.0, project: fnv1a(project().bytes()), ..SessionDay::default() };
        self.told = self.told.on_a_new_day();
        for (.., is_today) in self.read.iter_mut().flat_map(|file| &mut file.last) {
            *is_today = false;
        }
    }

    /// Counts the requests of a line, each once. Those that were copied from another session are its own.
    fn count(&mut self, file: usize, line: &UsageLine<'_>, session: &str, prices: &Prices) {
        if line.is_copy || line.session.as_deref().is_some_and(|of| of != session) {
            return;
        }
        let is_today = self.day.has(line.at);
        let last = &mut self.read[file].last;
        for request in &line.requests {
            let spent = Spent::by_request(&request.tokens, prices.cost(request));
            let key = request.key.map(|key| key.short());
            let known = last.iter().position(|(known, ..)| Some(*known) == key);
            if let Some((_, before, was_today)) = known.map(|at| last[at]) {
                // The first pieces of a reply report a part of the output.
                if spent.tokens <= before.tokens {
                    continue;
                }
                self.session.take_away(&before);
                if was_today {
                    self.day.spent.take_away(&before);
                }
            }
            self.session.add(&spent);
            if is_today {
                self.day.spent.add(&spent);
            }
            match (known, key) {
                (Some(at), Some(key)) => last[at] = (key, spent, is_today),
                (None, Some(key)) => last.push((key, spent, is_today)),
                (_, None) => {}
            }
            if last.len() > REMEMBERED {
                last.remove(0);
            }
        }
    }

    /// Writes what the session has spent into the file of the day.
    pub(super) fn share_day(&mut self, home: &Home, session: &SessionId) -> Result<(), Error> {
        if self.in_force.has_day() && self.day.ends > 0 {
            let slot = day::Slot {
                session: fnv1a(session.as_str().bytes()),
                project: self.day.project,
                spent: self.day.spent,
            };
            self.day.slot = Some(day::write(home, Millis(self.day.begins), self.day.slot, &slot)?);
        }
        Ok(())
    }

    /// Returns every limit with what is spent of it. A session that is idle since yesterday has spent nothing today.
    pub(super) fn measures(&self, home: &Home, now: Millis) -> Vec<Measure> {
        let begins = || if self.day.has(now) { Millis(self.day.begins) } else { day::of(now).0 };
        let sums = self.in_force.has_day().then(|| day::sums(home, begins(), self.day.project));
        let (day, project_day) = sums.unwrap_or_default();
        let spent = [self.session, day, project_day];
        let limits = self.in_force.spend.iter().zip(self.raised).map(|(limit, raised)| higher(*limit, raised));
        let all = Scope::ALL.into_iter().zip(limits).zip(spent);
        all.map(|((scope, limit), spent)| Measure { scope, limit, spent })
            .filter(|measure| !measure.limit.is_off())
            .collect()
    }
}

/// Returns a limit, or what it was raised to. A limit that has another unit since is in force again.
fn higher(limit: SpendLimit, raised: SpendLimit) -> SpendLimit {
    match (limit, raised) {
        (SpendLimit::Dollars(limit), SpendLimit::Dollars(raised)) => SpendLimit::Dollars(limit.max(raised)),
        (SpendLimit::Tokens(limit), SpendLimit::Tokens(raised)) => SpendLimit::Tokens(limit.max(raised)),
        (limit, _) => limit,
    }
}

fn hash_of(path: &Path) -> u64 {
    fnv1a(path.as_os_str().as_encoded_bytes().iter().copied())
}

/// A transcript that is read from a position on.
struct TranscriptReader {
    file: File,
    scanner: UsageScanner,
    buffer: Vec<u8>,
    at: u64,
    to: u64,
    /// The end of the last complete line.
    complete: u64,
}

impl TranscriptReader {
    fn open(path: &Path, from: u64, to: u64) -> io::Result<Self> {
        let buffer = vec![0; BUFFER.min((to - from) as usize)];
        let file = bounded_read::open(path)?;
        Ok(Self { file, scanner: UsageScanner::default(), buffer, at: from, to, complete: from })
    }

    /// Reads about `most` bytes, and calls `found` with every complete line with usage. Returns whether there is more.
    fn read(&mut self, most: u64, mut found: impl FnMut(&UsageLine<'_>)) -> io::Result<bool> {
        let until = self.to.min(self.at.saturating_add(most));
        while self.at < until {
            let length = self.buffer.len().min((until - self.at) as usize);
            let read = self.file.read_at(&mut self.buffer[..length], self.at)?;
            if read == 0 {
                return Ok(false);
            }
            let read = &self.buffer[..read];
            self.scanner.feed(read, |line| {
                if let Some(line) = UsageLine::parse(line) {
                    found(&line);
                }
            });
            if let Some(end) = read.iter().rposition(|byte| *byte == b'\n') {
                self.complete = self.at + end as u64 + 1;
            }
            self.at += read.len() as u64;
        }
        Ok(self.at < self.to)
    }
}

/// An account that no other process changes meanwhile.
#[derive(Debug)]
pub(super) struct OpenAccount {
    pub(super) account: Account,
    file: File,
    path: PathBuf,
    before: Vec<u8>,
}

impl OpenAccount {
    /// Opens an account; `None` if there is none and `creates` is not set. While another process has it, waits until `deadline`;
    /// without one, it is `None` then, too.
    pub(super) fn open(path: &Path, deadline: Option<Deadline>, creates: bool) -> Result<Option<Self>, Error> {
        let failed = |source| Error::Write { path: path.to_owned(), source };
        let opened = if creates { files::open_in_place(path).map(Some) } else { files::open_in_place_if_there(path) };
        let Some(file) = opened? else { return Ok(None) };
        while let Err(error) = FileExt::try_lock_exclusive(&file) {
            let Some(deadline) = deadline else { return Ok(None) };
            if deadline.left().is_zero() {
                return Err(failed(error));
            }
            // The other one usually has it for a moment, but longer while it reads a large transcript.
            std::thread::sleep(OPEN_TRIED);
        }
        let mut before = content(&file).map_err(failed)?;
        let account = match serde_json::from_slice(&before) {
            Ok(account) => account,
            // A file that was cut off by a full disk or a crash begins anew: the transcripts are read again.
            Err(_) => {
                before.clear();
                file.set_len(0).map_err(failed)?;
                Account::default()
            }
        };
        Ok(Some(Self { account, file, path: path.to_owned(), before }))
    }

    /// Reads what was added to the transcripts, until `deadline`. What was read is saved in between.
    pub(super) fn read(&mut self, transcript: &Path, prices: &Prices, deadline: Deadline) -> Result<(), Error> {
        let Self { account, file, path, before } = self;
        let mut saved = Ok(());
        account.read(transcript, prices, PIECE, |account| {
            saved = write(account, file, path, before);
            if deadline.left().is_zero() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        saved
    }

    /// Writes the account if it has changed.
    pub(super) fn save(&mut self) -> Result<(), Error> {
        write(&self.account, &self.file, &self.path, &mut self.before)
    }
}

fn write(account: &Account, file: &File, path: &Path, before: &mut Vec<u8>) -> Result<(), Error> {
    let mut bytes = serde_json::to_vec(account).unwrap_or_default();
    if bytes == before.trim_ascii_end() {
        return Ok(());
    }
    // Spaces replace what was longer: a hook that is killed between two steps would lose what the user has raised.
    bytes.resize(bytes.len().max(before.len()), b' ');
    file.write_all_at(&bytes, 0).map_err(|source| Error::Write { path: path.to_owned(), source })?;
    *before = bytes;
    Ok(())
}

fn content(file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len() as usize;
    let mut bytes = vec![0; length.min(MAX_BYTES)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

// What the command line, the view and the status line show and change.

impl Account {
    /// Returns the account of a session; `None` if it has none.
    pub fn load(home: &Home, session: &SessionId) -> Option<Self> {
        let bytes = bounded_read::bytes(&home.session_file(session, "limits"), MAX_BYTES as u64).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// Returns every limit of a session with what is spent of it, as its hooks have counted it; empty if it has no limit.
pub fn measures_of(home: &Home, session: &SessionId, now: Millis) -> Vec<Measure> {
    Account::load(home, session).map(|account| account.measures(home, now)).unwrap_or_default()
}

/// Returns all accounts, in no particular order.
pub fn accounts(home: &Home) -> Vec<(SessionId, Account)> {
    let entries = std::fs::read_dir(home.sessions()).into_iter().flatten().flatten();
    let accounts = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let session = SessionId::from_file_stem(name.strip_suffix(".limits")?)?;
        let account = Account::load(home, &session)?;
        Some((session, account))
    });
    accounts.collect()
}

/// Returns the session that was stopped last by a limit, also if its user lets this turn go on.
pub fn stopped_last(home: &Home) -> Option<SessionId> {
    let is_at_limit = |account: &Account| account.is_stopped || account.passes;
    let stopped = accounts(home).into_iter().filter(|(_, account)| is_at_limit(account)).map(|(session, _)| session);
    stopped.max_by_key(|session| files::modified(&home.session_file(session, "limits")))
}

/// Raises the limits of a session that are in the unit of `amount`. Returns them, as they are then; empty if there is none.
pub fn raise(home: &Home, session: &SessionId, amount: SpendLimit, now: Millis) -> Result<Vec<Measure>, Error> {
    let path = home.session_file(session, "limits");
    let deadline = Deadline::after(OPENED_FOR_COMMAND);
    let Some(mut open) = OpenAccount::open(&path, Some(deadline), false)? else { return Ok(Vec::new()) };
    let mut raised = Vec::new();
    for mut measure in open.account.measures(home, now) {
        if let Some(limit) = measure.raised_by(amount) {
            open.account.raised[measure.scope as usize] = limit;
            measure.limit = limit;
            raised.push(measure);
        }
    }
    if !raised.is_empty() {
        (open.account.is_stopped, open.account.has_left) = (false, false);
        open.account.told.near = 0;
    }
    open.save()?;
    Ok(raised)
}

#[cfg(test)]
mod tests;
