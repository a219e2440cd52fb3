//! Many sessions at once.

use super::*;

#[test]
fn ten_sessions_in_three_worktrees_lose_no_snapshot() {
    const SESSIONS: usize = 10;
    const PROMPTS: usize = 2;
    let session = Session::new();
    let mut trees = vec![session.sandbox.project()];
    for name in ["second", "third"] {
        let tree = session.sandbox.path(name);
        session.git(&["worktree", "add", "-q", tree.to_str().unwrap()]);
        trees.push(tree);
    }
    std::thread::scope(|scope| {
        for number in 0..SESSIONS {
            let (session, tree) = (&session, &trees[number % trees.len()]);
            scope.spawn(move || {
                for prompt in 0..PROMPTS {
                    fs::write(tree.join(format!("s{number}")), format!("{prompt}\n")).unwrap();
                    let id = format!("session-{number}");
                    let changes = json!({ "session_id": id, "prompt": format!("prompt {prompt}"), "cwd": tree });
                    session.sandbox.hook("longhaul-user-prompt-submit", payload("UserPromptSubmit", changes));
                }
            });
        }
    });
    let expected = SESSIONS * PROMPTS;
    wait_until(DEADLINE * 3, "every snapshot", || session.snapshots().len() >= expected);
    let all = session.snapshots();
    assert_eq!(all.len(), expected);
    assert!(all.iter().all(|one| one["skipped"].is_null()), "{all:?}");
    for tree in &trees {
        let own = all.iter().filter(|one| one["work_tree"] == json!(tree.canonicalize().unwrap())).count();
        assert!(own >= 3 * PROMPTS, "{}: {own}", tree.display());
    }
    // A prompt waits for the database only for a moment, which no snapshot depends on.
    session.sandbox.expect_only_waits();
    // A number of another work tree is refused, whoever asks.
    let elsewhere = all.iter().find(|one| one["work_tree"] == json!(trees[1].canonicalize().unwrap())).unwrap();
    let own = elsewhere["session"].as_str().unwrap();
    let refused = session.sandbox.longhaul(&["restore", &number(elsewhere), "--session", own, "--yes"]);
    assert!(refused.status == Some(1) && refused.stderr.contains("is of another work tree"), "{refused:?}");
}
