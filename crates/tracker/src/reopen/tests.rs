use std::time::Duration;

use longhaul_core::Millis;
use proptest::prelude::*;

use crate::reopen::{
    Facts, LISTED_MS, LostSessions, MemoryState, Refusal, ServerId, SessionPlace, TmuxSession, Window, WindowPosition,
    chosen, escape_format, is_lost, last_server, model_name, newest_first, open_command, opening_order, position,
    refusal, resume, shortage,
};

/// Returns a session in window `index` of the tmux session `session`, last seen at `seen_ms`.
fn place(id: &str, server: u32, session: &str, index: u32, seen_ms: u64) -> SessionPlace {
    let mut place = SessionPlace::new(id, "claude", seen_ms);
    place.server = Some(ServerId { socket: "/tmp/s".to_owned(), pid: Some(server), started: None });
    place.window = Some(Window::new(session, index, format!("w{index}")));
    place.folder = Some("/p".to_owned());
    place
}

#[test]
fn model_permission_mode_and_configuration_are_those_of_before() {
    let mut place = place("0b5c", 1, "main", 0, 1);
    assert_eq!(resume("/bin/claude", &place).argv, ["/bin/claude", "--resume", "0b5c"]);
    place.permission_mode = Some("acceptEdits".to_owned());
    place.model = Some("claude-opus-5-5[1m]".to_owned());
    place.config_dir = Some("/home/u/.claude-work".to_owned());
    let resumed = resume("/bin/claude", &place);
    let expected = ["--resume", "0b5c", "--permission-mode", "acceptEdits", "--model", "claude-opus-5-5[1m]"];
    assert_eq!(resumed.argv[1..], expected);
    assert_eq!(resumed.variables, ["CLAUDE_CONFIG_DIR=/home/u/.claude-work"]);
}

#[test]
fn a_value_that_is_no_mode_or_model_is_left_out() {
    let mut place = place("0b5c", 1, "main", 0, 1);
    for hostile in ["--dangerously-skip-permissions", "-p", "", "a b", "<synthetic>", "x\ny", &"m".repeat(101)] {
        place.permission_mode = Some(hostile.to_owned());
        place.model = Some(hostile.to_owned());
        assert_eq!(resume("claude", &place).argv, ["claude", "--resume", "0b5c"], "{hostile}");
        assert_eq!(model_name(hostile), None);
    }
    assert_eq!(model_name("us.anthropic.claude-opus-5-5-v1:0"), Some("us.anthropic.claude-opus-5-5-v1:0"));
}

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

#[test]
fn a_session_is_lost_if_neither_its_process_nor_another_client_shows_it() {
    let session = place("a", 1, "main", 0, 1);
    let (other, same) = ("b", "a");
    for (process_runs, running, lost) in [
        (false, &[][..], true),
        (false, &[other], true),
        // It was resumed elsewhere.
        (false, &[same], false),
        (true, &[same], false),
        // Its process has gone on to another session.
        (true, &[other], false),
    ] {
        assert_eq!(is_lost(&session, process_runs, running), lost, "{process_runs} {running:?}");
    }
}

#[track_caller]
fn check(lost: &[SessionPlace], wanted: LostSessions<'_>, expected: &[&str]) {
    let ids: Vec<&str> = chosen(lost, wanted).into_iter().map(|place| place.session.as_str()).collect();
    assert_eq!(ids, expected, "{wanted:?}");
}

#[test]
fn the_last_server_is_that_of_the_newest_session() {
    let mut lost = vec![place("a", 1, "m", 0, 10), place("b", 2, "m", 0, 30), place("c", 2, "m", 1, 5)];
    lost.push(SessionPlace::new("outside", "claude", 40));
    newest_first(&mut lost);
    let ids: Vec<&str> = lost.iter().map(|place| place.session.as_str()).collect();
    assert_eq!(ids, ["outside", "b", "a", "c"]);
    assert_eq!(last_server(&lost).and_then(|server| server.pid), Some(2));
    check(&lost, LostSessions::LastServer, &["b", "c"]);
    check(&lost, LostSessions::Since(Millis(10)), &["outside", "b", "a"]);
    check(&lost, LostSessions::Sessions(&["a".to_owned(), "x".to_owned()]), &["a"]);
    check(&lost[..1], LostSessions::LastServer, &["outside"]);
    check(&[], LostSessions::LastServer, &[]);
}

#[test]
fn a_session_that_is_not_reopened_is_listed_for_thirty_days() {
    assert_eq!(Duration::from_millis(LISTED_MS), Duration::from_hours(30 * 24));
}

#[test]
fn sessions_of_the_same_time_have_a_fixed_order() {
    let mut lost = vec![place("b", 1, "m", 0, 10), place("a", 1, "m", 1, 10)];
    newest_first(&mut lost);
    assert_eq!(lost[0].session, "a");
}

#[track_caller]
fn check_shortage(available_mb: Option<u64>, stalled_percent: Option<f64>, expected: Option<&str>) {
    let found = shortage(MemoryState { available_mb, stalled_percent }, 700);
    assert_eq!(found.as_deref(), expected);
}

#[test]
fn a_client_is_started_only_with_memory_for_it() {
    check_shortage(None, None, None);
    check_shortage(Some(700), Some(9.9), None);
    check_shortage(
        Some(699),
        None,
        Some("only 699 MB of memory are available, and 700 MB are wanted for each session"),
    );
    check_shortage(Some(9000), Some(10.0), Some("the machine has waited for memory 10 % of the last ten seconds"));
}

fn good() -> Facts {
    Facts { folder_problem: None, has_transcript: true, program: Some("/bin/claude".to_owned()) }
}

#[track_caller]
fn check_refusal(change: impl Fn(&mut SessionPlace, &mut Facts), expected: Option<&str>) {
    let (mut place, mut facts) = (place("0b5c-1", 1, "main", 0, 1), good());
    change(&mut place, &mut facts);
    assert_eq!(refusal(&place, &facts).map(|refusal| refusal.to_string()).as_deref(), expected);
}

#[test]
fn a_refusal_says_what_is_missing() {
    check_refusal(|_, _| {}, None);
    check_refusal(
        |_, facts| facts.folder_problem = Some("is now a link to /etc".to_owned()),
        Some("its folder /p is now a link to /etc"),
    );
    check_refusal(|place, _| place.folder = None, Some("its folder is not known"));
    check_refusal(
        |_, facts| facts.has_transcript = false,
        Some("it has no transcript: no prompt was sent yet, or the file was deleted"),
    );
    check_refusal(|_, facts| facts.program = None, Some("there is no claude on the PATH"));
    check_refusal(|place, _| place.server = None, Some("it did not run in tmux"));
    check_refusal(
        |place, _| place.agent_type = Some("teammate".to_owned()),
        Some("it is a teammate, which its own session starts again"),
    );
    check_refusal(|place, _| place.agent_type = Some("worktree".to_owned()), None);
    check_refusal(|place, _| place.client = "cursor".to_owned(), Some("cursor cannot resume a session by its id"));
    let gemini = |place: &mut SessionPlace, facts: &mut Facts| {
        (place.session, place.client) = ("gemini:4ee8".to_owned(), "gemini".to_owned());
        facts.has_transcript = false;
    };
    check_refusal(gemini, None);
}

#[test]
fn an_id_that_looks_like_an_option_is_refused() {
    let long = "a".repeat(101);
    for id in ["-p", "--dangerously-skip-permissions", "", "a b", "a;b", "$(x)", "../x", &long] {
        let mut place = place("x", 1, "main", 0, 1);
        place.session = id.to_owned();
        let expected = Refusal::NotResumable("its id is not one that claude uses".to_owned());
        assert_eq!(refusal(&place, &good()), Some(expected), "{id}");
    }
    let mut codex = place("codex:-x", 1, "main", 0, 1);
    codex.client = "codex".to_owned();
    assert!(refusal(&codex, &good()).is_some());
    codex.session = "codex:019a".to_owned();
    assert_eq!(refusal(&codex, &good()), None);
}

#[test]
fn the_program_gets_its_arguments_without_a_shell() {
    let place = place("0b5c", 1, "main", 4, 1);
    let mut resumed = resume("/bin/claude", &place);
    resumed.variables.push("A=b".to_owned());
    let new = position(&[&place], &[]).unwrap();
    let printed = "#{session_id} #{pane_id} #{window_index}";
    let expected = [
        "new-session",
        "-d",
        "-s",
        "main",
        "-P",
        "-F",
        printed,
        "-c",
        "/p/##{pid}",
        "-n",
        "w4",
        "-e",
        "A=b",
        "--",
        "/bin/claude",
        "--resume",
        "0b5c",
    ];
    assert_eq!(open_command(&new, "/p/#{pid}", &resumed), expected);
    let existing = WindowPosition { session_id: Some("$3".to_owned()), name: None, ..new };
    let words = open_command(&existing, "/p", &resumed);
    assert_eq!(words[..4], ["new-window", "-d", "-t", "$3:4"]);
    assert!(!words.contains(&"-n".to_owned()));
    let anywhere = WindowPosition { index: None, ..existing };
    assert_eq!(open_command(&anywhere, "/p", &resumed)[3], "$3:");
}

/// What tmux 3.3 makes of a format that contains nothing to expand.
fn expanded(format: &str) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('#') {
        let (before, hashes) = rest.split_at(at);
        let count = hashes.len() - hashes.trim_start_matches('#').len();
        let after = &hashes[count..];
        text.push_str(before);
        assert!(after.starts_with('[') || count % 2 == 0, "{format} expands something");
        text.push_str(&"#".repeat(if after.starts_with('[') { count } else { count / 2 }));
        rest = after;
    }
    text + rest
}

proptest! {
    #[test]
    fn nothing_in_a_name_is_expanded(name in "[#\\[\\]{}()a-c ]{0,12}") {
        prop_assert_eq!(expanded(&escape_format(&name)), name);
    }
}
