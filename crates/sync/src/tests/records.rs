use super::{host, ring};
use crate::{
    Body, BookmarkBody, DecodeError, EntityId, Entry, Incoming, IncomingContent, ObservationBody, Outgoing, ProjectId,
    PromptBody, Record, RecordId, SealedRecord, SummaryBody, seal,
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
    let wrong = seal(&ring(1), &header(1), b"text", &[8; 80]);
    assert_eq!(Incoming::open(&ring(1), header(1).with_payload(Some(wrong))).content, IncomingContent::Damaged);
}
