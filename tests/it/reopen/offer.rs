//! The offer in the status line of a new server.

use super::SIX;
use super::scene::Scene;

#[test]
fn a_new_server_says_how_many_sessions_can_be_reopened_if_the_user_wants_that() {
    let mut scene = Scene::new();
    for spot in &SIX[..3] {
        scene.start(spot);
    }
    scene.kill_server();
    scene.tmux.run(&["new-session", "-d", "-s", "main", "sleep", "3600"]);
    let offer = |scene: &Scene| scene.tmux.run(&["show-options", "-gqv", "@longhaul-to-reopen"]);
    assert_eq!(scene.longhaul_inside(&["tmux", "setup"]).status, Some(0));
    assert_eq!(offer(&scene), "");
    let setup = scene.longhaul_inside(&["tmux", "setup", "--offer-reopen"]);
    assert_eq!(setup.status, Some(0), "{setup:?}");
    assert_eq!(offer(&scene), "3 to reopen");
    let right = scene.tmux.run(&["show-options", "-gv", "status-right"]);
    assert!(right.contains("#{@longhaul-to-reopen}"), "{right}");
    assert_eq!(scene.started().len(), 3, "nothing is opened by itself");
    // The rows of the old server are gone, although its panes had the same ids.
    assert_eq!(scene.longhaul_inside(&["status", "--json"]).json(), serde_json::json!([]));
    assert_eq!(scene.longhaul_inside(&["reopen", "--yes"]).status, Some(0));
    assert_eq!(scene.longhaul_inside(&["tmux", "refresh"]).status, Some(0));
    assert_eq!(offer(&scene), "");
    assert_eq!(scene.sandbox.error_log(), "");
}
