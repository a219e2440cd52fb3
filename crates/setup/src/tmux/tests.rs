//! Tests against a real server.

use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_core::Env;
use longhaul_inject::TerminalCommand;
use longhaul_runtime::Home;
use longhaul_runtime::tmux::{Server, words};
use longhaul_tracker::Options;
use tempfile::TempDir;

use super::{
    command, set_up, set_up_with_first_session, setup_state, show_setup_problem, tear_down, with_status, without_status,
};

/// A server for one test; killed when dropped.
struct Private {
    server: Server,
    dir: TempDir,
}

impl Private {
    fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("lh-").tempdir().unwrap();
        let socket = dir.path().join("tmux").to_str().unwrap().to_owned();
        let start = ["tmux", "-f", "/dev/null", "-u", "-S", &socket, "new-session", "-d", "-s", "main"];
        let size = ["-x", "80", "-y", "24", "sleep 3600"];
        let argv = start.iter().chain(&size).map(|word| (*word).to_owned()).collect();
        longhaul_runtime::run_program(&TerminalCommand { argv, stdin: None }, Duration::from_secs(10)).unwrap();
        Self { server: Server::at(&socket), dir }
    }

    #[track_caller]
    fn run<const N: usize>(&self, command: [&str; N]) -> String {
        self.server.run(&[words(command)]).unwrap()
    }

    /// Returns everything that setup may change.
    fn everything(&self) -> Vec<String> {
        let commands = [
            words(["show-options", "-g"]),
            words(["show-options", "-gw"]),
            words(["show-options", "-s"]),
            words(["show-hooks", "-g"]),
            words(["show-hooks", "-gw"]),
            words(["list-keys"]),
        ];
        self.server.run(&commands).unwrap().lines().map(str::to_owned).collect()
    }

    #[track_caller]
    fn assert_is(&self, expected: &[String]) {
        let now = self.everything();
        let lost: Vec<_> = expected.iter().filter(|line| !now.contains(line)).collect();
        let added: Vec<_> = now.iter().filter(|line| !expected.contains(line)).collect();
        assert!(now == expected, "lost {lost:#?}, added {added:#?}");
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        let _ = self.server.run(&[words(["kill-server"])]);
    }
}

#[test]
fn setup_is_idempotent_and_teardown_leaves_no_trace() {
    let tmux = Private::start();
    tmux.run(["set-option", "-g", "status-right", "#(echo hi) 'x' \"y\" #{pane_id} %H:%M \\;"]);
    tmux.run(["set-hook", "-g", "session-window-changed", "display-message mine"]);
    tmux.run(["bind-key", "a", "display-message", "it's \"mine\" #{pane_id} $HOME;"]);
    let before = tmux.everything();
    set_up(&tmux.server, "env first", &Options::default()).unwrap();
    tmux.run(["set-option", "-g", "@longhaul-status", "x"]);
    tmux.run(["set-option", "-p", "-t", "%0", "@longhaul-state", "idle"]);
    let lines = tmux.everything();
    let once = lines.join("\n");
    assert_eq!(once.matches("#(#{@longhaul-command} tmux refresh)").count(), 1);
    assert_eq!(once.matches("tmux pane-focus #{pane_id}").count(), 3);
    assert!(once.contains("display-message mine"));
    assert!(once.contains("status-interval 5\n"));
    assert!(!tmux.run(["list-keys"]).contains("it's"));
    set_up(&tmux.server, "env first", &Options::default()).unwrap();
    tmux.assert_is(&lines);
    // After an update, the executable has another path.
    set_up(&tmux.server, "env second", &Options::default()).unwrap();
    tmux.assert_is(&lines.iter().map(|line| line.replace("env first", "env second")).collect::<Vec<_>>());
    tear_down(&tmux.server).unwrap();
    tmux.assert_is(&before);
    assert_eq!(tmux.run(["show-options", "-p", "-t", "%0"]), "");
    tear_down(&tmux.server).unwrap();
    tmux.assert_is(&before);
}

#[test]
fn another_key_gives_the_first_one_back() {
    let tmux = Private::start();
    let before = tmux.everything();
    let with_key = |key: &str| Options::from_values(|at| (at == 0).then(|| key.to_owned()));
    for key in ["z", "C-a", ";", "\\", "'", "\"", "#", "~", "z"] {
        set_up(&tmux.server, "env x", &with_key(key)).unwrap();
        let keys = tmux.run(["list-keys", "-T", "prefix"]);
        assert_eq!(keys.matches("tmux menu 1").count(), 1, "{key}: {keys}");
        let zoom = tmux.run(["list-keys", "-T", "prefix", "z"]);
        assert_eq!(zoom.contains("resize-pane -Z"), key != "z", "{key}: {zoom}");
    }
    assert!(set_up(&tmux.server, "env x", &with_key("no-such-key")).is_err());
    tear_down(&tmux.server).unwrap();
    tmux.assert_is(&before);
}

#[test]
fn the_interval_is_only_lowered_and_a_later_change_by_the_user_stays() {
    let tmux = Private::start();
    let interval = || tmux.run(["show-options", "-gv", "status-interval"]).trim().to_owned();
    for (theirs, with_us) in [("15", "5"), ("3", "3"), ("5", "5"), ("0", "5")] {
        tmux.run(["set-option", "-g", "status-interval", theirs]);
        set_up(&tmux.server, "env x", &Options::default()).unwrap();
        set_up(&tmux.server, "env x", &Options::default()).unwrap();
        assert_eq!(interval(), with_us, "{theirs}");
        tear_down(&tmux.server).unwrap();
        assert_eq!(interval(), theirs);
    }
    set_up(&tmux.server, "env x", &Options::default()).unwrap();
    tmux.run(["set-option", "-g", "status-interval", "2"]);
    tear_down(&tmux.server).unwrap();
    assert_eq!(interval(), "2");
}

#[test]
fn a_status_that_the_user_placed_is_not_shown_twice() {
    let refresh = "#(#{@longhaul-command} tmux refresh)#{?@longhaul-to-reopen, #{@longhaul-to-reopen} ,}";
    let both = &format!("#{{@longhaul-status}}{refresh} ");
    let check = |right: &str, left: &str, expected: &str| {
        let with = with_status(right, left);
        assert_eq!(with, expected);
        assert_eq!(with_status(&with, left), with);
        assert_eq!(without_status(&with), right);
    };
    check("%H:%M", "", &format!("{both}%H:%M"));
    check("", "", both);
    check("x #{@longhaul-status}", "", &format!("{refresh}x #{{@longhaul-status}}"));
    check("x", "#{@longhaul-status}", &format!("{refresh}x"));
}

#[test]
fn the_command_is_quoted_for_a_shell_whatever_the_paths_contain() {
    let mut env = Env::default();
    env.data_dir = Some("/h o/it's".into());
    let text = command(Path::new("/a b/#{x}/\"y\"/$z"), &Home::of(&env).unwrap(), &env);
    assert_eq!(text, r##"env LONGHAUL_HOME='/h o/it'\''s' '/a b/#{x}/"y"/$z'"##);
}

#[test]
fn a_setup_that_must_wait_runs_with_the_next_session_and_leaves_no_trace() {
    let tmux = Private::start();
    let before = tmux.everything();
    let ran = tmux.dir.path().join("ran");
    set_up_with_first_session(&tmux.server, &format!("echo > '{}'", ran.display())).unwrap();
    assert!(setup_state(&tmux.server).unwrap().problem.contains("first session"));
    tmux.run(["new-session", "-d", "-s", "other", "sleep 3600"]);
    let end = Instant::now() + Duration::from_secs(20);
    while !ran.exists() {
        assert!(Instant::now() < end, "the hook has run nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    show_setup_problem(&tmux.server, "no such key").unwrap();
    show_setup_problem(&tmux.server, "no such key").unwrap();
    assert_eq!(setup_state(&tmux.server).unwrap().problem, "no such key");
    let right = tmux.run(["show-options", "-gv", "status-right"]);
    assert_eq!(right.matches("longhaul is not set up").count(), 1, "{right}");
    set_up(&tmux.server, "env x", &Options::default()).unwrap();
    let state = setup_state(&tmux.server).unwrap();
    assert_eq!((state.command.as_str(), state.problem.as_str()), ("env x", ""));
    tear_down(&tmux.server).unwrap();
    tmux.assert_is(&before);
}
