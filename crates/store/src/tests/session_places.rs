use longhaul_core::{Millis, Status};
use longhaul_tracker::Pane;
use longhaul_tracker::reopen::{ServerId, SessionPlace, Window};

use super::{empty, sighting};
use crate::{PromptOrigin, Sighting, Store};

const SOCKET: &str = "/tmp/tmux";

fn pane() -> Pane {
    Pane { socket: SOCKET.to_owned(), id: "%1".to_owned() }
}

fn place(session: &str, server: u32) -> SessionPlace {
    let mut place = SessionPlace::new(session, "claude", 1_000);
    place.server = Some(ServerId { socket: SOCKET.to_owned(), pid: Some(server), started: Some("9".to_owned()) });
    place.folder = Some("/p".to_owned());
    place.folder_owner = Some(0);
    place.model = Some("m".to_owned());
    place.project = "p".to_owned();
    place
}

fn work(store: &Store, session: &str, pid: u32) {
    let pane = pane();
    let seen = Sighting { project: "p", pid: Some(pid), ..sighting(session, Some(&pane), 5_000) };
    store.note_prompt(&seen, PromptOrigin::User, Some("fix it")).unwrap();
}

#[test]
fn a_removed_agent_leaves_what_the_list_shows() {
    let (_folder, store) = empty();
    store.note_place(&place("s", 7)).unwrap();
    work(&store, "s", 1);
    let before = store.session_places().unwrap();
    store.remove_agent("s").unwrap();
    let after = store.session_places().unwrap();
    assert_eq!(before, after);
    assert_eq!((after[0].branch.as_deref(), after[0].prompt_summary.as_deref()), (Some("main"), Some("fix it")));
    assert_eq!((after[0].status, after[0].seen_ms), (Some(Status::Working), 5_000));
    assert!(store.remove_place("s").unwrap());
    assert!(!store.remove_place("s").unwrap());
}

#[test]
fn what_is_not_known_keeps_its_value() {
    let (_folder, store) = empty();
    assert!(!store.set_permission_mode("s", Some("plan")).unwrap());
    store.note_place(&place("s", 7)).unwrap();
    assert!(store.set_permission_mode("s", Some("plan")).unwrap());
    assert!(store.set_permission_mode("s", None).unwrap());
    work(&store, "s", 1);
    let window = Window::new("main", 3, "docs");
    store.set_window(&pane(), &window).unwrap();
    // It is resumed elsewhere, and no event names the model.
    let mut again = place("s", 8);
    again.model = None;
    again.folder = None;
    again.folder_owner = None;
    store.note_place(&again).unwrap();
    let stored = store.session_places().unwrap().remove(0);
    assert_eq!((stored.model.as_deref(), stored.permission_mode.as_deref()), (Some("m"), Some("plan")));
    assert_eq!((stored.folder.as_deref(), stored.folder_owner), (Some("/p"), Some(0)));
    assert_eq!((stored.server, stored.window), (again.server, Some(window)));
}

#[test]
fn a_session_of_an_earlier_server_is_known_by_the_process_of_the_server() {
    let (_folder, store) = empty();
    store.note_place(&place("s", 7)).unwrap();
    work(&store, "s", 1);
    assert_eq!(store.agents_of_earlier_servers(SOCKET, 7).unwrap(), [""; 0]);
    assert_eq!(store.agents_of_earlier_servers(SOCKET, 8).unwrap(), ["s"]);
    assert_eq!(store.agents_of_earlier_servers("/tmp/other", 8).unwrap(), [""; 0]);
}

#[test]
fn a_session_resumed_in_another_process_begins_anew() {
    let (_folder, store) = empty();
    work(&store, "s", 1);
    let seen = |pid| Sighting { pid, ..sighting("s", None, 6_000) };
    // The same process after a compaction, or one that is not known.
    for pid in [Some(1), None] {
        store.add_agent(&seen(pid), Status::Idle, None).unwrap();
        assert_eq!(store.agents().unwrap()[0].status, Status::Working);
    }
    store.add_agent(&seen(Some(2)), Status::Idle, None).unwrap();
    assert_eq!(store.agents().unwrap()[0].status, Status::Idle);
}

#[test]
fn old_places_go_unless_the_session_runs() {
    let (_folder, store) = empty();
    for session in ["runs", "old"] {
        store.note_place(&place(session, 7)).unwrap();
    }
    work(&store, "runs", 1);
    store.remove_places_before(Millis(1_000)).unwrap();
    assert_eq!(store.session_places().unwrap().len(), 2);
    store.remove_places_before(Millis(1_001)).unwrap();
    let left: Vec<String> = store.session_places().unwrap().into_iter().map(|place| place.session).collect();
    assert_eq!(left, ["runs"]);
}
