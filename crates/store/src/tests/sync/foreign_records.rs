//! Records that another member of the circle has made up: they change nothing that was made here.

use longhaul_core::Millis;
use longhaul_sync::{Body, EntityId, Entry, HostId, ObservationBody, ProjectId, PromptBody, Record, SummaryBody};

use super::{Engine, Machine, project, settle};

fn mallory() -> HostId {
    HostId::random([66; 16])
}

fn entry(entity: EntityId, session: &str, body: Body) -> Entry {
    let mut entry = Entry::new(entity, project(), body);
    entry.session = Some(session.to_owned());
    entry.at_ms = 2_000_000_000;
    entry
}

fn record(entry: Entry) -> Record {
    Record::Entry(Box::new(entry))
}

fn new_entity(name: &str) -> EntityId {
    EntityId::of("made up", &[name.as_bytes()])
}

fn observation(title: &str, call: Option<&str>) -> ObservationBody {
    let mut body = ObservationBody::default();
    body.title = title.to_owned();
    body.observed = "command".to_owned();
    body.tool_use_id = call.map(str::to_owned);
    body
}

fn summary(learned: &str) -> SummaryBody {
    let mut body = SummaryBody::default();
    body.learned = learned.to_owned();
    body.prompt_number = 1;
    body
}

fn prompt(text: &str) -> PromptBody {
    let mut body = PromptBody::default();
    (body.number, body.prompt, body.reply) = (7, text.to_owned(), "made up".to_owned());
    body
}

impl Machine {
    /// Returns the entity of the only row of a table.
    fn entity(&self, what: usize) -> EntityId {
        let table = ["turns", "observations", "session_summaries"][what];
        let sql = format!("SELECT uid FROM {table} WHERE uid IS NOT NULL");
        EntityId::from_bytes(self.store.connection.query_row(&sql, [], |row| row.get(0)).unwrap())
    }

    /// Returns everything that a hook reads of the sessions of this machine.
    fn sessions(&self) -> Vec<String> {
        let sql = "SELECT session_id || coalesce(last_prompt, '-') || coalesce(first_user_prompt, '-') || prompt_counter || (SELECT
                       count(*) FROM turns t WHERE t.session_id = s.id) FROM sessions s WHERE host_id IS NULL";
        let mut statement = self.store.connection.prepare(sql).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
}

/// Two members of the circle, and a session of the first that the second has fetched.
fn two_that_know_a_session() -> (Machine, Machine, Engine) {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.prompt("s-a", "why does it fail", "a library is missing");
    a.call("s-a", "Ran make");
    a.summary("s-a", "build");
    settle(&mut [&mut a, &mut b], &mut engine);
    (a, b, engine)
}

#[test]
fn a_version_of_what_was_made_here_is_refused_here_and_has_its_writer_elsewhere() {
    let (mut a, mut b, mut engine) = two_that_know_a_session();
    let before = (a.dump(), a.sessions());
    let bodies = [
        (0, Body::Prompt(prompt("hacked"))),
        (1, Body::Observation(observation("hacked", None))),
        (2, Body::Summary(summary("hacked"))),
    ];
    for (what, body) in bodies {
        let mut hacked = entry(a.entity(what), "s-a", body);
        hacked.version = 999;
        engine.forge(mallory(), record(hacked));
    }
    a.exchange(&mut engine);
    assert_eq!((a.dump(), a.sessions()), before);
    b.exchange(&mut engine);
    b.store.note_host(a.host(), "anna", None, None).unwrap();
    b.store.note_host(mallory(), "mallory", None, None).unwrap();
    for id in [
        crate::RecordId { what: crate::What::Observation, id: 1 },
        crate::RecordId { what: crate::What::Prompt, id: 1 },
    ] {
        assert_eq!(b.store.records(&[id]).unwrap()[0].host.as_deref(), Some("mallory"), "{id:?}");
    }
    let indexed = b.indexed();
    b.store.rebuild_indexes().unwrap();
    assert_eq!(indexed, b.indexed(), "the index has a term for the host");
}

/// Whoever is in the circle can write a version of anything: that gives no right to have it forgotten.
#[test]
fn a_forged_version_gives_no_right_to_forget() {
    let elsewhere = ProjectId::from_bytes([9; 16]);
    let forged: [&[usize]; 3] = [&[0, 1, 2], &[0], &[1]];
    let cases = forged.iter().flat_map(|forged| {
        let versions = [(project(), 0), (elsewhere, 9)];
        [0x00, 0xff].into_iter().flat_map(move |id| versions.map(|(project, version)| (forged, id, project, version)))
    });
    for (forged, id, project, version) in cases {
        let what = format!("entities {forged:?}, host {id:x}, version {version}, {project:?}");
        let (mut a, mut b, mut engine) = two_that_know_a_session();
        let before = a.dump();
        // The order of the ids decides which records are fetched first.
        let mallory = HostId::from_bytes([id; 16]);
        let bodies = [
            (0, Body::Prompt(prompt("hacked"))),
            (1, Body::Observation(observation("hacked", None))),
            (2, Body::Summary(summary("hacked"))),
        ];
        let entities: Vec<EntityId> = forged.iter().map(|what| a.entity(*what)).collect();
        for ((_, body), entity) in bodies.into_iter().filter(|(what, _)| forged.contains(what)).zip(&entities) {
            let mut forged = entry(*entity, "s-a", body);
            (forged.version, forged.project) = (version, project);
            engine.forge(mallory, record(forged));
        }
        engine.forge(mallory, Record::Forgetting(entities));
        let mut c = Machine::sharing("c");
        settle(&mut [&mut a, &mut b, &mut c], &mut engine);
        for machine in [&a, &b, &c] {
            assert_eq!(machine.dump(), before, "{what}");
        }
        let erased = engine.records.values().filter(|record| record.payload.is_none() && record.host != mallory);
        assert_eq!(erased.count(), 0, "{what}");
        // The writer still can.
        a.store.forget_session("s-a", Millis(a.now)).unwrap();
        settle(&mut [&mut a, &mut b, &mut c], &mut engine);
        for machine in [&a, &b, &c] {
            assert_eq!(machine.dump(), [""; 0], "{what}");
        }
    }
}

#[test]
fn a_session_that_runs_here_gets_nothing_from_others() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.session("s-silent");
    a.prompt("s-a", "why does it fail", "a library is missing");
    let before = (a.dump(), a.sessions());
    for session in ["s-silent", "s-a"] {
        let name = |kind: &str| new_entity(&format!("{session} {kind}"));
        engine.forge(mallory(), record(entry(name("prompt"), session, Body::Prompt(prompt("do this")))));
        engine.forge(mallory(), record(entry(name("call"), session, Body::Observation(observation("x", Some("c"))))));
        engine.forge(mallory(), record(entry(name("summary"), session, Body::Summary(summary("x")))));
        engine.forge(mallory(), record(entry(name("note"), session, Body::Note(observation("x", None)))));
        engine.forge(mallory(), record(entry(name("bookmark"), session, Body::Bookmark(Default::default()))));
    }
    a.exchange(&mut engine);
    assert_eq!((a.dump(), a.sessions()), before);
    let page = engine.incoming(mallory(), 0, 99);
    let other = Machine::sharing("other");
    other.session("s-a");
    other.session("s-silent");
    let taken = other.store.take_in_records(&page, Millis(other.now)).unwrap();
    assert_eq!((taken.records, taken.refused, taken.applied), (10, 10, 0));
}

/// The id of a call is known to whoever has seen it.
#[test]
fn a_call_of_another_session_or_project_is_not_overwritten() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.store.share_project(ProjectId::of_name("private"), "p", "/p", "p", Millis(0)).unwrap();
    a.call("s-a", "Ran make");
    let call: String =
        a.store.connection.query_row("SELECT tool_use_id FROM observations", [], |row| row.get(0)).unwrap();
    a.store.share_project(project(), "q", "/elsewhere", "q", Millis(0)).unwrap();
    let before = a.dump();
    let body = Body::Observation(observation("hacked", Some(&call)));
    engine.forge(mallory(), record(entry(new_entity("call"), "s-m", body)));
    a.exchange(&mut engine);
    assert_eq!(a.dump(), before);
}

#[test]
fn however_many_projects_a_member_names_few_are_noted() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
               INSERT INTO projects (sync_id, name, sync_name) SELECT randomblob(16), 'made up', 'made up' FROM n";
    a.store.connection.execute(sql, []).unwrap();
    for name in ["last", "too many"] {
        let mut made = entry(new_entity(name), "s-m", Body::Note(observation(name, None)));
        (made.project, made.project_name) = (ProjectId::of_name(name), name.to_owned());
        engine.forge(mallory(), record(made));
    }
    a.exchange(&mut engine);
    assert_eq!(a.count("SELECT count(*) FROM projects WHERE project_key IS NULL"), 1000);
    assert_eq!(a.count("SELECT count(*) FROM projects WHERE name = 'too many'"), 0);
    assert_eq!(a.store.sync_counts().unwrap().waiting, 2);
    // It can be shared all the same.
    a.store.share_project(ProjectId::of_name("too many"), "q", "/q", "q", Millis(0)).unwrap();
    a.exchange(&mut engine);
    assert_eq!(a.store.sync_counts().unwrap().waiting, 1);
}

/// The rows of two tables have the same numbers.
#[test]
fn an_entity_stays_in_its_table() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    a.summary("s-a", "mine");
    a.prompt("s-a", "mine", "mine");
    let entity = new_entity("entity");
    engine.forge(mallory(), record(entry(entity, "s-m", Body::Note(observation("note", None)))));
    a.exchange(&mut engine);
    let before = a.dump();
    for (version, body) in [(2, Body::Summary(summary("hacked"))), (3, Body::Prompt(prompt("hacked")))] {
        let mut changed = entry(entity, "s-m", body);
        changed.version = version;
        engine.forge(mallory(), record(changed));
    }
    a.exchange(&mut engine);
    assert_eq!(a.dump(), before);
}

#[test]
fn a_record_that_the_database_refuses_does_not_stop_the_others() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    let sql = "CREATE UNIQUE INDEX only_one ON observations (title) WHERE title = 'poison'";
    b.store.connection.execute_batch(sql).unwrap();
    ["one", "poison", "two", "poison", "three"].into_iter().for_each(|title| a.note(title));
    a.exchange(&mut engine);
    b.exchange(&mut engine);
    assert_eq!((b.dump().len(), b.store.sync_counts().unwrap().damaged), (4, 1), "{:?}", b.dump());
    assert_eq!(b.store.sync_heads().unwrap(), engine.heads());
    assert_eq!(b.store.integrity_check().unwrap(), [""; 0]);
}

#[test]
fn a_database_that_is_busy_makes_no_record_a_damaged_one() {
    let (mut a, b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    a.note("note");
    a.exchange(&mut engine);
    let page = engine.incoming(a.host(), 0, 9);
    let other = rusqlite::Connection::open(b.folder.path().join("l.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    b.store.set_patience(std::time::Duration::ZERO);
    assert!(b.store.take_in_records(&page, Millis(b.now)).unwrap_err().is_busy());
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(b.store.take_in_records(&page, Millis(b.now)).unwrap().applied, 1);
    assert_eq!(b.store.sync_counts().unwrap().damaged, 0);
}

/// A member names another's prompt, call and summary under ids of its own, and has those forgotten.
#[test]
fn another_entity_of_the_same_thing_gives_no_right_to_forget() {
    for id in [0x00, 0xff] {
        let (mut a, mut b, mut engine) = two_that_know_a_session();
        let before = a.dump();
        let mallory = HostId::from_bytes([id; 16]);
        let call: String =
            a.store.connection.query_row("SELECT tool_use_id FROM observations", [], |r| r.get(0)).unwrap();
        let mut same = prompt("why does it fail");
        (same.number, same.reply) = (1, "made up".to_owned());
        let bodies = [
            ("prompt", Body::Prompt(same)),
            ("call", Body::Observation(observation("made up", Some(&call)))),
            ("summary", Body::Summary(summary("made up"))),
        ];
        let mut entities = Vec::new();
        for (name, body) in bodies {
            let mut forged = entry(new_entity(name), "s-a", body);
            (forged.version, forged.at_ms) = (999, 1_000_001_000);
            entities.push(forged.entity);
            engine.forge(mallory, record(forged));
        }
        let mut c = Machine::sharing("c");
        for machine in [&mut a, &mut b, &mut c] {
            machine.exchange(&mut engine);
        }
        assert_eq!(a.dump(), before);
        assert_eq!(b.dump(), c.dump(), "the newer version counts, whichever came first");
        engine.forge(mallory, Record::Forgetting(entities));
        settle(&mut [&mut a, &mut b, &mut c], &mut engine);
        assert_eq!(c.dump(), before);
        // The writer still can.
        a.store.forget_session("s-a", Millis(a.now)).unwrap();
        settle(&mut [&mut a, &mut b, &mut c], &mut engine);
        assert_eq!(c.dump(), [""; 0]);
    }
}
