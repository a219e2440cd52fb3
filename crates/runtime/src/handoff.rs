//! What a session hands over to the next one: stored while it runs, shown when the next one starts; and the baton.

mod ingest;
mod inherit;
mod tail;

use std::path::Path;

use longhaul_core::event::predicates::{in_subagent, is_task_notification};
use longhaul_core::event::{
    Common, EndReason, HookEvent, PreCompact, SessionEnd, SessionStart, StartSource, Stop, UserPromptSubmit,
};
use longhaul_core::text::{CONTEXT_CHARS, tokens_of_chars};
use longhaul_core::{Env, Millis, Reply, SessionId};
use longhaul_handoff::{
    BATON_WRITTEN, BatonTrigger, LOADED_TURNS, Refusal, RenderInput, Rendered, TimedText, TurnView, allowance,
    baton_command, render_into,
};
use longhaul_store::{BOOKMARK, NewInjection, NewSession, Session, Store, Turn};

use crate::clock_and_env::{self, patient};
use crate::memory::keep_last_reply;
use crate::{Deadline, Error, Flow, Hook, git, waiting_times};

pub(crate) use self::ingest::resume;
pub use self::ingest::{Progress, catch_up};
pub use self::inherit::{Claim, Heir};
pub use self::tail::Unread;
pub(crate) use self::tail::unread_turns;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    pub name: String,
    /// The key that identifies the project: the git folder that all its worktrees share, or the path without git. A
    /// repository that the folder only claims to belong to does not count.
    pub key: String,
    /// Its folder.
    pub path: String,
}

impl Project {
    /// Returns the project in which a session was started. It stays the same when the working directory changes.
    pub fn of(env: &Env, cwd: Option<&Path>) -> Self {
        Self::in_dir(env.project_dir.as_deref().or(cwd).unwrap_or(Path::new("/")))
    }

    pub fn in_dir(dir: &Path) -> Self {
        let path = dir.to_string_lossy().into_owned();
        let name = dir.file_name().map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned());
        // Different paths to the same folder give the same key.
        let key = git::identity(dir).or_else(|| dir.canonicalize().ok());
        let key = key.map_or_else(|| path.clone(), |dir| dir.to_string_lossy().into_owned());
        Self { name, key, path }
    }

    /// Returns the row of a new session whose client and transcript are not known yet.
    pub fn session<'a>(&'a self, id: &'a SessionId, at: Millis) -> NewSession<'a> {
        NewSession {
            session: id.as_str(),
            project: &self.name,
            project_key: &self.key,
            project_path: &self.path,
            client_pid: 0,
            transcript: None,
            at,
        }
    }
}

/// Records the session of an event. Returns it as stored.
pub(crate) fn register(store: &Store, env: &Env, common: &Common) -> Result<Option<Session>, Error> {
    let transcript = common.transcript.as_ref().map(|path| path.to_string_lossy());
    // The session is nearly always known and unchanged. Checking that first saves a commit, which is slow.
    let is_known = |session: &Session| {
        (transcript.is_none() || session.transcript.as_deref() == transcript.as_deref())
            && env.client_pid.is_none_or(|pid| session.client_pid == pid)
    };
    if let Some(session) = store.session(common.session.as_str())?.filter(is_known) {
        return Ok(Some(session));
    }
    let project = Project::of(env, common.cwd.as_deref());
    store.register_session(&NewSession {
        client_pid: env.client_pid.unwrap_or_default(),
        transcript: transcript.as_deref(),
        ..project.session(&common.session, env.now)
    })?;
    Ok(store.session(common.session.as_str())?)
}

/// How a session is handed over, and to which one.
#[derive(Debug)]
pub struct Handover<'a> {
    /// The session that receives it. Turns that this session has already are left out.
    pub heir: Option<&'a str>,
    /// Turns that are not stored yet, newer than the stored ones.
    pub unread: Unread,
    /// The handoff that the heir was already shown. It is the end of the last reply.
    pub shown: Option<&'a str>,
    /// Maximum number of characters.
    pub room: usize,
}

impl Default for Handover<'_> {
    fn default() -> Self {
        Self { heir: None, unread: Unread::default(), shown: None, room: CONTEXT_CHARS }
    }
}

/// Renders what a session would hand over now.
pub fn render_session(
    store: &Store,
    env: &Env,
    session: &SessionId,
    handover: Handover<'_>,
    offset_seconds: i32,
) -> Result<Rendered, Error> {
    let (mut turns, older_turns) = store.turns(session.as_str(), handover.heir, LOADED_TURNS)?;
    let after_gap = go_on(&mut turns, handover.unread);
    let newest = after_gap.map(|count| joined(turns.split_off(turns.len().saturating_sub(count))));
    let after_gap = newest.as_ref().map(Vec::len);
    let mut turns = joined(turns);
    turns.extend(newest.unwrap_or_default());
    if let Some(turn) = turns.last_mut() {
        turn.replied = without_handoff(std::mem::take(&mut turn.replied), handover.shown);
    }
    let project = store.session(session.as_str())?.map(|session| session.project_path).unwrap_or_default();
    let changed = store.changed_files(session.as_str(), &project)?;
    let views: Vec<TurnView<'_>> = turns.iter().map(view).collect();
    let said = |turn: &Turn| tokens_of_chars((turn.asked.len() + turn.replied.len()) as u64);
    let mut context = RenderInput::new(session.as_str(), &views, env.now);
    context.reader = handover.heir.unwrap_or_default();
    context.changed_files = &changed;
    context.older_turns = older_turns;
    context.after_gap = after_gap;
    context.offset_seconds = offset_seconds;
    context.said_tokens = turns.iter().map(said).sum();
    context.transcript_tokens = turns.iter().map(|turn| tokens_of_chars(turn.bytes)).sum();
    Ok(render_into(&context, allowance(&context).min(handover.room)))
}

/// Returns the part of a reply before the handoff at its end.
fn without_handoff(reply: String, shown: Option<&str>) -> String {
    let Some((before, _)) = shown.filter(|shown| !shown.is_empty()).and_then(|shown| reply.split_once(shown)) else {
        return reply;
    };
    // The front matter of the handoff is removed as well.
    let begin = before.lines().position(|line| line.trim() == "---");
    before.lines().take(begin.unwrap_or(usize::MAX)).collect::<Vec<_>>().join("\n")
}

/// Appends turns that are not stored yet. The first of them may be a longer version of the last stored turn.
///
/// Returns how many of the turns follow a part of the transcript that was not read; `None` if no turn is missing.
fn go_on(turns: &mut Vec<Turn>, unread: Unread) -> Option<usize> {
    let Unread { turns: mut unread, mut has_gap } = unread;
    let is_same = |last: &Turn, first: &Turn| last.origin == first.origin && last.asked.trim() == first.asked.trim();
    if let (Some(last), Some(first)) = (turns.last_mut(), unread.first())
        && is_same(last, first)
    {
        if first.replied.contains(&last.replied) {
            last.replied.clone_from(&first.replied);
        } else if !last.replied.contains(&first.replied) {
            last.replied = format!("{}\n\n{}", last.replied, first.replied);
        }
        last.replied_at = last.replied_at.max(first.replied_at);
        last.has_detail |= first.has_detail;
        unread.remove(0);
        has_gap = false;
    }
    let after_gap = has_gap.then_some(unread.len());
    turns.extend(unread);
    after_gap
}

/// Joins what followed a bookmark to the turn in which it was set: a bookmark is not a request.
fn joined(turns: Vec<Turn>) -> Vec<Turn> {
    let mut joined: Vec<Turn> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        if turn.role != BOOKMARK {
            joined.push(turn);
            continue;
        }
        match joined.last_mut().filter(|last| last.origin == turn.origin) {
            Some(last) => {
                last.replied = format!("{}\n\n{}", last.replied, turn.replied).trim().to_owned();
                if !turn.replied.trim().is_empty() {
                    last.replied_at = turn.replied_at;
                    last.skeleton = format!("{}; {}", last.skeleton, turn.skeleton);
                }
                last.has_detail |= turn.has_detail;
                last.bytes += turn.bytes;
            }
            None => {
                turn.asked.clear();
                joined.push(turn);
            }
        }
    }
    joined
}

fn view(turn: &Turn) -> TurnView<'_> {
    let asked = TimedText::new(turn.at, &turn.asked);
    let replied = TimedText::new(turn.replied_at, &turn.replied);
    let mut view = TurnView::new(&turn.origin, asked, replied);
    view.role = &turn.role;
    view.skeleton = &turn.skeleton;
    view.has_detail = turn.has_detail;
    view
}

/// Maximum number of bytes read at SessionEnd, which has 1.5 s for all plugins together. The next start reads the rest.
const AT_END: u64 = 1024 * 1024;

/// Maximum number of bytes read by any other hook. A longer transcript is read in several steps.
const AT_ONCE: u64 = 64 * 1024 * 1024;

/// Shows a session what its predecessor handed over.
///
/// The claim is provisional until the first prompt, because Claude Code can start a session that is never used.
pub fn on_session_start(hook: &mut Hook<SessionStart>) -> Result<Flow, Error> {
    if !hook.config.handoff.enabled {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    if hook.event.source == StartSource::Compact || session.prompts > 0 || hook.done.awaits_window {
        return Ok(Flow::Next);
    }
    let cleared = hook.event.source == StartSource::Clear;
    if let Some((text, message)) = hook.inherit(&store, &session, cleared)? {
        hook.show(&text);
        hook.notify(&message);
        hook.done.inherited = store.session(&session.session)?.and_then(|session| session.inherits);
    }
    Ok(Flow::Next)
}

/// Writes a baton if the prompt is a command for that. The answer ends the turn without a request to the model.
pub fn on_baton_command(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let command = baton_command(&hook.event.prompt).filter(|_| hook.config.handoff.enabled);
    let Some(trigger) = command else { return Ok(Flow::Next) };
    let store = hook.store()?;
    if let Some(session) = register(&store, &hook.env, &hook.event.common)? {
        // What the session was shown belongs to it from now on and is handed over with it.
        hook.settle(&store, &session)?;
    }
    hook.write_baton(&store, trigger)?;
    match trigger {
        BatonTrigger::Tl => {
            hook.answer(Reply::end(BATON_WRITTEN));
            Ok(Flow::Done)
        }
        // Claude Code performs the `/clear`.
        BatonTrigger::Clear | BatonTrigger::SessionEnd | BatonTrigger::Continuation | BatonTrigger::Limit => {
            Ok(Flow::Next)
        }
    }
}

/// Counts the prompt. The first one makes an inheritance final.
pub fn on_prompt(hook: &mut Hook<UserPromptSubmit>) -> Result<Flow, Error> {
    let common = &hook.event.common;
    if !hook.keeps_turns() || in_subagent(common) || is_task_notification(&hook.event.prompt) {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, common)? else { return Ok(Flow::Next) };
    let prompt = hook.sanitizer().capped(&hook.event.prompt);
    let kept = Some(prompt.trim()).filter(|prompt| !prompt.is_empty() && !hook.is_private());
    let before = store.count_prompt(&session.session, kept)?;
    // Another bundle may have counted it first.
    let is_first = before == 0 || session.inherits.is_some();
    if !is_first || !hook.config.handoff.enabled {
        return Ok(Flow::Next);
    }
    if session.inherits.is_none() {
        // Another session of this client was shown the memory but never used, so this one is shown it now.
        if let Some((text, message)) = hook.inherit(&store, &session, hook.done.was_cleared)? {
            hook.show(&text);
            hook.notify(&message);
        }
    }
    if let Some(session) = store.session(&session.session)? {
        hook.settle(&store, &session)?;
    }
    Ok(Flow::Next)
}

/// Ingests the turn if a continuation may follow, which reads the stored turns.
pub fn before_continuation(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if hook.continues_by_itself() { on_turn_end(hook) } else { Ok(Flow::Next) }
}

/// Ingests the turn, unless [`before_continuation`] did.
pub fn without_continuation(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if hook.continues_by_itself() { Ok(Flow::Next) } else { on_turn_end(hook) }
}

/// Ingests the turn. Its last reply is usually not in the transcript yet.
pub fn on_turn_end(hook: &mut Hook<Stop>) -> Result<Flow, Error> {
    if !hook.keeps_turns() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    let read = hook.take_in(&store, &session, AT_ONCE);
    if read.as_ref().is_err_and(Error::is_busy) {
        // The next Stop reads everything. Waiting again would use up the time of the other jobs.
        return read.map(|_| Flow::Next);
    }
    if let Some(reply) = hook.event.last_assistant_message.as_deref().filter(|_| !hook.is_private()) {
        let prompt_id = hook.event.common.prompt_id.as_deref();
        keep_last_reply(&store, &session, prompt_id, reply, hook.sanitizer(), hook.env.now)?;
    }
    hook.complete_predecessors(&store, &session)?;
    match read {
        // A new session has no transcript yet.
        Err(error) if error.is_missing_file() => Ok(Flow::Next),
        read => read.map(|_| Flow::Next),
    }
}

/// Ingests the conversation before it is compacted.
pub fn on_compact(hook: &mut Hook<PreCompact>) -> Result<Flow, Error> {
    if hook.keeps_turns() {
        let store = hook.store()?;
        if let Some(session) = register(&store, &hook.env, &hook.event.common)? {
            hook.take_in_if_there(&store, &session, AT_ONCE)?;
        }
    }
    Ok(Flow::Next)
}

/// Leaves a baton after `/clear`, for which current versions of Claude Code send no prompt event.
pub fn on_session_end(hook: &mut Hook<SessionEnd>) -> Result<Flow, Error> {
    if !hook.keeps_turns() {
        return Ok(Flow::Next);
    }
    let store = hook.store()?;
    let Some(session) = register(&store, &hook.env, &hook.event.common)? else { return Ok(Flow::Next) };
    let hands_over = hook.config.handoff.enabled && hook.event.reason == EndReason::Clear;
    // First, if the session certainly has turns, because there may be no time for the rest.
    if hands_over && session.prompts > 0 {
        hook.write_baton(&store, BatonTrigger::SessionEnd)?;
    }
    store.complete_session(&session.session, hook.event.reason.as_str(), hook.env.now)?;
    let taken = hook.take_in_if_there(&store, &session, AT_END);
    // The hooks may have missed its prompts, as in a resumed session. A session without turns has nothing to hand over
    // and must not replace the baton of another one.
    if hands_over && session.prompts == 0 && store.has_turns(&session.session)? {
        hook.write_baton(&store, BatonTrigger::SessionEnd)?;
    }
    taken.map(|()| Flow::Next)
}

impl<E: HookEvent<'static>> Hook<E> {
    /// Returns whether turns are stored, for the handoff or for the memory.
    pub(crate) fn keeps_turns(&self) -> bool {
        (self.config.handoff.enabled || self.config.memory.enabled) && !self.is_excluded()
    }

    /// Writes a baton, unless only those that the user asks for are used.
    pub(crate) fn write_baton(&self, store: &Store, trigger: BatonTrigger) -> Result<(), Error> {
        if self.env.no_auto_handoff && !trigger.is_on_purpose() {
            return Ok(());
        }
        let common = self.event.common();
        let project = Project::of(&self.env, common.cwd.as_deref());
        let pid = self.env.client_pid.unwrap_or_default();
        Ok(store.write_baton(&project.path, pid, common.session.as_str(), trigger.as_str(), self.env.now)?)
    }

    /// Ingests the transcript if there is one. A session without a prompt has none.
    fn take_in_if_there(&self, store: &Store, session: &Session, most: u64) -> Result<(), Error> {
        match self.take_in(store, session, most) {
            Err(error) if error.is_missing_file() => Ok(()),
            read => read.map(drop),
        }
    }

    fn take_in(&self, store: &Store, session: &Session, most: u64) -> Result<Progress, Error> {
        self.take_in_until(self.deadline, store, session, most)
    }

    fn take_in_until(
        &self,
        deadline: Deadline,
        store: &Store,
        session: &Session,
        most: u64,
    ) -> Result<Progress, Error> {
        let progress = catch_up(store, session, &self.config, self.env.now, most, Some(deadline))?;
        if progress.passed_over > 0 {
            let (id, length) = (&session.session, progress.passed_over);
            self.log.write(&format!("session {id}: skipped a line of {length} bytes in its transcript"));
        }
        Ok(progress)
    }

    /// Ingests the rest of the predecessors' transcripts, which was too much at the start.
    fn complete_predecessors(&self, store: &Store, session: &Session) -> Result<(), Error> {
        for predecessor in store.merged_sessions(&session.project_key)? {
            let path = predecessor.transcript.as_deref().unwrap_or_default();
            if !std::fs::metadata(path).is_ok_and(|file| file.len() > predecessor.cursor.offset) {
                continue;
            }
            let time = patient(waiting_times::TRANSCRIPTS_OF_PREDECESSORS)
                .min(self.deadline.left().saturating_sub(waiting_times::JOBS_AFTER_PREDECESSORS));
            match self.take_in_until(Deadline::after(time), store, &predecessor, AT_ONCE) {
                Ok(progress) if !progress.is_whole => break,
                // An unreadable transcript was reported at the handover.
                Ok(_) | Err(Error::Read { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ingests the transcript of a session of this client whose prompts no hook has seen.
    ///
    /// SessionEnd does that too, but it may not have run, or not have had the time. Without it, the turns would not be
    /// known.
    fn take_in_unprompted(&self, store: &Store, heir: &Session) -> Result<(), Error> {
        let sessions = store.sessions_of(&heir.project_key)?;
        let is_cleared = |other: &&Session| {
            other.session != heir.session
                && other.client_pid == heir.client_pid
                && other.prompts == 0
                && other.merged_into.is_none()
                && other.cursor.offset == 0
        };
        match sessions.iter().find(is_cleared) {
            Some(cleared) => self.take_in_if_there(store, cleared, AT_END),
            None => Ok(()),
        }
    }

    /// Ingests the rest of a predecessor's transcript. If that is too much at once, or cannot be stored now, returns the
    /// turns at its end: what is newest is shown in any case.
    fn complete(&self, store: &Store, predecessor: &SessionId, heir: &Session) -> Result<Unread, Error> {
        let id = predecessor.as_str();
        let Some(session) = store.session(id)? else { return Ok(Unread::default()) };
        if self.or_log(&session, self.take_in(store, &session, AT_ONCE)).is_whole {
            return Ok(Unread::default());
        }
        let session = store.session(id)?.unwrap_or(session);
        unread_turns(store, &session, &heir.session, &self.config)
    }

    /// Returns the value of `result`. An error is logged, because the turns that are already stored are still worth
    /// showing.
    fn or_log<T: Default>(&self, session: &Session, result: Result<T, Error>) -> T {
        result.unwrap_or_else(|error| {
            if !error.is_missing_file() {
                self.log.write(&format!("session {}: {}", session.session, error.chain()));
            }
            T::default()
        })
    }

    /// Claims a predecessor. Returns the text for the session and the message for the user.
    fn inherit(&self, store: &Store, session: &Session, cleared: bool) -> Result<Option<(String, String)>, Error> {
        let heir = Heir { session, env: &self.env };
        if cleared {
            self.or_log(session, self.take_in_unprompted(store, session));
        }
        let Some(claim) = heir.claim(store, cleared)? else { return Ok(None) };
        // A fork already has the turns of its origin.
        self.or_log(session, self.take_in_if_there(store, session, AT_ONCE));
        let unread = self.or_log(session, self.complete(store, &claim.session, session));
        let (shown, room) = (self.done.handed_over.as_deref(), self.room());
        let handover = Handover { heir: Some(&session.session), unread, shown, room };
        let offset = clock_and_env::utc_offset_seconds(self.env.now);
        let rendered = render_session(store, &self.env, &claim.session, handover, offset)?;
        if rendered.text.is_empty() {
            heir.note(store, "refused", Some(claim.session.as_str()), "nothing_to_say")?;
            return Ok(None);
        }
        self.write_down(store, session, &claim, rendered).map(Some)
    }

    /// Logs what the session is shown. Returns that, and the message for the user.
    fn write_down(
        &self,
        store: &Store,
        session: &Session,
        claim: &Claim,
        rendered: Rendered,
    ) -> Result<(String, String), Error> {
        let turns = rendered.quoted + rendered.in_a_line;
        store.log_injection(
            &NewInjection {
                session: &session.session,
                event: "injected",
                predecessor: Some(claim.session.as_str()),
                reason: Some(claim.by()),
                turns,
                chars: rendered.chars,
                tokens_saved: rendered.tokens_saved,
            },
            self.env.now,
        )?;
        let message = format!("longhaul: {}", rendered.notice(claim.session.as_str()));
        Ok((rendered.text, message))
    }

    /// Makes an inheritance final: from now on, the predecessor's turns belong to the session.
    fn settle(&self, store: &Store, session: &Session) -> Result<(), Error> {
        let Some(wanted) = session.inherits.as_deref() else { return Ok(()) };
        let heir = Heir { session, env: &self.env };
        let refusal = match heir.judge(store, wanted)? {
            Ok(from) if from.as_str() == wanted && store.merge(wanted, &session.session)? => {
                return heir.note(store, "merged", Some(wanted), "first_prompt");
            }
            // Another heir has submitted its first prompt earlier.
            Ok(_) => Refusal::AlreadyMerged,
            Err(refusal) => refusal,
        };
        store.set_heir(&session.session, None)?;
        heir.note(store, "refused", Some(wanted), refusal.as_str())
    }
}
