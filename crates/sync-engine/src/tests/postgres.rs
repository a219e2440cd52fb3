//! What only PostgreSQL has: users with rights, passwords, and servers that are not there.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;

use longhaul_sync::{IdxRange, SealedRecord};
use tempfile::tempdir;

use super::postgres_server::PostgresServer;
use super::records::{header, host, records};
use crate::{Engine, EngineAddress, EngineError, EngineHost, PageLimit, RecordPlace};

fn connect(url: &str) -> Result<Box<dyn Engine>, EngineError> {
    EngineAddress::parse(url, None).unwrap().connect(None)
}

fn place(record: &SealedRecord) -> RecordPlace {
    RecordPlace { host: record.host, idx: record.idx, id: record.id }
}

fn payloads(engine: &mut dyn Engine, number: u8) -> usize {
    let range = IdxRange { host: host(number), after: 0, through: 100 };
    let page = engine.fetch(range, PageLimit::EXCHANGE).unwrap();
    page.iter().filter(|record| record.payload.is_some()).count()
}

/// A member adds and reads, and erases what the member has added; only the owner erases more, and changes the key.
#[test]
fn members_have_no_right_to_delete() {
    let Some(server) = PostgresServer::start() else { return };
    let mut owner = connect(&server.new_database("team")).unwrap();
    owner.create(&header()).unwrap();
    server.sql("team", "CREATE ROLE anna LOGIN PASSWORD 'a' IN ROLE longhaul_member");
    server.sql("team", "CREATE ROLE bob LOGIN PASSWORD 'b' IN ROLE longhaul_member");
    server.sql("team", "CREATE ROLE eve LOGIN PASSWORD 'e'");
    let mut anna = connect(&server.url_of("anna", "a", "team")).unwrap();
    let mut bob = connect(&server.url_of("bob", "b", "team")).unwrap();
    let entry =
        |number, name: &str, seen_ms| EngineHost { host: host(number), name: name.into(), seen_ms, clock_ahead_ms: 0 };
    anna.put_host(&entry(1, "anna", 1)).unwrap();
    bob.put_host(&entry(2, "bob", 1)).unwrap();
    anna.insert(&records(host(1), 1..=4)).unwrap();
    bob.insert(&records(host(2), 1..=4)).unwrap();
    assert_eq!(payloads(&mut *bob, 1), 4);

    let stored = records(host(1), 1..=4);
    assert_eq!(bob.erase(&[place(&stored[0])]).unwrap(), [], "it is not bob's");
    assert_eq!(anna.erase(&[place(&stored[0])]).unwrap(), [stored[0].id]);
    assert_eq!(owner.erase(&[place(&stored[1])]).unwrap(), [stored[1].id]);
    assert_eq!(payloads(&mut *bob, 1), 2);

    let rotated = header();
    assert!(matches!(anna.replace_header(&rotated), Err(EngineError::NoPermission { .. })));
    assert!(matches!(bob.put_host(&entry(1, "bob", 2)), Err(EngineError::HostOfAnotherUser { .. })), "it is anna's");
    // In the name of anna's machine, and of one that nobody has added.
    for number in [1, 7] {
        let added = bob.insert(&records(host(number), 5..=5));
        assert!(matches!(added, Err(EngineError::NoPermission { .. })), "{added:?}");
    }
    assert_eq!(payloads(&mut *bob, 7), 0);
    for sql in [
        "DELETE FROM longhaul.records",
        "TRUNCATE longhaul.records",
        "DROP TABLE longhaul.records",
        "UPDATE longhaul.records SET time_ms = 1",
        "UPDATE longhaul.circle SET epoch = 9",
        "INSERT INTO longhaul.records (host, idx, id, time_ms, added_by)
         VALUES (gen_random_uuid(), 1, gen_random_uuid(), 1, 'bob')",
        "UPDATE longhaul.records SET payload = 'x' WHERE added_by = 'anna'",
        "CREATE TABLE longhaul.mine (x int)",
    ] {
        let error = server.psql("anna", "a", "team", sql).unwrap_err();
        assert!(
            error.contains("permission denied")
                || error.contains("row-level security")
                || error.contains("must be owner"),
            "{sql}: {error}"
        );
    }
    let error = connect(&server.url_of("eve", "e", "team")).unwrap().overview().unwrap_err();
    assert!(error.to_string().contains("longhaul_member"), "{error}");
}

/// After a machine has left, its id is still the user's: another member cannot write in its name.
#[test]
fn the_id_of_a_machine_that_has_left_cannot_be_taken() {
    let Some(server) = PostgresServer::start() else { return };
    connect(&server.new_database("team")).unwrap().create(&header()).unwrap();
    server.sql("team", "CREATE ROLE anna LOGIN PASSWORD 'a' IN ROLE longhaul_member");
    server.sql("team", "CREATE ROLE bob LOGIN PASSWORD 'b' IN ROLE longhaul_member");
    let mut anna = connect(&server.url_of("anna", "a", "team")).unwrap();
    let mut bob = connect(&server.url_of("bob", "b", "team")).unwrap();
    let entry = EngineHost { host: host(1), name: "anna".into(), seen_ms: 1, clock_ahead_ms: 0 };
    anna.put_host(&entry).unwrap();
    anna.insert(&records(host(1), 1..=2)).unwrap();
    anna.remove_host(host(1)).unwrap();

    assert!(matches!(bob.put_host(&entry), Err(EngineError::HostOfAnotherUser { .. })));
    let sql = "INSERT INTO longhaul.hosts (host, name, seen_ms, clock_ahead_ms)
               SELECT host, 'anna', 1, 0 FROM longhaul.records LIMIT 1";
    let error = server.psql("bob", "b", "team", sql).unwrap_err();
    assert!(error.contains("row-level security"), "{error}");
    anna.put_host(&entry).unwrap();
    anna.insert(&records(host(1), 3..=3)).unwrap();
    assert_eq!(payloads(&mut *bob, 1), 3);
}

#[test]
fn an_error_names_the_server_and_never_the_password() {
    let Some(server) = PostgresServer::start() else { return };
    let wrong = server.url_of("admin", "hunter3-wrong", "postgres");
    let error = connect(&wrong).err().unwrap();
    assert!(matches!(error, EngineError::Login { .. }), "{error:?}");
    assert!(error.to_string().contains("postgres://admin@/") && !error.to_string().contains("hunter3"), "{error}");
    let absent = connect("postgres://a:hunter3@/x?host=/nonexistent").err().unwrap();
    assert!(matches!(absent, EngineError::Unreachable { .. }), "{absent:?}");
    let without = server.url_of("admin", "", "postgres").replace(":@", "@");
    let error = connect(&without).err().unwrap();
    assert!(matches!(error, EngineError::Login { .. }) && error.to_string().contains("PGPASSFILE"), "{error}");

    let dir = tempdir().unwrap();
    let file = dir.path().join("pgpass");
    fs::write(&file, "localhost:*:*:admin:hunter2-admin\n").unwrap();
    let address = EngineAddress::parse(&without, None).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(address.connect(Some(&file)).is_err(), "others may read the file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    address.connect(Some(&file)).unwrap();
}

#[test]
fn tables_of_a_newer_version_are_refused_and_left_alone() {
    let Some(server) = PostgresServer::start() else { return };
    let mut engine = connect(&server.new_database("team")).unwrap();
    engine.create(&header()).unwrap();
    server.sql("team", "INSERT INTO longhaul.schema VALUES (7); ALTER TABLE longhaul.records RENAME TO entries");
    for error in [engine.overview().unwrap_err(), engine.create(&header()).unwrap_err()] {
        assert!(matches!(error, EngineError::NewerSchema { found: 7, known: 3, .. }), "{error:?}");
    }
}

#[test]
fn one_of_several_that_init_at_once_makes_the_circle() {
    let Some(server) = PostgresServer::start() else { return };
    let url = server.new_database("team");
    let made = thread::scope(|scope| {
        let init = || connect(&url).unwrap().create(&header());
        let all: Vec<_> = (0..4).map(|_| scope.spawn(init)).collect();
        let results = all.into_iter().map(|thread| thread.join().unwrap());
        results
            .filter(|result| match result {
                Ok(_) => true,
                Err(EngineError::CircleExists(_)) => false,
                Err(other) => panic!("{other}"),
            })
            .count()
    });
    assert_eq!(made, 1);
}

/// An owner who may not create roles gets a circle, and a remark.
#[test]
fn the_owner_need_not_be_an_administrator() {
    let Some(server) = PostgresServer::start() else { return };
    server.sql("postgres", "CREATE ROLE carl LOGIN PASSWORD 'c'");
    server.sql("postgres", "CREATE DATABASE team OWNER carl");
    let mut engine = connect(&server.url_of("carl", "c", "team")).unwrap();
    let remarks = engine.create(&header()).unwrap();
    assert!(remarks[0].contains("CREATE ROLE longhaul_member"), "{remarks:?}");
    engine.insert(&records(host(1), 1..=2)).unwrap();
    assert_eq!(payloads(&mut *engine, 1), 2);
}

#[test]
fn a_server_that_went_away_is_reported_as_unreachable() {
    let Some(mut server) = PostgresServer::start() else { return };
    let url = server.new_database("team");
    let mut engine = connect(&url).unwrap();
    engine.create(&header()).unwrap();
    server.stop();
    let error = engine.insert(&records(host(1), 1..=2)).unwrap_err();
    assert!(matches!(error, EngineError::Unreachable { .. }), "{error:?}");
    server.resume();
    connect(&url).unwrap().insert(&records(host(1), 1..=2)).unwrap();
}

/// Tables of the version before are brought up to date by their owner, and used as they are by members until then.
#[test]
fn the_owner_updates_older_tables() {
    let Some(server) = PostgresServer::start() else { return };
    let mut owner = connect(&server.new_database("team")).unwrap();
    owner.create(&header()).unwrap();
    server.sql("team", "CREATE ROLE anna LOGIN PASSWORD 'a' IN ROLE longhaul_member");
    server.sql(
        "team",
        "DELETE FROM longhaul.schema WHERE version > 1;
         ALTER TABLE longhaul.records DROP CONSTRAINT payload_size;
         ALTER TABLE longhaul.hosts DROP CONSTRAINT name_size;
         DROP POLICY add_records ON longhaul.records;
         CREATE POLICY add_records ON longhaul.records FOR INSERT WITH CHECK (added_by = current_user);",
    );
    let mut anna = connect(&server.url_of("anna", "a", "team")).unwrap();
    assert_eq!(anna.overview().unwrap().unwrap().header, header());
    anna.insert(&records(host(1), 1..=1)).unwrap();
    assert_eq!(server.sql("team", "SELECT max(version) FROM longhaul.schema"), "1");
    assert_eq!(owner.overview().unwrap().unwrap().header, header());
    assert_eq!(server.sql("team", "SELECT max(version) FROM longhaul.schema"), "3");
    assert!(matches!(anna.insert(&records(host(1), 2..=2)), Err(EngineError::NoPermission { .. })));
}

/// What a server or another member has stored does not fill the memory here.
#[test]
fn answers_have_a_largest_size() {
    let Some(server) = PostgresServer::start() else { return };
    let mut engine = connect(&server.new_database("team")).unwrap();
    engine.create(&header()).unwrap();
    let mut large = records(host(1), 1..=1);
    large[0].payload = Some(vec![1; longhaul_sync::MAX_PAYLOAD + 1]);
    assert!(engine.insert(&large).unwrap_err().to_string().contains("payload_size"));
    server.sql("team", "ALTER TABLE longhaul.records DROP CONSTRAINT payload_size");
    engine.insert(&large).unwrap();
    engine.insert(&records(host(1), 2..=2)).unwrap();
    let range = IdxRange { host: host(1), after: 0, through: 2 };
    let mut page = engine.fetch(range, PageLimit::EXCHANGE).unwrap();
    page.extend(engine.fetch(IdxRange { after: page.len() as u64, ..range }, PageLimit::EXCHANGE).unwrap());
    let sizes: Vec<usize> = page.iter().map(|record| record.payload.as_ref().unwrap().len()).collect();
    assert_eq!(sizes, [0, records(host(1), 2..=2)[0].payload.as_ref().unwrap().len()], "the large one is damaged");

    server.sql(
        "team",
        "INSERT INTO longhaul.hosts (host, name, seen_ms, clock_ahead_ms)
         SELECT gen_random_uuid(), convert_to(repeat('x', 1000), 'UTF8'), 1, 0 FROM generate_series(1, 40000)",
    );
    let error = engine.hosts().unwrap_err();
    assert!(error.to_string().contains("more than 32 MB"), "{error}");
}
