//! Tests against a real server. The screen of a client is tested in the integration tests.

use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_core::{Env, Millis, Platform};
use longhaul_tracker::{Menu, MenuItem, Options, Pane};
use tempfile::TempDir;

use super::fit_label::fit;
use super::status_right::{with_status, without_status};
use super::{Server, command, words};
use crate::Home;

/// A server for one test; killed when dropped.
struct Private {
    server: Server,
    dir: TempDir,
}

impl Private {
    fn start() -> Self {
        let dir = tempfile::Builder::new().prefix("lh-").tempdir().unwrap();
        let server = Server {
            socket: dir.path().join("tmux").to_str().unwrap().to_owned(),
            deadline: None,
            limit: crate::waiting_times::TMUX_IN_HOOK,
        };
        let mut step = server.step(&[words(["new-session", "-d", "-s", "main", "-x", "80", "-y", "24", "sleep 3600"])]);
        step.argv.splice(1..1, words(["-f", "/dev/null"]));
        crate::process::run(&step, Duration::from_secs(10)).unwrap();
        Self { server, dir }
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

const HOSTILE: &str = "a'b\"c #{pane_id} #(touch x) #[fg=red] $(y) `z` %H \\ ~ é\u{1f980} \n\n second; third;";

#[test]
fn the_server_is_the_one_that_the_variable_names() {
    let of = |value: &str| {
        let var = |name: &str| (name == "TMUX").then(|| value.to_owned());
        Server::of(&Env::new(Millis(0), Platform::Unix, var)).map(|server| server.socket)
    };
    assert_eq!(of("/tmp/tmux-0/default,11,0").as_deref(), Some("/tmp/tmux-0/default"));
    assert_eq!(of("/tmp/a,b/s,11,0").as_deref(), Some("/tmp/a,b/s"));
    for broken in ["", "/s", "/s,1", ",1,0"] {
        assert_eq!(of(broken), None, "{broken:?}");
    }
}

#[test]
fn panes_are_listed_whatever_their_names_hold() {
    let tmux = Private::start();
    let cwd = tmux.dir.path().join("a\tb\n%9\t1\tx:0.0\t/ #{pid} é;");
    std::fs::create_dir_all(&cwd).unwrap();
    // tmux would expand a folder in its arguments as a format.
    let script = format!("cd {} && exec sleep 3600", longhaul_inject::shell_single_quote(cwd.to_str().unwrap()));
    tmux.run(["new-session", "-d", "-s", "o\tne\n; #{pid} ü", "sh", "-c", &script]);
    let seen = cwd.to_str().unwrap().replace('\n', "\u{fffd}");
    let end = Instant::now() + Duration::from_secs(20);
    let panes = loop {
        let panes = tmux.server.panes().unwrap();
        if panes.iter().any(|live| live.cwd == seen) {
            break panes;
        }
        assert!(Instant::now() < end, "{seen:?} is not in {panes:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(panes.len(), 2, "{panes:?}");
    let live = panes.iter().find(|live| live.pane.id == "%1").unwrap();
    assert_eq!(live.pane.socket, tmux.server.socket);
    assert!(live.target.ends_with(":0.0") && live.target.contains("ü"), "{live:?}");
    assert!(live.pid > 1);
    assert_eq!(panes.iter().find(|live| live.pane.id == "%0").unwrap().target, "main:0.0");
    assert_eq!(tmux.server.active_panes().unwrap(), Vec::<String>::new());
}

#[test]
fn options_survive_whatever_is_in_them() {
    let tmux = Private::start();
    let read = tmux.server.read().unwrap();
    assert_eq!((read.options, read.status), (Options::default(), String::new()));
    tmux.run(["set-option", "-g", "@longhaul-on-blocked", HOSTILE]);
    tmux.run(["set-option", "-g", "@longhaul-on-idle", "\n"]);
    tmux.run(["set-option", "-g", "@claude-tracker-keybinding", "K"]);
    tmux.run(["set-option", "-g", "@claude-tracker-icon-idle", "older"]);
    tmux.run(["set-option", "-g", "@longhaul-icon-idle", "ours"]);
    tmux.run(["set-option", "-g", "@longhaul-icon-working", ""]);
    let options = tmux.server.read().unwrap().options;
    assert_eq!(options.get("on-blocked"), HOSTILE);
    assert_eq!(options.get("key"), "K");
    assert_eq!(options.get("icon-idle"), "ours");
    assert_eq!(options.get("icon-working"), "*");
    assert_eq!(options.get("on-transition"), "");
}

#[test]
fn the_status_is_set_without_an_attached_client() {
    let tmux = Private::start();
    for text in ["#[fg=black]0.#[default]", HOSTILE, ";", "\\;", "-x", ""] {
        tmux.server.set_status(text, Some(("%0", Some("idle")))).unwrap().wait().unwrap();
        assert_eq!(tmux.server.read().unwrap().status, text);
    }
    assert_eq!(tmux.run(["show-options", "-pv", "-t", "%0", "@longhaul-state"]), "idle\n");
    tmux.server.set_status("gone", Some(("%77", Some("idle")))).unwrap().wait().unwrap();
    assert_eq!(tmux.server.read().unwrap().status, "gone");
    let nowhere = Server {
        socket: tmux.dir.path().join("nothing").to_str().unwrap().to_owned(),
        deadline: None,
        limit: crate::waiting_times::TMUX_IN_HOOK,
    };
    assert!(nowhere.set_status("x", None).unwrap().wait().is_err());
}

#[test]
fn setup_is_idempotent_and_teardown_leaves_no_trace() {
    let tmux = Private::start();
    tmux.run(["set-option", "-g", "status-right", "#(echo hi) 'x' \"y\" #{pane_id} %H:%M \\;"]);
    tmux.run(["set-hook", "-g", "session-window-changed", "display-message mine"]);
    tmux.run(["bind-key", "a", "display-message", "it's \"mine\" #{pane_id} $HOME;"]);
    let before = tmux.everything();
    tmux.server.setup("env first", &Options::default()).unwrap();
    tmux.server.set_status("x", Some(("%0", Some("idle")))).unwrap().wait().unwrap();
    let lines = tmux.everything();
    let once = lines.join("\n");
    assert_eq!(once.matches("#(#{@longhaul-command} tmux refresh)").count(), 1);
    assert_eq!(once.matches("tmux pane-focus #{pane_id}").count(), 3);
    assert!(once.contains("display-message mine"));
    assert!(once.contains("status-interval 5\n"));
    assert!(!tmux.run(["list-keys"]).contains("it's"));
    tmux.server.setup("env first", &Options::default()).unwrap();
    tmux.assert_is(&lines);
    // After an update, the executable has another path.
    tmux.server.setup("env second", &Options::default()).unwrap();
    tmux.assert_is(&lines.iter().map(|line| line.replace("env first", "env second")).collect::<Vec<_>>());
    tmux.server.teardown().unwrap();
    tmux.assert_is(&before);
    assert_eq!(tmux.run(["show-options", "-p", "-t", "%0"]), "");
    tmux.server.teardown().unwrap();
    tmux.assert_is(&before);
}

#[test]
fn another_key_gives_the_first_one_back() {
    let tmux = Private::start();
    let before = tmux.everything();
    let with_key = |key: &str| Options::from_values(|at| (at == 0).then(|| key.to_owned()));
    for key in ["z", "C-a", ";", "\\", "'", "\"", "#", "~", "z"] {
        tmux.server.setup("env x", &with_key(key)).unwrap();
        let keys = tmux.run(["list-keys", "-T", "prefix"]);
        assert_eq!(keys.matches("tmux menu 1").count(), 1, "{key}: {keys}");
        let zoom = tmux.run(["list-keys", "-T", "prefix", "z"]);
        assert_eq!(zoom.contains("resize-pane -Z"), key != "z", "{key}: {zoom}");
    }
    assert!(tmux.server.setup("env x", &with_key("no-such-key")).is_err());
    tmux.server.teardown().unwrap();
    tmux.assert_is(&before);
}

#[test]
fn the_interval_is_only_lowered_and_a_later_change_by_the_user_stays() {
    let tmux = Private::start();
    let interval = || tmux.run(["show-options", "-gv", "status-interval"]).trim().to_owned();
    for (theirs, with_us) in [("15", "5"), ("3", "3"), ("5", "5"), ("0", "5")] {
        tmux.run(["set-option", "-g", "status-interval", theirs]);
        tmux.server.setup("env x", &Options::default()).unwrap();
        tmux.server.setup("env x", &Options::default()).unwrap();
        assert_eq!(interval(), with_us, "{theirs}");
        tmux.server.teardown().unwrap();
        assert_eq!(interval(), theirs);
    }
    tmux.server.setup("env x", &Options::default()).unwrap();
    tmux.run(["set-option", "-g", "status-interval", "2"]);
    tmux.server.teardown().unwrap();
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
fn the_menu_holds_no_data_in_its_commands() {
    let server = Server { socket: "/s".to_owned(), deadline: None, limit: crate::waiting_times::TMUX_IN_HOOK };
    let pane = |socket: &str| Pane { socket: socket.to_owned(), id: "%3".to_owned() };
    let items = vec![
        MenuItem::Goto { label: "! p;".to_owned(), key: "1".to_owned(), pane: pane("/s") },
        MenuItem::Goto { label: "other".to_owned(), key: "2".to_owned(), pane: pane("/t") },
        MenuItem::Elsewhere { label: "none".to_owned() },
        MenuItem::Separator,
        MenuItem::Page { label: "Next".to_owned(), key: "i".to_owned(), page: 2 },
        MenuItem::Quit { label: "Quit".to_owned(), key: "q".to_owned() },
    ];
    let menu = server.menu(&Menu { title: "AI Agents (1/2)".to_owned(), items }, Some("/dev/pts/1"), 80);
    let focus = "switch-client -Z -t %3 ; run-shell -b '##{@longhaul-command} tmux pane-focus %3'";
    let next = "run-shell -b '##{@longhaul-command} tmux menu 2 --client ##{q:client_name}'";
    let expected = [
        &["display-menu", "-T", "AI Agents (1/2)", "-x", "C", "-y", "C", "-c", "/dev/pts/1", "--"][..],
        &["! p;", "1", focus, "-other", "", "", "-none", "", "", ""],
        &["Next", "i", next, "Quit", "q", ""],
    ];
    assert_eq!(menu, expected.concat());
}

#[test]
fn a_label_is_cut_where_the_screen_ends_and_never_inside_an_escape() {
    assert_eq!(fit("abcdef", 6), "abcdef");
    assert_eq!(fit("abcdefg", 6), "abcde>");
    assert_eq!(fit("a##(b)", 6), "a##(b)");
    assert_eq!(fit("a##(bc)", 6), "a##(bc");
    assert_eq!(fit("a##(bc)", 5), "a##(b");
    assert_eq!(fit("a##(bc)", 3), "a##");
    assert_eq!(fit("日本語", 7), "日本語");
    assert_eq!(fit("日本語", 6), "日本");
    assert_eq!(fit("日本語", 4), "日>");
    assert_eq!(fit("abc", 1), ">");
    assert_eq!(fit("abc", 0), "");
}

#[test]
fn a_setup_that_must_wait_runs_with_the_next_session_and_leaves_no_trace() {
    let tmux = Private::start();
    let before = tmux.everything();
    let ran = tmux.dir.path().join("ran");
    tmux.server.set_up_with_first_session(&format!("echo > '{}'", ran.display())).unwrap();
    assert!(tmux.server.setup_state().unwrap().problem.contains("first session"));
    tmux.run(["new-session", "-d", "-s", "other", "sleep 3600"]);
    let end = Instant::now() + Duration::from_secs(20);
    while !ran.exists() {
        assert!(Instant::now() < end, "the hook has run nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    tmux.server.show_setup_problem("no such key").unwrap();
    tmux.server.show_setup_problem("no such key").unwrap();
    assert_eq!(tmux.server.setup_state().unwrap().problem, "no such key");
    let right = tmux.run(["show-options", "-gv", "status-right"]);
    assert_eq!(right.matches("longhaul is not set up").count(), 1, "{right}");
    tmux.server.setup("env x", &Options::default()).unwrap();
    let state = tmux.server.setup_state().unwrap();
    assert_eq!((state.command.as_str(), state.problem.as_str()), ("env x", ""));
    tmux.server.teardown().unwrap();
    tmux.assert_is(&before);
}
