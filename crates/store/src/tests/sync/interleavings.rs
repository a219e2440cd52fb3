//! Random interleavings of three hosts: what they make, forget and share, and exchanges that are killed anywhere.

use longhaul_core::Millis;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use super::{Budget, Engine, Machine, settle};
use crate::{RecordId, What};

#[derive(Debug, Clone, Copy)]
enum Act {
    Prompt,
    Call,
    Summary,
    Note,
    Bookmark,
    /// Forgets one of the records.
    Forget(u8),
    ForgetSession(u8),
    Unshare,
    Share,
    /// Exchanges, and is killed after so many steps.
    Exchange(u8),
    /// The clock goes on by a day.
    Sleep,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Prompt),
        3 => Just(Act::Call),
        2 => Just(Act::Summary),
        2 => Just(Act::Note),
        1 => Just(Act::Bookmark),
        3 => any::<u8>().prop_map(Act::Forget),
        1 => any::<u8>().prop_map(Act::ForgetSession),
        1 => Just(Act::Unshare),
        1 => Just(Act::Share),
        6 => (0_u8..30).prop_map(Act::Exchange),
        1 => Just(Act::Sleep),
    ]
}

/// Forgets something that the machine has made: what others have made is forgotten on this machine only.
fn forget_one(machine: &Machine, pick: u8) {
    let mut records = Vec::new();
    for what in What::ALL {
        let sql = format!("SELECT id FROM {} WHERE host_id IS NULL ORDER BY id", what.table());
        let mut statement = machine.store.connection.prepare(&sql).unwrap();
        let ids: Vec<i64> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        records.extend(ids.into_iter().map(|id| RecordId { what, id }));
    }
    if !records.is_empty() {
        machine.store.forget(records[usize::from(pick) % records.len()]).unwrap();
    }
}

fn forget_session(machine: &Machine, pick: u8) {
    let mut statement =
        machine.store.connection.prepare("SELECT session_id FROM sessions WHERE host_id IS NULL ORDER BY 1").unwrap();
    let sessions: Vec<String> = statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    if !sessions.is_empty() {
        let session = &sessions[usize::from(pick) % sessions.len()];
        machine.store.forget_session(session, Millis(machine.now)).unwrap();
    }
}

fn run(machine: &mut Machine, engine: &mut Engine, act: Act) {
    let session = format!("s-{}", machine.name);
    let text = format!("{act:?} of {} at {}", machine.name, machine.now);
    match act {
        Act::Prompt => machine.prompt(&session, &text, &format!("reply to {text}")),
        Act::Call => machine.call(&session, &text),
        Act::Summary => machine.summary(&session, &text),
        Act::Note => machine.note(&text),
        Act::Bookmark => machine.bookmark(&session, &text),
        Act::Forget(pick) => forget_one(machine, pick),
        Act::ForgetSession(pick) => forget_session(machine, pick),
        Act::Unshare => drop(machine.store.unshare_project("/p").unwrap()),
        Act::Share => machine.share(),
        Act::Exchange(steps) => drop(machine.exchange_up_to(engine, &mut Budget(steps.into()))),
        Act::Sleep => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn three_hosts_end_with_the_same_memory(acts in proptest::collection::vec((0_usize..3, act()), 1..60)) {
        let mut machines = [Machine::sharing("a"), Machine::sharing("b"), Machine::sharing("c")];
        let mut engine = Engine::default();
        for (who, act) in acts {
            if matches!(act, Act::Sleep) {
                // A time that lies ahead of the receiver's clock is not kept.
                machines.iter_mut().for_each(|machine| machine.now += 24 * 60 * 60 * 1_000);
                continue;
            }
            run(&mut machines[who], &mut engine, act);
        }
        machines.iter().for_each(Machine::share);
        let latest = machines.iter().map(|machine| machine.now).max().unwrap_or_default();
        machines.iter_mut().for_each(|machine| machine.now = latest + 3_600_000);
        let [a, b, c] = &mut machines;
        settle(&mut [a, b, c], &mut engine);
    }
}
