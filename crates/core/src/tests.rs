mod catalog;
mod clock;
mod config;
mod env;
mod event;
mod json_text;
mod project_config;
mod record;
mod reply;
mod text;

use crate::{Millis, OTHER_AGENTS, SessionId, Status, short_session};

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
fn the_sessions_of_other_agents_carry_the_agents_name() {
    for agent in OTHER_AGENTS {
        let id = SessionId::of_agent(agent, "../x").unwrap();
        assert_eq!((id.as_str(), id.client(), id.own()), (format!("{agent}:___x").as_str(), agent, "___x"));
        let same = [SessionId::new(id.as_str()), SessionId::from_file_stem(&id.file_stem())];
        assert_eq!(same, [Some(id.clone()), Some(id.clone())]);
        assert_eq!(SessionId::of_agent(agent, id.as_str()), Some(id), "the name is there once");
        assert_eq!(SessionId::of_agent(agent, &"a".repeat(500)).unwrap().as_str().len(), 200);
    }
    assert_eq!(SessionId::of_agent("claude", "x"), None);
    assert_eq!(SessionId::new("gemini:codex:x").unwrap().as_str(), "gemini:codex_x");
    let own = SessionId::new("890a2a53").unwrap();
    assert_eq!((own.client(), own.own()), ("claude", "890a2a53"));
}

#[test]
fn a_codex_session_has_a_prefix_and_a_safe_file_name() {
    let id = SessionId::codex("019a-b/../c").unwrap();
    assert_eq!((id.as_str(), id.file_stem().as_str()), ("codex:019a-b____c", "codex_019a-b____c"));
    assert_eq!(id.client(), "codex");
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
fn a_short_id_keeps_its_prefix_and_tells_sessions_apart() {
    for (id, short) in [
        ("890a2a53-a8c1-4c6e", "890a2a53"),
        ("codex:019a2b3c-d4e5-7f60", "codex:019a2b3c-d4e5"),
        ("codex:019a", "codex:019a"),
        ("ab", "ab"),
        ("", ""),
        ("ääääääääää", "ääääääää"),
    ] {
        assert_eq!(short_session(id), short, "{id}");
    }
}

#[test]
fn a_session_belongs_to_a_client() {
    assert_eq!(SessionId::new("a").unwrap().client(), "claude");
    assert_eq!(SessionId::codex("a").unwrap().client(), "codex");
    assert_ne!(SessionId::new("codex").unwrap().client(), "codex");
}

#[test]
fn a_status_is_known_by_its_name() {
    let running = [(Status::Working, true), (Status::Blocked, true), (Status::Idle, false), (Status::Completed, false)];
    for (status, is_running) in running {
        assert_eq!(Status::from_name(status.as_str()), Some(status));
        assert_eq!(status.to_string(), status.as_str());
        assert_eq!(status.is_running(), is_running);
    }
    assert_eq!(Status::from_name("Working"), None);
}

#[test]
fn no_time_passes_when_the_clock_is_set_back() {
    assert_eq!([Millis(5).since(Millis(2)), Millis(2).since(Millis(5))], [3, 0]);
    assert_eq!(Millis(5).to_string(), "5");
}
