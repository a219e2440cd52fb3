use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Summary};

use super::{Shelf, call};
use crate::NewNote;

#[test]
fn the_page_has_the_newest_records_that_say_something() {
    let shelf = Shelf::new();
    let ids: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    // Taken in late, as an import does.
    for (n, id) in ids.iter().enumerate().rev() {
        let kind = if n % 2 == 0 { Kind::Decision } else { Kind::Change };
        shelf.take("s1", &[call(id, kind, &format!("number {n}"), 100 + n as u64)]);
    }
    let note = |title, at| NewNote { session: None, project_key: "/p", project: "p", title, text: "x", at: Millis(at) };
    shelf.store.save_note(&note("an old note", 1)).unwrap();
    let titles = |newest, notes| -> Vec<String> {
        let records = shelf.store.page_records("/p", newest, notes).unwrap();
        records.into_iter().map(|record| record.title).collect()
    };
    assert_eq!(titles(4, 0), ["number 8", "number 6"]);
    assert_eq!(titles(4, 3), ["number 8", "number 6", "an old note"]);
    assert_eq!(titles(99, 3).last().unwrap(), "an old note");
    assert_eq!(titles(99, 3).len(), 6, "a note comes once");
    assert_eq!(shelf.store.count_records("/p").unwrap(), 11);
    assert_eq!(shelf.store.page_records("/nowhere", 3, 3).unwrap(), []);
}

#[test]
fn the_page_has_sessions_by_when_they_last_did_something() {
    let shelf = Shelf::new();
    let summary = |request: &str| Summary::new(request);
    for (session, at) in [("old", 10), ("new", 500), ("ghost", 900), ("killed", 600)] {
        shelf.session(session, "/p", at);
    }
    let prompt = |session: &str, text: &str, at: u64| {
        shelf.store.count_prompt(session, Some(text)).unwrap();
        shelf.store.remember_prompt(session, None, text, Millis(at)).unwrap();
    };
    prompt("old", "begun long ago", 11);
    prompt("new", "begun later", 501);
    prompt("killed", "no turn of it has ended", 601);
    let write = |session: &str, number: i64, text: &str, at: u64| {
        shelf.store.write_summary(session, number, &summary(text), MadeBy::Rule, Millis(at)).unwrap();
    };
    write("new", 1, "of the new", 502);
    write("old", 1, "first of the old", 12);
    write("old", 2, "last of the old", 700);
    let page = shelf.store.page_sessions("/p", 9).unwrap();
    let shown: Vec<(&str, u64, &str)> = page
        .iter()
        .map(|session| {
            (
                session.session.as_str(),
                session.at.0,
                session.summary.as_ref().map_or("", |(summary, _)| &summary.request),
            )
        })
        .collect();
    assert_eq!(shown, [("old", 700, "last of the old"), ("killed", 601, ""), ("new", 502, "of the new")]);
    assert_eq!(page[0].first_prompt, "begun long ago");
    assert_eq!((page[1].record.to_string().as_str(), page[1].first_prompt.as_str()), ("P3", "no turn of it has ended"));
    assert_eq!(shelf.store.page_sessions("/p", 1).unwrap(), page[..1]);
    assert_eq!(shelf.store.page_sessions("/nowhere", 9).unwrap(), []);
}
