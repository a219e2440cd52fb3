//! Texts of another host are stored as texts of this one are: without control characters, and not too long.

use longhaul_sync::{Body, BookmarkBody, EntityId, Entry, HostId, ObservationBody, PromptBody, Record, SummaryBody};

use super::{Engine, Machine, project};

const LONG: usize = 300_000;

fn send(engine: &mut Engine, number: u8, body: Body) {
    let mut entry = Entry::new(EntityId::of("made up", &[&[number]]), project(), body);
    entry.session = Some("s-m".to_owned());
    entry.at_ms = 1_000_000;
    engine.forge(HostId::random([66; 16]), Record::Entry(Box::new(entry)));
}

fn hostile() -> String {
    format!("\u{1b}]0;title\u{7}\u{9b}31m{}", "x ".repeat(LONG / 2))
}

impl Machine {
    fn text(&self, sql: &str) -> String {
        self.store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

#[track_caller]
fn check(text: &str, most: usize) {
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{:?}", text.chars().take(80).collect::<String>());
    assert!(text.chars().count() <= most, "{} characters", text.chars().count());
    assert!(!text.is_empty());
}

#[test]
fn an_observation_has_no_control_characters_is_not_too_long_and_of_a_known_kind() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    let mut body = ObservationBody::default();
    body.observed = "x =h3 =s7".to_owned();
    body.made_by = "person".to_owned();
    (body.title, body.narrative, body.tool) = (hostile(), hostile(), hostile());
    body.facts = vec![hostile(); 3];
    body.files_read = vec!["a\u{1b}b".to_owned(); 2_000];
    send(&mut engine, 1, Body::Observation(body));
    a.exchange(&mut engine);
    let column = |name: &str| a.text(&format!("SELECT {name} FROM observations"));
    check(&column("title"), 2_000);
    check(&column("narrative"), 16_384);
    check(&column("tool_name"), 200);
    assert_eq!((column("kind").as_str(), column("made_by").as_str()), ("discovery", "model"));
    assert!(column("facts").len() < 10_000 && column("files_read").len() < 10_000);
    assert!(!column("files_read").contains("u001b"));
}

#[test]
fn prompts_summaries_and_bookmarks_are_limited_too() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    let mut prompt = PromptBody::default();
    (prompt.number, prompt.prompt, prompt.reply) = (1, "y ".repeat(LONG), "z ".repeat(LONG));
    send(&mut engine, 1, Body::Prompt(prompt));
    let mut summary = SummaryBody::default();
    (summary.request, summary.learned, summary.made_by) = (hostile(), hostile(), "person".to_owned());
    summary.exchanges = Some(format!("[[\"{}\",\"b\\u001b\",true]]", "a ".repeat(LONG)));
    send(&mut engine, 2, Body::Summary(summary));
    let mut bookmark = BookmarkBody::default();
    (bookmark.note, bookmark.git_commit) = (Some(hostile()), Some(hostile()));
    send(&mut engine, 3, Body::Bookmark(bookmark));
    a.exchange(&mut engine);
    check(&a.text("SELECT prompt FROM prompts"), 16_384);
    check(&a.text("SELECT reply FROM turns"), 262_144);
    check(&a.text("SELECT last_prompt FROM sessions"), 16_384);
    check(&a.text("SELECT request FROM session_summaries"), 16_384);
    check(&a.text("SELECT learned FROM session_summaries"), 16_384);
    check(&a.text("SELECT exchanges FROM session_summaries"), 5_000);
    assert_eq!(a.text("SELECT made_by FROM session_summaries"), "model");
    check(&a.text("SELECT note FROM bookmarks"), 2_000);
    check(&a.text("SELECT git_commit FROM bookmarks"), 200);
}

#[test]
fn a_secret_that_another_host_has_not_recognised_is_not_stored() {
    let (mut a, mut engine) = (Machine::sharing("a"), Engine::default());
    let mut body = ObservationBody::default();
    body.observed = "command".to_owned();
    body.narrative = "export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1".to_owned();
    send(&mut engine, 1, Body::Observation(body));
    a.exchange(&mut engine);
    let stored = a.text("SELECT narrative FROM observations");
    assert!(stored.contains("[redacted]") && !stored.contains("wJalr"), "{stored}");
}
