mod budget;
mod config;
mod cut_text;
mod env;
mod event;
mod json_text;
mod predicates;
mod private_tags;
mod project_config;
mod record;
mod reply;

use crate::{SessionId, short_session};

#[test]
fn session_ids_become_safe_file_names() {
    let id = |raw: &str| SessionId::new(raw).map(|id| id.to_string());
    assert_eq!(id("890a2a53-a8c1_x").as_deref(), Some("890a2a53-a8c1_x"));
    assert_eq!(id("../../etc/x").as_deref(), Some("______etc_x"));
    assert_eq!(id("é\n\0").as_deref(), Some("___"));
    assert_eq!(id(&"a".repeat(500)).map(|id| id.len()), Some(200));
    assert_eq!(id(""), None);
}

#[test]
fn a_codex_session_is_told_apart_and_still_names_files() {
    let id = SessionId::codex("019a-b/../c").unwrap();
    assert_eq!((id.as_str(), id.file_stem().as_str()), ("codex:019a-b____c", "codex_019a-b____c"));
    assert!(id.is_codex());
    for again in
        [SessionId::new(id.as_str()), SessionId::codex(id.as_str()), SessionId::from_file_stem(&id.file_stem())]
    {
        assert_eq!(again.as_ref(), Some(&id));
    }
    assert_eq!(SessionId::new("codex:"), None);
    assert_eq!(SessionId::new("a:codex:b").unwrap().as_str(), "a_codex_b");
    assert_eq!(SessionId::codex(&"a".repeat(500)).unwrap().as_str().len(), 200);
}

#[test]
fn a_short_id_tells_sessions_apart() {
    for (id, short) in [
        ("890a2a53-a8c1-4c6e", "890a2a53"),
        ("codex:019a2b3c-d4e5-7f60", "codex:019a2b3c"),
        ("codex:019a", "codex:019a"),
        ("ab", "ab"),
        ("", ""),
        ("ääääääääää", "ääääääää"),
    ] {
        assert_eq!(short_session(id), short, "{id}");
    }
}

#[test]
fn every_stdin_deadline_leaves_half_a_second() {
    for registration in crate::catalog::REGISTRATIONS {
        let timeout = registration.timeout_seconds * 1000;
        assert!(registration.stdin_deadline.as_millis() as u64 + 500 <= timeout, "{}", registration.executable);
        let kebab: String = registration.event.as_str().chars().fold("longhaul".to_owned(), |name, c| {
            if c.is_ascii_uppercase() { format!("{name}-{}", c.to_ascii_lowercase()) } else { format!("{name}{c}") }
        });
        assert_eq!(registration.executable, kebab);
    }
}
