//! claude-mem: prompts, observations and summaries of all sessions, the folder of each project, and its settings for
//! exclusion. A session is imported in pieces, because it may not fit into memory as a whole.

mod translate;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use longhaul_core::{Config, Millis, SessionId, json_text};
use longhaul_memory::Summary;
use longhaul_runtime::handoff::Project;
use longhaul_runtime::memory::is_excluded;
use longhaul_runtime::{Error, bounded_read};
use longhaul_store::{ClaudeMem, ForeignHead, ForeignRecords, ForeignSession, Moved, MovedCall, MovedTurn};
use serde_json::{Value, json};

use self::translate::{TranslatedPrompt, Translator, key, note};
use super::{Folders, Move, Origin, Report, Sink, Step, TheirSetting, Trouble, bring_settings, ours, register, theirs};

/// Maximum number of files that are checked to find the project of a session.
const FILES: usize = 200;

/// Why a record is not imported.
const EMPTY: &str = "they are empty, private, or of tools that are not remembered";

/// Why a record is not imported again.
const KNOWN: &str = "they were imported before, or are known already";

/// The prefix of session ids for texts that the user saved by hand. There was no such session.
const BY_HAND: &str = "manual-";

pub(super) fn run(mover: &Move<'_>, report: &mut Report, progress: &mut dyn FnMut(Step)) -> Result<(), Trouble> {
    // The imported settings apply to this run.
    let config = import_settings(mover, report)?;
    let mover = &Move { config: &config, ..*mover };
    let Some(path) = mover.database(report, "claude-mem.db") else { return Ok(()) };
    let theirs_db = ClaudeMem::open(&path).map_err(theirs)?;
    progress(Step::Begins(Origin::ClaudeMem, theirs_db.observation_count().map_err(theirs)?));
    let mut store = mover.store()?;
    let mut house = House {
        mover,
        database: &theirs_db,
        sink: Sink::new(mover.mode, &mut store)?,
        folders: Folders::new(mover.env.client_dir.as_deref()),
        report,
        progress,
    };
    let done = house.sessions().and_then(|()| house.strays());
    progress(Step::Ends);
    done
}

/// A session's records by the number of their prompt.
type Groups = BTreeMap<i64, ForeignRecords>;

/// An import from one database.
struct House<'a, 'b> {
    mover: &'a Move<'a>,
    database: &'a ClaudeMem,
    sink: Sink<'b>,
    folders: Folders,
    report: &'a mut Report,
    progress: &'a mut dyn FnMut(Step),
}

impl House<'_, '_> {
    fn sessions(&mut self) -> Result<(), Trouble> {
        let sessions = self.database.sessions().map_err(theirs)?;
        // All of them first, because a known session shows the folder of others with the same project name.
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
                    let saved = self.database.records(&session.sitting).map_err(theirs)?;
                    self.notes(&saved.observations)?;
                }
            }
        }
        Ok(())
    }

    fn session(&mut self, session: &ForeignSession, id: &SessionId, project: Option<Project>) -> Result<(), Trouble> {
        let records = self.database.records(&session.sitting).map_err(theirs)?;
        let count = records.observations.len();
        let project = self.project(project, &session.project, &records.observations)?;
        if let Some(why) = self.unwanted(&project) {
            self.report.leaves("sessions", 1, why);
            self.report.leaves("observations", count, why);
            (self.progress)(Step::Done(count));
            return Ok(());
        }
        let keys: Vec<String> = [("p", &records.prompts), ("o", &records.observations), ("s", &records.summaries)]
            .into_iter()
            .flat_map(|(what, heads)| heads.iter().map(move |head| key(what, head)))
            .collect();
        // This check costs less than translating everything again.
        if self.has_all(&keys)? {
            self.report.leaves("records", keys.len(), KNOWN);
            (self.progress)(Step::Done(count));
            return Ok(());
        }
        let translator = Translator::new(self.mover, &project, session);
        let ended = records.observations.iter().map(|head| head.at.unwrap_or(translator.began)).max();
        let mut arrival = Arrival::new(session, id, &project, ended);
        let numbered = self.numbered(&translator, &records)?;
        for group in numbered.values() {
            self.group(&translator, group, &mut arrival)?;
        }
        self.flush(&mut arrival)?;
        if !arrival.is_begun {
            self.report.leaves("sessions", 1, "they are empty");
        }
        Ok(())
    }

    /// Groups records by prompt: the prompt, its observations, its summaries.
    fn numbered(&mut self, translator: &Translator<'_>, records: &ForeignRecords) -> Result<Groups, Trouble> {
        let mut groups = Groups::new();
        let mut private = BTreeSet::new();
        let began = |head: &ForeignHead| head.at.unwrap_or(translator.began);
        // The prompt that was running at a time, for a record without a prompt number.
        let number = |head: &ForeignHead| {
            let running = |at: Millis| {
                let before = records.prompts.iter().filter(|prompt| began(prompt) <= at);
                before.max_by_key(|prompt| began(prompt)).map(|prompt| prompt.number.unwrap_or_default())
            };
            head.number.or_else(|| running(head.at?)).unwrap_or_default()
        };
        for head in &records.prompts {
            let number = head.number.unwrap_or_default();
            let text = self.database.prompt(head).map_err(theirs)?.unwrap_or_default();
            match translator.prompt(&text) {
                TranslatedPrompt::Kept(_) => groups.entry(number).or_default().prompts.push(*head),
                TranslatedPrompt::Empty => self.report.leaves("records", 1, EMPTY),
                TranslatedPrompt::Private => {
                    private.insert(number);
                    self.report.leaves("prompts", 1, "wholly private: nothing of their turns is stored");
                }
            }
        }
        for head in &records.observations {
            match Some(number(head)).filter(|number| !private.contains(number)) {
                Some(number) => groups.entry(number).or_default().observations.push(*head),
                None => self.report.leaves("records", 1, EMPTY),
            }
        }
        for head in &records.summaries {
            match Some(number(head)).filter(|number| !private.contains(number)) {
                Some(number) => groups.entry(number).or_default().summaries.push(*head),
                None => self.report.leaves("records", 1, EMPTY),
            }
        }
        Ok(groups)
    }

    /// Reads the texts of one group, and stores them whenever a piece is full.
    fn group(
        &mut self,
        translator: &Translator<'_>,
        group: &ForeignRecords,
        arrival: &mut Arrival<'_>,
    ) -> Result<(), Trouble> {
        // Without a prompt, the group continues the previous prompt in a turn of its own.
        arrival.turns.push(MovedTurn::default());
        for head in &group.prompts {
            let text = self.database.prompt(head).map_err(theirs)?.unwrap_or_default();
            if let TranslatedPrompt::Kept(what) = translator.prompt(&text) {
                arrival.prompt(Moved { key: key("p", head), at: head.at.unwrap_or(translator.began), what });
                self.flush_if_full(arrival)?;
            }
        }
        for head in &group.observations {
            let observation = self.database.observation(head).map_err(theirs)?;
            match observation.and_then(|observation| translator.call(observation)) {
                Some(what) => {
                    arrival.call(Moved { key: key("o", head), at: head.at.unwrap_or(translator.began), what });
                    self.flush_if_full(arrival)?;
                }
                None => self.report.leaves("records", 1, EMPTY),
            }
        }
        for head in &group.summaries {
            let summary = self.database.summary(head).map_err(theirs)?;
            match summary.and_then(|summary| translator.summary(summary)) {
                Some(what) => {
                    arrival.summary(Moved { key: key("s", head), at: head.at.unwrap_or(translator.began), what });
                    self.flush_if_full(arrival)?;
                }
                None => self.report.leaves("records", 1, EMPTY),
            }
        }
        Ok(())
    }

    fn flush_if_full(&mut self, arrival: &mut Arrival<'_>) -> Result<(), Trouble> {
        if arrival.is_full() { self.flush(arrival) } else { Ok(()) }
    }

    /// Stores the records of a session that were read so far.
    fn flush(&mut self, arrival: &mut Arrival<'_>) -> Result<(), Trouble> {
        let turns = arrival.take();
        if turns.is_empty() {
            return Ok(());
        }
        if !std::mem::replace(&mut arrival.is_begun, true) {
            self.begin(arrival)?;
        }
        let calls: usize = turns.iter().map(|turn| turn.calls.len()).sum();
        match &mut self.sink {
            Sink::Store(bulk) => {
                let (name, id) = (Origin::ClaudeMem.as_str(), arrival.id.as_str());
                let moved = bulk.move_in(name, id, &turns, arrival.prompt_number).map_err(ours)?.unwrap_or_default();
                arrival.prompt_number = moved.prompt_number;
                self.count(moved.prompts, moved.observations, moved.summaries, moved.known);
            }
            Sink::Count(_) => self.look(&turns)?,
        }
        (self.progress)(Step::Done(calls));
        Ok(())
    }

    /// Adds the session if it is not known.
    fn begin(&mut self, arrival: &Arrival<'_>) -> Result<(), Trouble> {
        let is_new = self.sink.session(arrival.id)?.is_none();
        if let Sink::Store(bulk) = &mut self.sink
            && is_new
        {
            let at = arrival.session.at.or(arrival.ended).unwrap_or(self.mover.env.now);
            register(bulk.plain(), arrival.id, arrival.project, at)?;
            let ended = arrival.session.completed.or(arrival.ended).unwrap_or(at);
            bulk.plain().complete_session(arrival.id.as_str(), "imported", ended).map_err(ours)?;
        }
        self.report.brings("sessions", usize::from(is_new));
        Ok(())
    }

    /// Returns whether all records were imported before; `false` if there are none.
    fn has_all(&mut self, keys: &[String]) -> Result<bool, Trouble> {
        for key in keys {
            if !self.sink.has(Origin::ClaudeMem, key)? {
                return Ok(false);
            }
        }
        Ok(!keys.is_empty())
    }

    /// Returns the project of a session. If its folder is not known, the project has only a name.
    fn project(
        &mut self,
        known: Option<Project>,
        name: &str,
        observations: &[ForeignHead],
    ) -> Result<Project, Trouble> {
        if let Some(project) = known.or_else(|| self.folders.named(name)) {
            return Ok(project);
        }
        let mut left = FILES;
        for head in observations.iter().take(FILES) {
            let Some(observation) = self.database.observation(head).map_err(theirs)? else { continue };
            let mut files =
                observation.files_modified.iter().chain(&observation.files_read).take(left).inspect(|_| left -= 1);
            if let Some(project) = files.find_map(|file| self.folders.of_file(file, name)) {
                return Ok(project);
            }
            if left == 0 {
                break;
            }
        }
        Ok(Project { name: name.to_owned(), key: format!("claude-mem:{name}"), path: String::new() })
    }

    /// Returns why a project may not be remembered; `None` if it may.
    fn unwanted(&self, project: &Project) -> Option<&'static str> {
        let memory = &self.mover.config.memory;
        match project.path.is_empty() {
            true if !memory.exclude.0.is_empty() => {
                Some("their folder is no longer known, and memory.exclude may contain it")
            }
            true => None,
            false => is_excluded(memory, self.mover.env, project.path.as_ref())
                .then_some("memory.exclude in the config excludes their folder"),
        }
    }

    fn count(&mut self, prompts: usize, observations: usize, summaries: usize, known: usize) {
        for (what, count) in [("prompts", prompts), ("observations", observations), ("summaries", summaries)] {
            self.report.brings(what, count);
        }
        self.report.leaves("records", known, KNOWN);
    }

    /// Counts what would be imported.
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

    /// Imports records of no real session: texts that the user saved by hand, and records whose session is missing.
    fn strays(&mut self) -> Result<(), Trouble> {
        let strays = self.database.strays().map_err(theirs)?;
        self.notes(&strays)
    }

    fn notes(&mut self, observations: &[ForeignHead]) -> Result<(), Trouble> {
        for head in observations {
            (self.progress)(Step::Done(1));
            let Some(observation) = self.database.observation(head).map_err(theirs)? else { continue };
            let project = self.project(None, &observation.project, std::slice::from_ref(head))?;
            if let Some(why) = self.unwanted(&project) {
                self.report.leaves("notes", 1, why);
                continue;
            }
            let Some(note) = note(self.mover, head, observation) else {
                self.report.leaves("records", 1, EMPTY);
                continue;
            };
            let is_known = match &mut self.sink {
                Sink::Store(bulk) => {
                    let name = Origin::ClaudeMem.as_str();
                    !bulk.move_note_in(name, &project.key, &project.name, &note).map_err(ours)?
                }
                Sink::Count(_) => self.sink.has(Origin::ClaudeMem, &note.key)?,
            };
            self.report.brings("notes", usize::from(!is_known));
            self.report.leaves("records", usize::from(is_known), KNOWN);
        }
        Ok(())
    }
}

/// Returns the id of a session; `None` if there was no such session.
fn id_of(session: &ForeignSession) -> Option<SessionId> {
    SessionId::new(&session.id).filter(|_| !session.id.starts_with(BY_HAND))
}

/// Maximum number of records per transaction: large enough for few commits, small enough that no hook waits long.
const RECORDS_AT_ONCE: usize = 500;

/// Maximum number of bytes of text per transaction.
const BYTES_AT_ONCE: usize = 4 << 20;

/// A session, and the part of it that was read but is not stored yet.
struct Arrival<'a> {
    session: &'a ForeignSession,
    id: &'a SessionId,
    project: &'a Project,
    /// Time of the last observation.
    ended: Option<Millis>,
    /// Whether a part of it is stored.
    is_begun: bool,
    /// Number of the last stored prompt.
    prompt_number: i64,
    turns: Vec<MovedTurn>,
    records: usize,
    bytes: usize,
}

impl<'a> Arrival<'a> {
    fn new(session: &'a ForeignSession, id: &'a SessionId, project: &'a Project, ended: Option<Millis>) -> Self {
        let (turns, is_begun) = (Vec::new(), false);
        Self { session, id, project, ended, is_begun, prompt_number: 0, turns, records: 0, bytes: 0 }
    }

    /// Adds a prompt, which starts a turn.
    fn prompt(&mut self, prompt: Moved<String>) {
        self.weigh(prompt.what.len());
        self.turns.push(MovedTurn { prompt: Some(prompt), ..MovedTurn::default() });
    }

    /// Adds an observation to the newest turn.
    fn call(&mut self, call: Moved<MovedCall>) {
        let MovedCall { observation, input, response } = &call.what;
        let lists = [&observation.facts, &observation.files_read, &observation.files_modified];
        let listed: usize = lists.into_iter().flatten().map(String::len).sum();
        self.weigh(input.len() + response.len() + observation.narrative.len() + listed);
        self.newest().calls.push(call);
    }

    /// Adds a summary to the newest turn.
    fn summary(&mut self, summary: Moved<Summary>) {
        self.weigh(0);
        self.newest().summaries.push(summary);
    }

    /// Returns whether the piece is large enough to be stored.
    fn is_full(&self) -> bool {
        self.records >= RECORDS_AT_ONCE || self.bytes >= BYTES_AT_ONCE
    }

    /// Takes the turns to store. None of them is empty.
    fn take(&mut self) -> Vec<MovedTurn> {
        (self.records, self.bytes) = (0, 0);
        let mut turns = std::mem::take(&mut self.turns);
        turns.retain(|turn| turn.prompt.is_some() || !turn.calls.is_empty() || !turn.summaries.is_empty());
        turns
    }

    fn weigh(&mut self, bytes: usize) {
        self.records += 1;
        self.bytes += bytes;
    }

    /// Returns the turn that a record belongs to. After a piece was stored, it is a new one that continues the last.
    fn newest(&mut self) -> &mut MovedTurn {
        if self.turns.is_empty() {
            self.turns.push(MovedTurn::default());
        }
        self.turns.last_mut().expect("there is one")
    }
}

/// Their keys, each a list separated by commas, and ours.
const KEYS: [(&str, &str); 2] =
    [("CLAUDE_MEM_SKIP_TOOLS", "memory.skip_tools"), ("CLAUDE_MEM_EXCLUDED_PROJECTS", "memory.exclude")];

/// Their default for skipped tools, which is also ours.
const USUAL_TOOLS: &str = "ListMcpResourcesTool,SlashCommand,Skill,TodoWrite,AskUserQuestion";

fn import_settings(mover: &Move<'_>, report: &mut Report) -> Result<Config, Trouble> {
    let path = report.place.join("settings.json");
    let text = match bounded_read::text(&path, bounded_read::LARGE) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(mover.config.clone()),
        Err(source) => return Err(theirs(Error::Read { path, source })),
    };
    let Ok(settings) = json_text::from_file::<Value>(text.as_bytes()) else {
        report.leaves("settings files", 1, "settings.json is not JSON");
        return Ok(mover.config.clone());
    };
    // Some versions have them below `env`.
    let get = |key: &str| settings.get(key).or_else(|| settings.get("env")?.get(key)).and_then(Value::as_str);
    let wanted = KEYS.iter().filter_map(|(theirs, ours)| {
        let list = get(theirs)?;
        let names: Vec<&str> = list.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let is_usual = names.is_empty() || list == USUAL_TOOLS;
        (!is_usual).then(|| TheirSetting {
            theirs: (*theirs).to_owned(),
            ours: Some((*ours).to_owned()),
            value: json!(names),
        })
    });
    bring_settings(mover, report, wanted.collect())
}
