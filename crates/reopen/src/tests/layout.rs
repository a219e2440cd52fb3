use super::place;
use crate::{SessionPlace, TmuxSession, Window, opening_order, position};

fn tmux(name: &str, windows: &[u32]) -> TmuxSession {
    TmuxSession { id: format!("${}", name.len()), name: name.to_owned(), windows: windows.to_vec() }
}

/// Opens all sessions one after the other, and returns the windows as `session:index id`.
fn opened(places: &[SessionPlace], mut existing: Vec<TmuxSession>) -> Vec<String> {
    let mut remaining: Vec<&SessionPlace> = places.iter().collect();
    opening_order(&mut remaining);
    let mut windows = Vec::new();
    while let Some(position) = position(&remaining, &existing) {
        let place = remaining.remove(0);
        let taken = existing.iter().find(|session| session.name == position.session);
        let next = taken.and_then(|session| session.windows.iter().max()).map_or(0, |last| last + 1);
        let index = position.index.unwrap_or(next);
        match existing.iter_mut().find(|session| session.name == position.session) {
            Some(session) => {
                assert_eq!(position.session_id.as_ref(), Some(&session.id));
                assert!(!session.windows.contains(&index), "{index} is taken");
                session.windows.push(index);
            }
            None => {
                assert_eq!(position.session_id, None);
                existing.push(tmux(&position.session, &[index]));
            }
        }
        windows.push(format!("{}:{index} {}", position.session, place.session));
    }
    windows
}

#[test]
fn windows_get_the_indexes_that_they_had() {
    let places = [
        place("d", 1, "web", 2, 9),
        place("c", 1, "web", 1, 1),
        place("b", 1, "api", 7, 2),
        place("a", 1, "api", 3, 8),
    ];
    assert_eq!(opened(&places, Vec::new()), ["api:3 a", "api:7 b", "web:1 c", "web:2 d"]);
    // What was opened before an interruption is at its place.
    assert_eq!(opened(&places[..3], vec![tmux("api", &[3])]), ["api:7 b", "web:1 c", "web:2 d"]);
}

#[test]
fn windows_keep_their_order_behind_those_that_are_in_the_way() {
    let places = [place("a", 1, "main", 0, 1), place("b", 1, "main", 1, 2), place("c", 1, "main", 2, 3)];
    let shell = || vec![tmux("main", &[0])];
    assert_eq!(opened(&places, shell()), ["main:1 a", "main:2 b", "main:3 c"]);
    // Interrupted after the first one.
    assert_eq!(opened(&places[1..], vec![tmux("main", &[0, 1])]), ["main:2 b", "main:3 c"]);
    // A window that is not in the way changes nothing.
    assert_eq!(opened(&places, vec![tmux("main", &[5])]), ["main:0 a", "main:1 b", "main:2 c"]);
}

#[test]
fn each_pane_of_a_window_gets_a_window_of_its_own() {
    let mut places = [place("b", 1, "main", 1, 1), place("a", 1, "main", 1, 2), place("c", 1, "main", 2, 3)];
    places[0].window.as_mut().unwrap().pane = 1;
    assert_eq!(opened(&places, Vec::new()), ["main:1 a", "main:2 b", "main:3 c"]);
}

#[test]
fn a_session_without_a_known_window_gets_one_at_the_end() {
    let mut places = [place("a", 1, "main", 1, 1), place("b", 1, "x", 1, 2)];
    places[1].window = None;
    assert_eq!(opened(&places, Vec::new()), ["main:1 a", "reopened:0 b"]);
}

#[test]
fn a_window_that_tmux_names_gets_no_name() {
    let mut place = place("a", 1, "main", 1, 1);
    let name = |place: &SessionPlace| position(&[place], &[]).unwrap().name;
    assert_eq!(name(&place).as_deref(), Some("w1"));
    place.window = Some(Window { names_itself: true, ..Window::new("main", 1, "claude") });
    assert_eq!(name(&place), None);
    place.window = Some(Window::new("main", 1, ""));
    assert_eq!(name(&place), None);
}
