//! The limits of a day: it begins and ends at midnight of the user's time zone, also where the clock is changed.

use longhaul_core::parse_timestamp;
use serde_json::{Value, json};

use super::{Session, goes_on, stops};
use crate::sandbox::Outcome;

/// Returns a session of this time zone that begins at this time.
fn session(config: &Value, zone: &str, at: &str) -> Session {
    let session = Session::in_zone(config, zone, parse_timestamp(at).unwrap().0);
    session.prompt("work");
    session
}

/// Sets the clock.
fn clock(session: Session, at: &str) -> Session {
    Session { sandbox: session.sandbox.at(parse_timestamp(at).unwrap().0), ..session }
}

/// Appends a reply of two dollars.
fn spend(session: &Session, at: &str) {
    let line = json!({
        "type": "assistant", "timestamp": at, "sessionId": session.id, "cwd": session.sandbox.project(),
        "message": { "id": at, "model": "claude-opus-5-5", "usage": { "input_tokens": 0, "output_tokens": 100_000 } },
    });
    session.append("spender.jsonl", &line);
}

/// Returns what is shown to be spent of a limit.
fn spent_of(session: &Session, limit: &str) -> f64 {
    let shown = session.longhaul(&["limit", "--json"]).json();
    let limits = shown["sessions"][0]["limits"].as_array().unwrap_or_else(|| panic!("{shown}"));
    limits.iter().find(|one| one["limit"] == limit).unwrap()["cost_usd"].as_f64().unwrap()
}

#[test]
fn a_day_begins_at_midnight_in_the_zone_of_the_user() {
    for (zone, before_the_day, begins, last, after_the_day) in [
        (
            "Asia/Kolkata",
            "2026-11-14T18:29:50Z",
            "2026-11-14T18:30:10Z",
            "2026-11-15T18:29:50Z",
            "2026-11-15T18:30:10Z",
        ),
        // 23 hours of which the first one is missing.
        (
            "America/Santiago",
            "2026-09-06T03:59:50Z",
            "2026-09-06T04:00:10Z",
            "2026-09-07T02:59:50Z",
            "2026-09-07T03:00:10Z",
        ),
    ] {
        let session = session(&json!({ "limits": { "day": 3, "project_day": 100 } }), zone, before_the_day);
        spend(&session, before_the_day);
        goes_on(&session.use_tool());
        let session = clock(session, begins);
        spend(&session, begins);
        goes_on(&session.use_tool());
        assert_eq!(spent_of(&session, "limits.day"), 2.0, "{zone} {begins}");
        let session = clock(session, last);
        spend(&session, last);
        stops(&session.use_tool(), "all sessions have spent $4.00 of $3 today");
        let session = clock(session, after_the_day);
        goes_on(&session.prompt("a new day"));
        spend(&session, after_the_day);
        goes_on(&session.use_tool());
        assert_eq!(spent_of(&session, "limits.project_day"), 2.0, "{zone} {after_the_day}");
    }
}

#[test]
fn a_request_before_midnight_that_is_read_after_it_is_of_yesterday() {
    let session = session(&json!({ "limits": { "day": 3 } }), "UTC", "2026-11-15T23:59:00Z");
    spend(&session, "2026-11-15T23:59:10Z");
    goes_on(&session.use_tool());
    spend(&session, "2026-11-15T23:59:20Z");
    let session = clock(session, "2026-11-16T00:00:10Z");
    goes_on(&session.use_tool());
    assert_eq!(spent_of(&session, "limits.day"), 0.0);
}

#[test]
fn a_session_that_was_idle_overnight_shows_today() {
    let config = json!({ "limits": { "day": 5, "project_day": 5 } });
    let session = session(&config, "Europe/Berlin", "2026-11-15T21:00:00Z");
    spend(&session, "2026-11-15T20:59:00Z");
    goes_on(&session.use_tool());
    let line = |session: &Session| {
        let input = json!({ "session_id": session.id }).to_string();
        Outcome::of(session.sandbox.executable("longhaul").args(["statusline", "--cost"]), input.as_bytes()).stdout
    };
    assert!(line(&session).contains("$2.00 of $5 today"), "{}", line(&session));
    let session = clock(session, "2026-11-15T23:01:00Z");
    assert!(line(&session).contains("$0.00 of $5 today"), "{}", line(&session));
    assert_eq!((spent_of(&session, "limits.day"), spent_of(&session, "limits.project_day")), (0.0, 0.0));
    let shown = session.longhaul(&["limit"]).stdout;
    assert!(shown.contains("All sessions have spent $0.00 of $5 today."), "{shown}");
    // What another session spends counts for it.
    let other = json!({
        "type": "assistant", "timestamp": "2026-11-15T23:00:30Z", "sessionId": "other", "cwd": session.sandbox.project(),
        "message": { "id": "o", "model": "claude-opus-5-5", "usage": { "input_tokens": 0, "output_tokens": 50_000 } },
    });
    session.append("other.jsonl", &other);
    session.longhaul(&["limit", "count"]);
    assert!(line(&session).contains("$1.00 of $5 today"), "{}", line(&session));
}

#[test]
fn what_is_near_is_said_every_day() {
    let session = session(&json!({ "limits": { "day": 2.2 } }), "UTC", "2026-11-15T12:00:00Z");
    let near = |session: &Session, at: &str| {
        spend(session, at);
        session.use_tool()["systemMessage"].as_str().is_some_and(|message| message.contains("90 % of limits.day"))
    };
    assert!(near(&session, "2026-11-15T12:00:00Z"));
    let session = clock(session, "2026-11-16T12:00:00Z");
    assert!(near(&session, "2026-11-16T12:00:00Z"));
}

#[test]
fn another_project_has_a_day_of_its_own() {
    let session = session(&json!({ "limits": { "project_day": 3 } }), "UTC", "2026-11-15T12:00:00Z");
    let elsewhere = session.sandbox.path("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    for (id, folder) in [("far", elsewhere), ("near", session.sandbox.project())] {
        let line = json!({
            "type": "assistant", "timestamp": "2026-11-15T11:00:00Z", "sessionId": id, "cwd": folder,
            "message": { "id": id, "model": "claude-opus-5-5", "usage": { "input_tokens": 0, "output_tokens": 100_000 } },
        });
        session.append(&format!("{id}.jsonl"), &line);
        session.longhaul(&["limit", "count"]);
        goes_on(&session.use_tool());
    }
    assert_eq!(spent_of(&session, "limits.project_day"), 2.0);
    spend(&session, "2026-11-15T11:30:00Z");
    stops(&session.use_tool(), "the sessions of this project have spent $4.00 of $3 today");
}
