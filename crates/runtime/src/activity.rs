//! The activity log of a session on disk, and which events are written to it: one line for each, before the jobs that read
//! it run.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Duration;

use fs2::FileExt as _;
use longhaul_activity_log::limits::agent_mark;
use longhaul_activity_log::{
    BookmarkVerdict, LogLine, MAX_TAIL, Metrics, TailStart, bookmarks_since_prompt, chars_of_json, covers_window,
    may_be_of_newest_turn, measure,
};
use longhaul_core::config::Loops;
use longhaul_core::event::predicates::{in_subagent, is_compaction};
use longhaul_core::event::{HookEvent, PostToolUse, PreCompact, SessionStart, StartSource, Stop, SubagentStop};
use longhaul_core::{Config, Millis, SessionId, Status};

use crate::{Error, Flow, Home, Hook, SessionRecord, bounded_read, files};

/// How long to wait for a line of the activity log without a newline, until it is complete.
const LOG_LINE_COMPLETE: Duration = Duration::from_millis(3);

/// Number of bytes read from the end of a log at first. They nearly always contain the whole window.
const FIRST_TAIL: usize = 4 * 1024;

/// The permission to type: the length of the log when the injection was recorded.
///
/// Every line after that position was appended later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket(pub u64);

#[derive(Debug)]
pub struct ActivityLog {
    file: File,
    path: PathBuf,
}

impl ActivityLog {
    /// Opens the log of a session. Creates it if it is missing.
    pub fn open(home: &Home, session: &SessionId) -> Result<Self, Error> {
        let path = home.session_file(session, "log");
        Ok(Self { file: files::open_append(&path)?, path })
    }

    /// Returns the number of bookmarks of a session since its last prompt; 0 if it has no log.
    pub fn bookmarks_since_prompt(home: &Home, session: &SessionId) -> u64 {
        let Ok(file) = bounded_read::open(&home.session_file(session, "log")) else { return 0 };
        let Ok((tail, whole)) = files::tail(&file, MAX_TAIL) else { return 0 };
        bookmarks_since_prompt(&tail, if whole { TailStart::LogStart } else { TailStart::Midway })
    }

    /// Returns whether an event with `prompt_id` may belong to the newest turn.
    pub(crate) fn may_be_of_newest_turn(&self, prompt_id: Option<&str>) -> Result<bool, Error> {
        let Some(prompt_id) = prompt_id else { return Ok(true) };
        let (tail, whole) = self.tail(MAX_TAIL)?;
        let start = if whole { TailStart::LogStart } else { TailStart::Midway };
        Ok(may_be_of_newest_turn(&tail, start, prompt_id))
    }

    /// Appends lines in one write, so that lines of concurrent hooks are neither lost nor mixed.
    pub fn append(&self, lines: &[LogLine]) -> Result<(), Error> {
        self.write(lines, self.is_torn())
    }

    /// Appends a line. Returns the metrics before and after it, from a single read of the log.
    pub fn append_and_measure(&self, line: LogLine) -> Result<(Metrics, Metrics), Error> {
        let (before, tail, reach) = self.append_to_window(line)?;
        Ok((before, measure(&tail, reach)))
    }

    /// Appends a line. Returns the end of the log with it.
    pub(crate) fn append_and_read(&self, line: LogLine) -> Result<(Vec<u8>, TailStart), Error> {
        self.append_to_window(line).map(|(_, tail, reach)| (tail, reach))
    }

    fn append_to_window(&self, line: LogLine) -> Result<(Metrics, Vec<u8>, TailStart), Error> {
        let (mut tail, reach) = self.window()?;
        let before = measure(&tail, reach);
        let is_torn = tail.last().is_some_and(|byte| *byte != b'\n') && self.is_torn();
        self.write(&[line], is_torn)?;
        let newline = if is_torn { "\n" } else { "" };
        tail.extend(format!("{newline}{line}\n").bytes());
        Ok((before, tail, reach))
    }

    fn write(&self, lines: &[LogLine], is_torn: bool) -> Result<(), Error> {
        let mut text = String::with_capacity(64);
        if is_torn {
            text.push('\n');
        }
        for line in lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        (&self.file).write_all(text.as_bytes()).map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    /// Returns whether the last line is incomplete because of a full disk or a crash.
    ///
    /// The line of another hook can be half visible for a moment while it is being written, so the end is checked
    /// twice.
    fn is_torn(&self) -> bool {
        let Some(length) = self.length_if_torn() else { return false };
        std::thread::sleep(LOG_LINE_COMPLETE);
        self.length_if_torn() == Some(length)
    }

    fn length_if_torn(&self) -> Option<u64> {
        let length = self.file.metadata().map_or(0, |metadata| metadata.len());
        let mut last = [b'\n'];
        let read = self.file.read_at(&mut last, length.checked_sub(1)?);
        (read.is_ok_and(|read| read == 1) && last != [b'\n']).then_some(length)
    }

    /// Measures the window at the end of the log.
    pub fn metrics(&self) -> Result<Metrics, Error> {
        let (tail, reach) = self.window()?;
        Ok(measure(&tail, reach))
    }

    /// Reads the end of the log, as far back as the window reaches.
    fn window(&self) -> Result<(Vec<u8>, TailStart), Error> {
        let mut most = FIRST_TAIL;
        loop {
            let (tail, whole) = self.tail(most)?;
            let reach = if whole { TailStart::LogStart } else { TailStart::Midway };
            if most >= MAX_TAIL || covers_window(&tail, reach) {
                return Ok((tail, reach));
            }
            most = MAX_TAIL;
        }
    }

    fn tail(&self, most: usize) -> Result<(Vec<u8>, bool), Error> {
        files::tail(&self.file, most).map_err(|source| Error::Read { path: self.path.clone(), source })
    }

    /// Appends an injection if `decide`, called again while the log is locked, still allows it.
    ///
    /// Of several concurrent hooks exactly one gets the ticket: the others see its line.
    pub fn claim(
        &self,
        now: Millis,
        decide: impl Fn(&Metrics) -> BookmarkVerdict,
    ) -> Result<Result<Ticket, BookmarkVerdict>, Error> {
        let lock = |source| Error::Write { path: self.path.clone(), source };
        self.file.lock_exclusive().map_err(lock)?;
        let claimed = self.claim_locked(now, decide);
        fs2::FileExt::unlock(&self.file).map_err(lock)?;
        claimed
    }

    fn claim_locked(
        &self,
        now: Millis,
        decide: impl Fn(&Metrics) -> BookmarkVerdict,
    ) -> Result<Result<Ticket, BookmarkVerdict>, Error> {
        let verdict = decide(&self.metrics()?);
        if let BookmarkVerdict::Skip(_) = verdict {
            return Ok(Err(verdict));
        }
        self.append(&[LogLine::Injection { at: now }])?;
        Ok(Ok(self.ticket()?))
    }

    /// Returns a ticket for the current end of the log.
    pub fn ticket(&self) -> Result<Ticket, Error> {
        let length = self.file.metadata().map(|metadata| metadata.len());
        length.map(Ticket).map_err(|source| Error::Read { path: self.path.clone(), source })
    }

    /// Returns the lines that were appended after `ticket`.
    pub fn since(&self, ticket: Ticket) -> Result<Vec<LogLine>, Error> {
        let length = self.ticket()?.0;
        let new = length.saturating_sub(ticket.0).min(MAX_TAIL as u64) as usize;
        let (tail, _) = self.tail(new)?;
        Ok(tail.split(|byte| *byte == b'\n').filter_map(LogLine::parse).collect())
    }
}

// What is written at which event.

/// Records where the session runs, and starts its log.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.wants_activity() {
        return Ok(Flow::Next);
    }
    SessionRecord::of(hook).save(&hook.home, &hook.event.common.session)?;
    // A compaction happens inside a turn, which continues.
    if hook.event.source != StartSource::Compact {
        hook.activity()?.append(&[LogLine::Status { at: hook.env.now, status: Status::Idle }])?;
    }
    Ok(Flow::Next)
}

/// Counts a tool call of the main loop, and notices that it is one of many that are the same. A call of a subagent is only
/// compared.
pub fn on_tool_use(hook: &mut Hook<PostToolUse<'static>>) -> Result<Flow, Error> {
    if !hook.wants_activity() {
        return Ok(Flow::Next);
    }
    let (event, at, log) = (&hook.event, hook.env.now, hook.activity()?);
    let mark = hook.mark(&event.tool_name, event.tool_input, event.tool_response, event.duration_ms);
    let is_subagent = in_subagent(&event.common);
    if is_subagent && mark.is_none() {
        hook.before = log.metrics()?;
        return Ok(Flow::Next);
    }
    let line = match is_subagent {
        true => LogLine::Call { at, agent: agent_mark(event.common.agent_id.as_deref()), mark },
        false => LogLine::Tool { at, chars: event.tool_response.map_or(0, chars_of_json), mark },
    };
    let (before, tail, reach) = log.append_to_window(line)?;
    hook.before = before;
    if !is_subagent {
        hook.after = measure(&tail, reach);
    }
    if mark.is_some() {
        let tool = hook.event.tool_name.clone();
        hook.note_repetition(&tail, reach, &tool);
    }
    Ok(Flow::Next)
}

pub fn on_agent_return(hook: &mut Hook<SubagentStop>) -> Result<Flow, Error> {
    if !hook.wants_activity() || is_compaction(&hook.event.common) {
        return Ok(Flow::Next);
    }
    let chars = hook.event.last_assistant_message.as_ref().map_or(0, |message| message.chars().count() as u64);
    let log = hook.activity()?;
    (hook.before, hook.after) = log.append_and_measure(LogLine::Agent { at: hook.env.now, chars })?;
    Ok(Flow::Next)
}

pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if hook.wants_activity() && !in_subagent(&hook.event.common) {
        let line = LogLine::Status { at: hook.env.now, status: Status::Completed };
        (hook.before, hook.after) = hook.activity()?.append_and_measure(line)?;
    }
    Ok(Flow::Next)
}

/// Restarts the count, because there is nothing to rewind to after a compaction.
pub fn on_compact(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if hook.wants_activity() {
        let at = hook.env.now;
        hook.activity()?.append(&[LogLine::Compaction { at }, LogLine::Bookmark { at }])?;
    }
    Ok(Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether a job that is switched on needs the activity log.
    pub(crate) fn wants_activity(&self) -> bool {
        let Config { bookmarks, guard, tracker, continuation, limits, .. } = &self.config;
        bookmarks.is_on() || guard.is_on() || tracker.enabled || continuation.at.is_on || limits.loops != Loops::Off
    }

    pub(crate) fn activity(&self) -> Result<ActivityLog, Error> {
        ActivityLog::open(&self.home, &self.event.common().session)
    }
}
