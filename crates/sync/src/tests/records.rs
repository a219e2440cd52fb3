use super::{host, key, ring};
use crate::{
    Body, BookmarkBody, CircleHeader, DecodeError, EntityId, Entry, Incoming, IncomingContent, ObservationBody,
    Outgoing, ProjectId, PromptBody, Record, RecordId, SealedRecord, SummaryBody, seal,
};

fn entry(body: Body) -> Entry {
    let mut entry = Entry::new(EntityId::of("prompt", &[b"s", b"1"]), ProjectId::of_name("tool"), body);
    entry.project_name = "tool".into();
    entry.session = Some("s-1".into());
    entry.at_ms = 5_000;
    entry
}

fn entry_record(entry: Entry) -> Record {
    Record::Entry(Box::new(entry))
}

fn prompt(text: &str) -> Entry {
    entry(Body::Prompt(PromptBody { number: 1, prompt: text.into(), reply: "done".into(), ..PromptBody::default() }))
}

fn header(idx: u64) -> SealedRecord {
    SealedRecord::new(RecordId::new(1_000, [5; 10]), host(1), idx, 1_000)
}

#[test]
fn a_record_of_every_kind_survives_its_encoding() {
    let observation = ObservationBody { title: "ran tests".into(), facts: vec!["1".into()], ..Default::default() };
    let summary = SummaryBody { learned: "much".into(), exchanges: Some("[]".into()), ..Default::default() };
    let bookmark = BookmarkBody { note: Some("here".into()), git_dirty: Some(true), ..Default::default() };
    for body in [
        prompt("go").body,
        Body::Observation(observation.clone()),
        Body::Note(observation),
        Body::Summary(summary),
        Body::Bookmark(bookmark),
    ] {
        let record = entry_record(entry(body));
        assert_eq!(Record::decode(&record.encode()), Ok(record));
    }
    let forgetting = Record::Forgetting(vec![EntityId::of("note", &[b"x"])]);
    assert_eq!(Record::decode(&forgetting.encode()), Ok(forgetting));
}

#[test]
fn unknown_fields_are_ignored_and_unknown_kinds_are_for_later() {
    let mut value: serde_json::Value = serde_json::from_slice(&entry_record(prompt("go")).encode()).unwrap();
    value["more"] = 1.into();
    value["body"]["more"] = 1.into();
    assert_eq!(Record::decode(value.to_string().as_bytes()), Ok(entry_record(prompt("go"))));
    value["kind"] = "picture".into();
    assert_eq!(Record::decode(value.to_string().as_bytes()), Err(DecodeError::UnknownKind));
    for bytes in [b"".as_slice(), b"[]", b"{}", br#"{"kind":"prompt"}"#, br#"{"kind":"forgetting","body":[1]}"#] {
        assert_eq!(Record::decode(bytes), Err(DecodeError::Malformed), "{bytes:?}");
    }
}

#[test]
fn a_session_whose_id_could_name_another_file_is_refused() {
    for session in [
        Some("../x"),
        Some(""),
        Some("a:"),
        Some(":a"),
        Some("a:b:c"),
        Some("a:../x"),
        Some("a/b"),
        Some("a.b"),
        Some("é"),
        None,
    ] {
        let mut entry = prompt("go");
        entry.session = session.map(str::to_owned);
        assert_eq!(Record::decode(&entry_record(entry).encode()), Err(DecodeError::Malformed), "{session:?}");
    }
    let mut codex = prompt("go");
    codex.session = Some("codex:0a-1".to_owned());
    assert_eq!(Record::decode(&entry_record(codex.clone()).encode()), Ok(entry_record(codex)));
    let mut long = prompt("go");
    long.session = Some("a".repeat(201));
    assert_eq!(Record::decode(&entry_record(long).encode()), Err(DecodeError::Malformed));
    let mut note = entry(Body::Note(ObservationBody::default()));
    note.session = None;
    assert_eq!(Record::decode(&entry_record(note.clone()).encode()), Ok(entry_record(note)));
}

/// A number that overflows in a computation, or that the database refuses, would stop every host that fetches it.
#[test]
fn numbers_times_and_ids_have_limits() {
    let check = |change: &dyn Fn(&mut Entry), is_record: bool| {
        let mut changed = prompt("go");
        change(&mut changed);
        let decoded = Record::decode(&entry_record(changed.clone()).encode());
        let expected = if is_record { Ok(entry_record(changed)) } else { Err(DecodeError::Malformed) };
        assert_eq!(decoded, expected);
    };
    check(&|entry| entry.version = 0, false);
    check(&|entry| entry.version = u32::MAX, false);
    check(&|entry| entry.version = i32::MAX as u32, true);
    check(&|entry| entry.at_ms = i64::MAX as u64, false);
    check(&|entry| entry.at_ms = 253_402_300_799_999, true);
    for (number, is_record) in [(i64::MAX, false), (-1, false), (i64::from(u32::MAX), true), (0, true)] {
        check(&|entry| entry.body = Body::Prompt(PromptBody { number, ..PromptBody::default() }), is_record);
        let call = ObservationBody { prompt_number: number, ..ObservationBody::default() };
        check(&|entry| entry.body = Body::Observation(call.clone()), is_record);
        let repeated = ObservationBody { repeats: number, ..ObservationBody::default() };
        check(&|entry| entry.body = Body::Note(repeated.clone()), is_record);
        let summary = SummaryBody { prompt_number: number, ..SummaryBody::default() };
        check(&|entry| entry.body = Body::Summary(summary.clone()), is_record);
        let bookmark = BookmarkBody { context_tokens: Some(number), ..BookmarkBody::default() };
        check(&|entry| entry.body = Body::Bookmark(bookmark.clone()), is_record);
    }
    for (id, is_record) in [("a".repeat(500), true), ("a".repeat(501), false), ("a\u{1b}".to_owned(), false)] {
        let prompt = PromptBody { prompt_id: Some(id.clone()), ..PromptBody::default() };
        check(&|entry| entry.body = Body::Prompt(prompt.clone()), is_record);
        let call = ObservationBody { tool_use_id: Some(id.clone()), ..ObservationBody::default() };
        check(&|entry| entry.body = Body::Observation(call.clone()), is_record);
        let bookmark = BookmarkBody { prompt_id: Some(id), ..BookmarkBody::default() };
        check(&|entry| entry.body = Body::Bookmark(bookmark.clone()), is_record);
    }
    let forgetting = |number| Record::Forgetting(vec![EntityId::of("note", &[b"x"]); number]).encode();
    assert!(Record::decode(&forgetting(1_000)).is_ok());
    assert_eq!(Record::decode(&forgetting(1_001)), Err(DecodeError::Malformed));
}

/// Hosts compare digests that an earlier version has stored.
#[test]
fn the_form_of_an_entry_does_not_change() {
    let text = String::from_utf8(entry_record(prompt("go")).encode()).unwrap();
    let entity = EntityId::of("prompt", &[b"s", b"1"]);
    let project = EntityId::from_bytes(*ProjectId::of_name("tool").as_bytes());
    let expected = format!(
        r#"{{"entity":"{entity}","version":1,"project":"{project}","project_name":"tool","session":"s-1","at_ms":5000,"#
    );
    let body = r#""kind":"prompt","body":{"number":1,"prompt_id":null,"prompt":"go","reply":"done"}}"#;
    assert_eq!(text, format!("{expected}{body}"));
}

#[test]
fn the_digest_changes_with_the_content_and_not_with_the_version() {
    let mut later = prompt("go");
    later.version = 2;
    assert_eq!(later.digest(), prompt("go").digest());
    assert_ne!(prompt("stop").digest(), prompt("go").digest());
}

#[test]
fn an_entity_is_the_same_on_every_host_and_its_parts_do_not_run_together() {
    let of = |kind: &str, parts: &[&[u8]]| EntityId::of(kind, parts);
    assert_eq!(of("prompt", &[b"s", b"1"]), of("prompt", &[b"s", b"1"]));
    assert_ne!(of("prompt", &[b"s", b"1"]), of("prompt", &[b"s1"]));
    assert_ne!(of("prompt", &[b"s", b"1"]), of("summary", &[b"s", b"1"]));
}

#[test]
fn what_one_host_seals_another_opens() {
    let sent = Outgoing { header: header(1), content: Some(entry_record(prompt("go"))) }.seal(&ring(1), &[8; 80]);
    assert_eq!(Incoming::open(&ring(1), sent.clone()).content, IncomingContent::Record(entry_record(prompt("go"))));
    assert_eq!(Incoming::open(&ring(2), sent).content, IncomingContent::Damaged);
    let gone = Outgoing { header: header(1), content: None }.seal(&ring(1), &[8; 80]);
    assert_eq!(Incoming::open(&ring(1), gone).content, IncomingContent::Forgotten);
    let newer = seal(&ring(1), &header(1), br#"{"kind":"picture"}"#, &[8; 80]);
    assert_eq!(Incoming::open(&ring(1), header(1).with_payload(Some(newer))).content, IncomingContent::Later);
    let second = CircleHeader::rotated(&ring(1), &key(2), || [2; 24]).unlock(&key(2)).unwrap();
    let sent = Outgoing { header: header(1), content: Some(entry_record(prompt("go"))) }.seal(&second, &[8; 80]);
    assert_eq!(sent.epoch(), Some(2));
    assert_eq!(Incoming::open(&ring(1), sent).content, IncomingContent::NoKey);
    let wrong = seal(&ring(1), &header(1), b"text", &[8; 80]);
    assert_eq!(Incoming::open(&ring(1), header(1).with_payload(Some(wrong))).content, IncomingContent::Damaged);
}
