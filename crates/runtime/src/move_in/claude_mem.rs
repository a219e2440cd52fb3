//! claude-mem: prompts, observations and summaries of every session, and what it was told to leave out.

mod settings;
mod translate;

use std::collections::HashMap;

use longhaul_core::{Millis, SessionId};
use longhaul_store::{ClaudeMem, ForeignObservation, ForeignSession, MovedTurn};

use self::translate::{Translator, key, note};
use super::folders::Folders;
use super::{Move, Origin, Report, Sink, Step, Trouble, ours, register, theirs};
use crate::handoff::Project;
use crate::memory::is_excluded;

/// How many records are stored in one transaction: few commits, and no hook waits long for one.
const AT_ONCE: usize = 500;

/// Why a record is not brought once more.
const KNOWN: &str = "they came over before, or are known otherwise";

/// How a session is named in which somebody has saved a text by hand. There was no such session.
const BY_HAND: &str = "manual-";

pub(super) fn run(mover: &Move<'_>, report: &mut Report, tell: &mut dyn FnMut(Step)) -> Result<(), Trouble> {
    // What is added to the config counts for this very run.
    let config = settings::run(mover, report)?;
    let mover = &Move { config: &config, ..*mover };
    let Some(path) = mover.database(report, "claude-mem.db") else { return Ok(()) };
    let theirs_db = ClaudeMem::open(&path).map_err(theirs)?;
    tell(Step::Begins(Origin::ClaudeMem, theirs_db.observation_count().map_err(theirs)?));
    let mut store = mover.store()?;
    let mut house = House {
        mover,
        database: &theirs_db,
        sink: Sink::new(mover.mode, &mut store)?,
        folders: Folders::new(mover.env.client_dir.as_deref()),
        report,
        tell,
    };
    let done = house.sessions().and_then(|()| house.strays());
    tell(Step::Ends);
    done
}

/// A database that is being taken over.
struct House<'a, 'b> {
    mover: &'a Move<'a>,
    database: &'a ClaudeMem,
    sink: Sink<'b>,
    folders: Folders,
    report: &'a mut Report,
    tell: &'a mut dyn FnMut(Step),
}

impl House<'_, '_> {
    fn sessions(&mut self) -> Result<(), Trouble> {
        let sessions = self.database.sessions().map_err(theirs)?;
        // All of them first: one that is known tells where another of its project was.
        let mut projects: HashMap<String, Project> = HashMap::new();
        for session in &sessions {
            let Some(id) = id_of(session) else { continue };
            if let Some(project) = self.folders.of_session(self.sink.read(), &id, &session.project).map_err(ours)? {
                projects.insert(id.to_string(), project);
            }
        }
        for session in &sessions {
            match id_of(session) {
                Some(id) => {
                    let project = projects.remove(id.as_str());
                    self.session(session, &id, project)?;
                }
                None => {
                    let saved = self.database.observations(&session.sitting).map_err(theirs)?;
                    self.notes(saved)?;
                }
            }
        }
        Ok(())
    }

    fn session(&mut self, session: &ForeignSession, id: &SessionId, project: Option<Project>) -> Result<(), Trouble> {
        let observations = self.database.observations(&session.sitting).map_err(theirs)?;
        let count = observations.len();
        let project = self.project(project, &session.project, &observations);
        if let Some(why) = self.unwanted(&project) {
            self.report.leaves("sessions", 1, why);
            self.report.leaves("observations", count, why);
            (self.tell)(Step::Done(count));
            return Ok(());
        }
        let prompts = self.database.prompts(&session.sitting).map_err(theirs)?;
        let summaries = self.database.summaries(&session.sitting).map_err(theirs)?;
        let keys: Vec<String> = prompts
            .iter()
            .map(|one| key("p", one.id, one.at))
            .chain(observations.iter().map(|one| key("o", one.id, one.at)))
            .chain(summaries.iter().map(|one| key("s", one.id, one.at)))
            .collect();
        // A look costs less than putting everything into our words again.
        if self.has_all(&keys)? {
            self.report.leaves("records", keys.len(), KNOWN);
            (self.tell)(Step::Done(count));
            return Ok(());
        }
        let mut translator = Translator::new(self.mover, &project, session);
        let turns = translator.turns(prompts, observations, summaries);
        self.report.leaves("prompts", translator.private, "wholly private: nothing of their turns is kept");
        self.report.leaves("records", translator.empty, "they are empty, private, or of tools that are not remembered");
        if turns.is_empty() {
            self.report.leaves("sessions", 1, "nothing is in them");
            return Ok(());
        }
        let ended = turns.iter().flat_map(|turn| turn.calls.iter().map(|call| call.at)).max();
        self.store(session, id, &project, &turns, ended)
    }

    /// Returns whether all of some records have come over before; not where there are none.
    fn has_all(&mut self, keys: &[String]) -> Result<bool, Trouble> {
        for key in keys {
            if !self.sink.has(Origin::ClaudeMem, key)? {
                return Ok(false);
            }
        }
        Ok(!keys.is_empty())
    }

    /// Returns where a session belongs; where nobody knows, a project that has only a name.
    fn project(&mut self, known: Option<Project>, name: &str, observations: &[ForeignObservation]) -> Project {
        let files = || observations.iter().flat_map(|one| one.files_modified.iter().chain(&one.files_read)).take(200);
        known
            .or_else(|| self.folders.named(name))
            .or_else(|| files().find_map(|file| self.folders.of_file(file, name)))
            .unwrap_or_else(|| Project {
                name: name.to_owned(),
                key: format!("claude-mem:{name}"),
                path: String::new(),
            })
    }

    /// Returns why nothing of a project is to be remembered.
    fn unwanted(&self, project: &Project) -> Option<&'static str> {
        let memory = &self.mover.config.memory;
        match project.path.is_empty() {
            true if !memory.exclude.0.is_empty() => {
                Some("nobody knows their folder any more, and memory.exclude may mean it")
            }
            true => None,
            false => is_excluded(memory, self.mover.env, project.path.as_ref())
                .then_some("memory.exclude in the config leaves their folder out"),
        }
    }

    fn store(
        &mut self,
        session: &ForeignSession,
        id: &SessionId,
        project: &Project,
        turns: &[MovedTurn],
        ended: Option<Millis>,
    ) -> Result<(), Trouble> {
        let is_new = self.sink.session(id)?.is_none();
        if let Sink::Store(bulk) = &mut self.sink
            && is_new
        {
            let at = session.at.or(ended).unwrap_or(self.mover.env.now);
            register(bulk.plain(), id, project, at)?;
            let ended = session.completed.or(ended).unwrap_or(at);
            bulk.plain().complete_session(id.as_str(), "imported", ended).map_err(ours)?;
        }
        self.report.brings("sessions", usize::from(is_new));
        let mut prompt_number = 0;
        for piece in pieces(turns) {
            let calls: usize = piece.iter().map(|turn| turn.calls.len()).sum();
            match &mut self.sink {
                Sink::Store(bulk) => {
                    let moved =
                        bulk.move_in(Origin::ClaudeMem.name(), id.as_str(), piece, prompt_number).map_err(ours)?;
                    let moved = moved.unwrap_or_default();
                    prompt_number = moved.prompt_number;
                    self.count(moved.prompts, moved.observations, moved.summaries, moved.known);
                }
                Sink::Count(_) => self.look(piece)?,
            }
            (self.tell)(Step::Done(calls));
        }
        Ok(())
    }

    fn count(&mut self, prompts: usize, observations: usize, summaries: usize, known: usize) {
        for (what, count) in [("prompts", prompts), ("observations", observations), ("summaries", summaries)] {
            self.report.brings(what, count);
        }
        self.report.leaves("records", known, KNOWN);
    }

    /// Counts what would come over.
    fn look(&mut self, turns: &[MovedTurn]) -> Result<(), Trouble> {
        for turn in turns {
            let prompts = turn.prompt.iter().map(|prompt| (0, prompt.key.as_str()));
            let calls = turn.calls.iter().map(|call| (1, call.key.as_str()));
            let summaries = turn.summaries.iter().map(|summary| (2, summary.key.as_str()));
            let mut counts = [0; 4];
            for (what, key) in prompts.chain(calls).chain(summaries) {
                let what = if self.sink.has(Origin::ClaudeMem, key)? { 3 } else { what };
                counts[what] += 1;
            }
            self.count(counts[0], counts[1], counts[2], counts[3]);
        }
        Ok(())
    }

    /// Takes over what belongs to no session that ever was: what somebody saved by hand, and what lost its session.
    fn strays(&mut self) -> Result<(), Trouble> {
        let strays = self.database.strays().map_err(theirs)?;
        self.notes(strays)
    }

    fn notes(&mut self, observations: Vec<ForeignObservation>) -> Result<(), Trouble> {
        for one in observations {
            (self.tell)(Step::Done(1));
            let project = self.project(None, &one.project, std::slice::from_ref(&one));
            if let Some(why) = self.unwanted(&project) {
                self.report.leaves("notes", 1, why);
                continue;
            }
            let Some(note) = note(self.mover, &one) else {
                self.report.leaves("records", 1, "they are empty, private, or of tools that are not remembered");
                continue;
            };
            let is_known = match &mut self.sink {
                Sink::Store(bulk) => {
                    let name = Origin::ClaudeMem.name();
                    let moved = bulk.move_notes_in(name, &project.key, &project.name, &[note]).map_err(ours)?;
                    moved.known > 0
                }
                Sink::Count(_) => self.sink.has(Origin::ClaudeMem, &note.key)?,
            };
            self.report.brings("notes", usize::from(!is_known));
            self.report.leaves("records", usize::from(is_known), KNOWN);
        }
        Ok(())
    }
}

/// Returns the client's id of a session; none where there was no such session.
fn id_of(session: &ForeignSession) -> Option<SessionId> {
    SessionId::new(&session.id).filter(|_| !session.id.starts_with(BY_HAND))
}

/// Parts turns into as many as are stored in one transaction.
fn pieces(turns: &[MovedTurn]) -> impl Iterator<Item = &[MovedTurn]> {
    let mut rest = turns;
    std::iter::from_fn(move || {
        let mut weight = 0;
        let end = rest.iter().position(|turn| {
            let is_full = weight >= AT_ONCE;
            weight += 1 + turn.calls.len() + turn.summaries.len();
            is_full
        });
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}
