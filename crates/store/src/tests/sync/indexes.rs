//! The search indexes of what was taken in: as if each record had been stored here.

use super::{Engine, Machine, settle};

impl Machine {
    /// Returns what the search indexes hold, one text for each term and row.
    pub(super) fn indexed(&self) -> Vec<String> {
        let connection = &self.store.connection;
        let mut found = Vec::new();
        for index in ["passage_terms", "prompt_trigrams", "observation_trigrams"] {
            let table = format!("temp.{index}_found");
            let sql = format!(
                "DROP TABLE IF EXISTS {table}; CREATE VIRTUAL TABLE {table} USING fts5vocab(main, {index}, instance)"
            );
            connection.execute_batch(&sql).unwrap();
            let sql = format!("SELECT DISTINCT '{index} ' || term || ' ' || doc FROM {table} ORDER BY 1");
            let mut statement = connection.prepare(&sql).unwrap();
            found.extend(statement.query_map([], |row| row.get::<_, String>(0)).unwrap().map(Result::unwrap));
        }
        found
    }
}

fn fill(machine: &mut Machine) {
    for number in 0..5 {
        machine.prompt("s-a", &format!("question {number} about the parser"), &format!("answer {number} with quotes"));
        machine.call("s-a", &format!("Ran make number {number}"));
        machine.note(&format!("note {number} on deployments"));
    }
    machine.summary("s-a", "parser and deployments");
}

#[test]
fn the_indexes_are_those_that_are_built_from_the_records() {
    let (mut a, mut b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    fill(&mut a);
    b.note("made here");
    settle(&mut [&mut a, &mut b], &mut engine);
    // In one page: new records, changed ones, and a tombstone.
    a.store.connection.execute("UPDATE turns SET reply = reply || ' and semicolons'", []).unwrap();
    a.summary("s-a", "semicolons");
    fill(&mut a);
    a.store.forget(crate::RecordId { what: crate::What::Observation, id: 2 }).unwrap();
    settle(&mut [&mut a, &mut b], &mut engine);
    let indexed = b.indexed();
    assert!(indexed.iter().any(|term| term.contains("semicolon")), "{}", indexed.len());
    let counted = b.count("SELECT observations FROM projects");
    assert_eq!(counted, b.count("SELECT count(*) FROM observations"));
    b.store.rebuild_indexes().unwrap();
    for index in ["prompt_trigrams", "observation_trigrams"] {
        b.store.connection.execute(&format!("INSERT INTO {index} ({index}) VALUES ('rebuild')"), []).unwrap();
    }
    assert_eq!(indexed, b.indexed());
}

/// A segment for each record takes longer than everything else, and makes every search slower.
#[test]
fn a_page_is_one_segment_of_an_index_and_not_one_for_each_record() {
    let (mut a, b, mut engine) = (Machine::sharing("a"), Machine::sharing("b"), Engine::default());
    for number in 0..12 {
        a.prompt("s-a", &format!("question {number}"), "answer");
        a.call("s-a", &format!("Ran {number}"));
    }
    a.exchange(&mut engine);
    let page = engine.incoming(a.host(), 0, 99);
    b.store.take_in_records(&page, longhaul_core::Millis(b.now)).unwrap();
    assert_eq!(b.dump().len(), 24);
    for index in ["passage_terms", "prompt_trigrams", "observation_trigrams"] {
        let segments = b.count(&format!("SELECT count(DISTINCT segid) FROM {index}_idx"));
        assert_eq!(segments, 1, "{index}");
    }
}
