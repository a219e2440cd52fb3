//! Sessions of other machines, over a stand-in for ssh that runs commands with another home.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::json;

use super::{OpenView, session};
use crate::poll::{DEADLINE, wait_until};
use crate::sandbox::{Sandbox, bin_dir};
use crate::tmux::Tmux;

/// Writes the stand-in: `hangs` never answers, `lies` prints something else, `evil` prints the file `evil.json`, every other host
/// is `there`.
fn ssh(here: &Sandbox, there: &Sandbox) -> PathBuf {
    let folder = here.path("ssh-bin");
    fs::create_dir_all(&folder).unwrap();
    let script = format!(
        "#!/bin/sh\nfor word; do printf '%s|' \"$word\"; done >> {log}; echo >> {log}\n\
         while [ \"$1\" != -- ]; do shift; done\nhost=$2; shift 2\n\
         case $host in\n  hangs) exec sleep 3600;;\n  floods) exec yes;;\n  lies) printf '\\033]0;title\\007[1, 2'; exit 0;;\n  evil) exec cat {evil};;\n\
         esac\nunset TMUX TMUX_PANE\nexport HOME={home} LONGHAUL_HOME={data} PATH={bin}:$PATH\nexec sh -c \"$*\"\n",
        log = here.path("ssh.log").display(),
        evil = here.path("evil.json").display(),
        home = there.home().display(),
        data = there.data_dir().display(),
        bin = bin_dir().display(),
    );
    let program = folder.join("ssh");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn sessions_of_another_host_are_shown_and_gone_to() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let far_tmux = Tmux::start(&there);
    let (far, _) = session(&there, &far_tmux, "far-1");
    far.submit("nightly build");
    let tmux = Tmux::start(&here);
    let (near, _) = session(&here, &tmux, "near-1");
    near.submit("local work");
    here.write_config(r#"{ "view": { "hosts": ["build1"] } }"#);
    let view = OpenView::open_with(&tmux, "nightly build", Some(&ssh(&here, &there)));
    view.shows("local work");
    view.shows("build1");
    view.press(&["/"]);
    view.type_text("nightly");
    view.press(&["Enter"]);
    view.shows("Runs on build1");
    for key in ["p", "y", "b", "c"] {
        view.press(&[key]);
        view.shows("Sessions of build1 are only shown here");
        view.press(&["Up"]);
        view.shows("Filter: nightly");
    }
    far.draft("seen over there");
    view.press(&["Enter"]);
    view.shows("seen over there");
    wait_until(DEADLINE, "a client there", || !far_tmux.run(&["list-clients"]).is_empty());
    far_tmux.run(&["detach-client", "-s", "main"]);
    view.shows("[Sessions]");
    let log = fs::read_to_string(here.path("ssh.log")).unwrap();
    let asked = "-o|BatchMode=yes|-o|ConnectTimeout=5|-T|--|build1|sh -c 'PATH=\"$HOME/.local/bin:$PATH\" exec longhaul status --json --cost'|";
    assert_eq!(log.lines().next(), Some(asked));
    assert!(log.lines().any(|line| line.starts_with("-t|--|build1|'tmux' '-u' '-S' ")), "{log}");
    view.press(&["Escape"]);
    view.shows("q quit");
    view.press(&["q"]);
    view.shows("AFTER 0");
}

#[test]
fn a_host_that_hangs_floods_or_lies_delays_nothing() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let tmux = Tmux::start(&here);
    let (near, _) = session(&here, &tmux, "near-1");
    near.submit("local work");
    here.write_config(r#"{ "view": { "hosts": ["hangs", "floods", "lies"] } }"#);
    let view = OpenView::open_with(&tmux, "local work", Some(&ssh(&here, &there)));
    view.shows("lies: longhaul is");
    view.shows("floods: ssh failed: it");
    view.press(&["?"]);
    view.shows("send a prompt");
    view.press(&["x"]);
    view.shows("hangs: ssh did not answer");
    assert!(!view.screen().contains("title"), "{}", view.screen());
    view.press(&["q"]);
    view.shows("AFTER 0");
}

#[test]
fn nothing_that_a_host_prints_reaches_a_shell_or_the_terminal() {
    let (here, there) = (Sandbox::new(), Sandbox::new());
    let tmux = Tmux::start(&here);
    let mark = here.path("mark");
    let sockets = [format!("/tmp/x'; touch {0}; '", mark.display()), format!("/tmp/$(touch {})", mark.display())];
    let rows = sockets.iter().enumerate().map(|(at, socket)| {
        json!({
            "session": format!("s{at}"), "status": "idle", "project": format!("danger{at}\u{1b}]0;title\u{7}"), "pane": "%1",
            "tmux_socket": socket, "prompt": format!("'; touch {}; '", mark.display()),
            "target": "$(touch x)",
        })
    });
    fs::write(here.path("evil.json"), json!(rows.collect::<Vec<_>>()).to_string()).unwrap();
    here.write_config(r#"{ "view": { "hosts": ["evil"] } }"#);
    let view = OpenView::open_with(&tmux, "danger0", Some(&ssh(&here, &there)));
    for row in ["danger0", "danger1"] {
        view.press(&["/"]);
        view.type_text(row);
        view.press(&["Enter"]);
        view.shows(&format!("Filter: {row}"));
        view.press(&["Enter"]);
        view.shows("does not run in tmux");
        view.press(&["Escape"]);
        view.shows("q quit");
    }
    view.press(&["q"]);
    view.shows("AFTER 0");
    let log = fs::read_to_string(here.path("ssh.log")).unwrap();
    assert!(log.lines().all(|line| line.starts_with("-o|BatchMode=yes|")), "{log}");
    assert!(!mark.exists());
    assert_ne!(tmux.format(&view.pane, "#{pane_title}"), "title");
}
