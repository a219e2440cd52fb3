//! When hooks start an exchange: only with a circle, not too often, and never in their own time.

use serde_json::json;

use super::machine::Machine;
use crate::poll::{DEADLINE, wait_until};

/// A circle in a folder, with automatic exchanges.
fn automatic() -> (Machine, Machine) {
    let a = Machine::with_config("a", &json!({}));
    let b = Machine::with_config("b", &json!({}));
    a.init(&format!("folder:{}", a.sandbox.path("circle").display()));
    b.join(&a);
    (a, b)
}

fn started(machine: &Machine) -> std::time::SystemTime {
    std::fs::metadata(machine.sandbox.data_dir().join("sync/started")).unwrap().modified().unwrap()
}

#[test]
fn what_one_machine_does_reaches_the_other_by_itself() {
    let (a, b) = automatic();
    a.make_exchange_old(3600);
    a.work("find the waxwing", "Found.");
    wait_until(DEADLINE, "the record in the folder", || {
        a.done(&["status", "--json"]).contains("\"unsent\": 0") && a.sandbox.path("circle/records").exists()
    });
    wait_until(DEADLINE, "the record on the other machine", || {
        b.make_exchange_old(3600);
        b.fire("s", "SessionStart", json!({ "source": "startup" }));
        b.remembers("waxwing")
    });
    assert_eq!(a.sandbox.error_log(), "");
    assert_eq!(b.sandbox.error_log(), "");
}

#[test]
fn an_exchange_is_not_started_too_often_and_not_without_a_circle() {
    let (a, _) = automatic();
    a.make_exchange_old(30);
    let before = started(&a);
    a.fire("s", "UserPromptSubmit", json!({ "prompt": "x" }));
    a.fire("s", "Stop", json!({ "last_assistant_message": "y" }));
    a.fire("s", "SessionStart", json!({ "source": "startup" }));
    assert_eq!(started(&a), before, "half a minute ago");
    a.make_exchange_old(90);
    let before = started(&a);
    a.fire("s", "SessionStart", json!({ "source": "startup" }));
    assert_eq!(started(&a), before, "at the start, every ten minutes");
    a.fire("s", "Stop", json!({ "last_assistant_message": "y" }));
    assert!(started(&a) > before, "after a turn, every minute");
    a.make_exchange_old(10);
    let before = started(&a);
    a.fire("s", "SessionEnd-prompt_input_exit", json!({}));
    assert!(started(&a) > before, "at the end");

    let alone = Machine::with_config("alone", &json!({}));
    alone.work("x", "y");
    assert!(!alone.sandbox.data_dir().join("sync").exists());
}

/// With an engine that fails, the exchanges that hooks start pause for longer and longer; sessions see nothing of it.
#[test]
fn after_a_failure_the_next_attempt_waits() {
    let (a, _) = automatic();
    std::fs::rename(a.sandbox.path("circle"), a.sandbox.path("away")).unwrap();
    let state = |key: &str| {
        let json: serde_json::Value = serde_json::from_str(&a.sync(&["status", "--json"]).stdout).unwrap();
        json["exchange"][key].clone()
    };
    a.make_exchange_old(3600);
    let reply = a.fire("s", "SessionStart", json!({ "source": "startup" }));
    assert!(!reply.to_string().contains("sync"), "{reply}");
    wait_until(DEADLINE, "the failure", || state("failures") == 1);
    a.make_exchange_old(3600);
    let mut exchange = a.sandbox.executable("longhaul-sync");
    assert!(exchange.arg("exchange").status().unwrap().success());
    assert_eq!(state("failures"), 1, "it waits for a minute");
    std::fs::rename(a.sandbox.path("away"), a.sandbox.path("circle")).unwrap();
    a.done(&["now"]);
    assert_eq!(state("failures"), 0);
}
