use std::collections::BTreeMap;

use longhaul_core::{Millis, Status};
use longhaul_runtime::{Observation, Observed, Transcript};
use longhaul_store::ContextUse;
use longhaul_tracker::Agent;
use longhaul_transcript::Usage;

use super::{Row, SessionFilter, rows};

const NOW: Millis = Millis(10_000_000);

fn agent(session: &str, status: Status) -> Agent {
    let mut agent = Agent::new(session, 9_000);
    agent.status = status;
    agent.cwd = Some(format!("/work/{session}"));
    agent.project = session.to_owned();
    agent
}

fn observed(session: &str, tokens: u64, model: &str) -> Observed {
    Observed {
        session: session.to_owned(),
        agent: Some(agent(session, Status::Idle)),
        record: None,
        client_runs: None,
        last_heard: NOW,
        transcript: match tokens {
            0 => Transcript::Silent,
            tokens => {
                let mut usage = Usage::new(tokens);
                usage.model = Some(model.to_owned());
                Transcript::Usage(usage)
            }
        },
    }
}

fn reported(session: &str, model: &str, window: u64) -> ContextUse {
    ContextUse {
        session: session.to_owned(),
        model: Some(model.to_owned()),
        window_tokens: Some(window),
        used_tokens: Some(5),
        ..ContextUse::default()
    }
}

fn of(sessions: Vec<Observed>, contexts: Vec<ContextUse>, wanted: SessionFilter<'_>) -> Vec<Row> {
    rows(&Observation { sessions, contexts }, &BTreeMap::new(), wanted, NOW)
}

#[test]
fn without_a_reply_in_the_transcript_the_status_line_tells_the_use() {
    let rows = of(vec![observed("s", 0, "")], vec![reported("s", "m", 10)], SessionFilter::Active);
    assert_eq!((rows[0].used, rows[0].remaining(), rows[0].percent()), (Some(5), Some(5), Some(50.0)));
    let rows = of(vec![observed("s", 0, "")], vec![], SessionFilter::Active);
    assert_eq!((rows[0].used, rows[0].warnings()), (None, vec!["no reply".to_owned()]));
}

#[test]
fn the_idle_and_the_ended_are_hidden_unless_asked_for() {
    let minutes = |session: &str, minutes: u64| Observed {
        last_heard: Millis(NOW.0 - minutes * 60_000),
        ..observed(session, 9, "m")
    };
    let ended = Observed { agent: None, ..observed("ended", 9, "m") };
    let killed = Observed { client_runs: Some(false), ..observed("killed", 9, "m") };
    let long_tool =
        Observed { agent: Some(agent("long", Status::Working)), client_runs: Some(true), ..minutes("long", 60) };
    let sessions = vec![minutes("fresh", 15), minutes("old", 16), ended, killed, long_tool];
    let shown = |wanted| {
        let rows = of(sessions.clone(), vec![], wanted);
        rows.into_iter().map(|row| format!("{} {}", row.session, row.state.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(shown(SessionFilter::Active), ["fresh idle", "long working"]);
    assert_eq!(shown(SessionFilter::All), ["fresh idle", "long working", "old idle", "ended ended", "killed ended"]);
    assert_eq!(shown(SessionFilter::Session("end")), ["ended ended"]);
}

#[test]
fn the_fullest_come_first_and_say_so() {
    let mut blocked = observed("d", 100_000, "m");
    let mut waiting = agent("d", Status::Blocked);
    waiting.reason = Some("permission: Write".to_owned());
    blocked.agent = Some(waiting);
    let sessions = vec![
        observed("a", 0, ""),
        observed("b", 10_000, "m"),
        observed("c", 181_000, "m"),
        blocked,
        observed("e", 140_000, "m"),
    ];
    let rows = of(sessions, vec![], SessionFilter::Active);
    let shown: Vec<_> = rows.iter().map(|row| format!("{}: {}", row.session, row.warnings().join(", "))).collect();
    assert_eq!(shown, ["c: critical", "e: high", "d: blocked (permission: Write)", "b: ", "a: no reply"]);
}
