//! Tests against a real server. The screen of a client is tested in the integration tests.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use longhaul_core::{Env, Millis, Platform};
use longhaul_tracker::Options;
use tempfile::TempDir;

use super::{Server, check_socket, client, folder_problem, is_trusted, words};

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
            limit: crate::tmux::PATIENCE_IN_HOOK,
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
    assert_eq!(tmux.server.clients().unwrap(), []);
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
        tmux.server.set_status(text, Some(("%0", Some("idle")))).unwrap();
        assert_eq!(tmux.server.read().unwrap().status, text);
    }
    assert_eq!(tmux.run(["show-options", "-pv", "-t", "%0", "@longhaul-state"]), "idle\n");
    tmux.server.set_status("gone", Some(("%77", Some("idle")))).unwrap();
    assert_eq!(tmux.server.read().unwrap().status, "gone");
    let nowhere = Server {
        socket: tmux.dir.path().join("nothing").to_str().unwrap().to_owned(),
        deadline: None,
        limit: crate::tmux::PATIENCE_IN_HOOK,
    };
    assert!(nowhere.set_status("x", None).is_err());
}

#[test]
fn a_client_without_focus_reports_is_not_focused_or_unfocused() {
    let line = "/dev/pts/3\t%1\t0\t1\t1794707999\t/dev/pts/3\txterm-256color\t";
    let read = client(line).unwrap();
    assert_eq!((read.tty.as_str(), read.pane.as_str(), read.focused), ("/dev/pts/3", "%1", None));
    assert_eq!((read.active_at, read.term.as_str(), read.program.as_str()), (1_794_707_999, "xterm-256color", ""));
    let focused = |line: &str| client(line).unwrap().focused;
    assert_eq!(focused("t\t%1\t1\t1\t5\tn\tfoot\tfoot(1.2)"), Some(true));
    assert_eq!(focused("t\t%1\t1\t0\t5\tn\tfoot\tfoot(1.2)"), Some(false));
    assert_eq!(client("t\t%1"), None);
}

#[track_caller]
fn refused(socket: &std::path::Path, with: &str) {
    let error = check_socket(socket.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains(with), "{error}");
}

#[test]
fn a_folder_in_which_others_can_replace_the_socket_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("s");
    let set = |mode| fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
    assert!(check_socket(socket.to_str().unwrap()).is_ok(), "a server may be started in a folder of one's own");
    set(0o1777);
    refused(&socket, "no server running on");
    let _listener = UnixListener::bind(&socket).unwrap();
    assert!(check_socket(socket.to_str().unwrap()).is_ok(), "as in /tmp");
    set(0o777);
    refused(&socket, "every user can replace it");
    refused(&dir.path().join("none/s"), "no server running on");
}

#[test]
fn only_the_user_and_root_are_trusted() {
    assert!(is_trusted(1000, 1000) && is_trusted(0, 1000) && !is_trusted(1001, 1000) && !is_trusted(1000, 0));
    assert_eq!(folder_problem(1001, 1000), Some("its folder belongs to another user"));
    if !rustix::process::getuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (folder, link) = (dir.path().join("tmux-0"), dir.path().join("link"));
    fs::create_dir(&folder).unwrap();
    let _listener = UnixListener::bind(folder.join("s")).unwrap();
    chown(folder.join("s"), Some(65534), None).unwrap();
    refused(&folder.join("s"), "it belongs to another user");
    chown(&folder, Some(65534), None).unwrap();
    symlink(&folder, &link).unwrap();
    refused(&folder.join("s"), "its folder belongs to another user");
    refused(&link.join("s"), "its folder belongs to another user");
}
