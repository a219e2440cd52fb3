//! Turns that the user of Codex took back, by a line in the rollout or by another rollout.

use std::fs;

use serde_json::json;

use super::written_rollout::Rollout;
use super::{Codex, SESSION};

/// The ids of the rollouts after the first and the second rewind.
const SECOND: &str = "01a1de70-0000-7213-b664-b016f981bf58";
const THIRD: &str = "01a1de71-0000-7213-b664-b016f981bf59";

/// What happens in a session.
enum Step {
    Turn(&'static str),
    RolledBack(usize),
}

use Step::{RolledBack, Turn};

const PRIVATE: Step = Turn("<private>the quittenmus</private>");

/// Lets a hook read the rollout, as it is now. The hook reports no reply, which would be stored as that of the last prompt.
fn read(codex: &Codex, rollout: &Rollout) {
    fs::write(&codex.rollout, &rollout.text).unwrap();
    codex.hook("Stop", "stop", json!({ "stop_hook_active": false }));
}

/// Checks which prompts are left, if the rollout is read at once, and if it is read after each step.
#[track_caller]
fn check_left(steps: &[Step], left: &[&str]) {
    for reads_each in [false, true] {
        let (codex, mut rollout) = (Codex::new(), Rollout::first());
        for step in steps {
            rollout = match step {
                Turn(asked) => rollout.turn(asked, &format!("Done: {asked}")),
                RolledBack(turns) => rollout.rolled_back(*turns),
            };
            if reads_each {
                read(&codex, &rollout);
            }
        }
        read(&codex, &rollout);
        assert_eq!(codex.live_prompts(), left, "each step is read: {reads_each}");
        codex.nothing_hidden_is_anywhere();
    }
}

#[test]
fn a_private_turn_counts_when_turns_are_rolled_back() {
    check_left(&[Turn("one"), Turn("two"), PRIVATE, RolledBack(2)], &["one"]);
    check_left(&[PRIVATE, RolledBack(1), Turn("one")], &["one"]);
}

#[test]
fn what_was_rolled_back_is_not_counted_again() {
    check_left(&[Turn("one"), Turn("two"), PRIVATE, RolledBack(1), Turn("three"), RolledBack(2)], &["one"]);
    check_left(
        &[Turn("one"), Turn("two"), RolledBack(1), Turn("three"), RolledBack(1), Turn("four")],
        &["one", "four"],
    );
}

#[test]
fn a_rollback_stays_when_the_next_rollout_is_read() {
    let codex = Codex::new();
    let first = Rollout::first().turn("one", "First.").turn("two", "Second.").rolled_back(1);
    read(&codex, &first);
    let next = Rollout::after_rewind(SESSION, first.next_line).turn("three", "Third.");
    go_back(&codex, SECOND, &next);
    assert_eq!(codex.live_prompts(), ["one", "three"]);
}

/// The user goes back: Codex writes another rollout, and starts the session again with it.
fn go_back(codex: &Codex, id: &str, rollout: &Rollout) {
    let path = codex.later_rollout(id);
    fs::write(&path, &rollout.text).unwrap();
    codex.hook("SessionStart", "session-start", json!({ "source": "resume", "transcript_path": path }));
    codex.hook("Stop", "stop", json!({ "transcript_path": path, "last_assistant_message": "Done." }));
}

/// Three rollouts of a session: the second leaves `three` out, the third `five`.
fn rewound_twice() -> [Rollout; 3] {
    let kept = Rollout::first().turn("one", "First.").turn("two", "Second.");
    let first = kept.clone().turn("three", "Third.");
    let kept = Rollout::after_rewind(SESSION, kept.next_line).turn("four", "Fourth.");
    let second = kept.clone().turn("five", "Fifth.");
    // Its base is the second rollout, which has another id than the session.
    let third = Rollout::after_rewind(SECOND, kept.next_line).turn("six", "Sixth.");
    [first, second, third]
}

const LEFT: [&str; 4] = ["one", "two", "four", "six"];

#[test]
fn a_second_rewind_is_followed_as_well() {
    let codex = Codex::new();
    let [first, second, third] = rewound_twice();
    fs::write(&codex.rollout, &first.text).unwrap();
    codex.stop(0);
    go_back(&codex, SECOND, &second);
    assert_eq!(codex.live_prompts(), ["one", "two", "four", "five"]);
    go_back(&codex, THIRD, &third);
    assert_eq!(codex.live_prompts(), LEFT);
    assert_eq!(codex.sandbox.error_log(), "");
}

#[test]
fn a_second_rewind_may_go_back_into_the_first_rollout() {
    let codex = Codex::new();
    let [first, second, _] = rewound_twice();
    fs::write(&codex.rollout, &first.text).unwrap();
    codex.stop(0);
    go_back(&codex, SECOND, &second);
    let one = Rollout::first().turn("one", "First.");
    go_back(&codex, THIRD, &Rollout::after_rewind(SESSION, one.next_line).turn("seven", "Seventh."));
    assert_eq!(codex.live_prompts(), ["one", "seven"]);
}

#[test]
fn the_base_of_a_rollout_must_be_of_the_same_session() {
    let codex = Codex::new();
    let [first, ..] = rewound_twice();
    fs::write(&codex.rollout, &first.text).unwrap();
    codex.stop(0);
    go_back(&codex, THIRD, &Rollout::after_rewind(SECOND, 0).turn("seven", "Seventh."));
    assert_eq!(codex.live_prompts(), ["one", "two", "three", "seven"]);
}

#[test]
fn rollouts_after_rewinds_are_imported_as_one_session() {
    let codex = Codex::new();
    let [first, second, third] = rewound_twice();
    // The order of the files' times need not be that of the rewinds.
    fs::write(codex.later_rollout(THIRD), &third.text).unwrap();
    fs::write(codex.later_rollout(SECOND), &second.text).unwrap();
    fs::write(&codex.rollout, &first.text).unwrap();
    let import = || codex.sandbox.longhaul(&["memory", "import", "--json"]).json();
    let imported = import();
    assert_eq!((&imported["sessions"], &imported["files"]), (&json!(1), &json!(3)), "{imported}");
    assert_eq!(codex.sandbox.rows("SELECT session_id FROM sessions"), [format!("codex:{SESSION}")]);
    assert_eq!(codex.live_prompts(), LEFT);
    assert_eq!(codex.sandbox.rows("SELECT prompt FROM prompts").len(), 6, "what was taken back is still found");
    assert_eq!(import()["unchanged"], 3);
    fs::remove_file(codex.sandbox.data_dir().join("imported.jsonl")).unwrap();
    let again = import();
    assert_eq!((&again["sessions"], &again["prompts"]), (&json!(0), &json!(0)), "{again}");
    assert_eq!(codex.live_prompts(), LEFT);
    // Hooks go on with the last rollout.
    let longer = third.turn("seven", "Seventh.");
    fs::write(codex.later_rollout(THIRD), &longer.text).unwrap();
    codex.hook("Stop", "stop", json!({ "transcript_path": codex.later_rollout(THIRD) }));
    assert_eq!(codex.live_prompts(), ["one", "two", "four", "six", "seven"]);
    assert_eq!(codex.sandbox.error_log(), "");
}

#[test]
fn an_import_leaves_the_order_of_turns_that_hooks_have_stored() {
    let codex = Codex::new();
    let [first, second, third] = rewound_twice();
    fs::write(&codex.rollout, &first.text).unwrap();
    codex.stop(0);
    go_back(&codex, SECOND, &second);
    go_back(&codex, THIRD, &third);
    codex.sandbox.longhaul(&["memory", "import", "--quiet"]);
    assert_eq!(codex.live_prompts(), LEFT);
    let kept = codex.sandbox.rows("SELECT prompt FROM turns WHERE prompt IS NOT NULL ORDER BY number");
    assert_eq!(kept, ["one", "two", "three", "four", "five", "six"]);
}
