//! The view of all sessions, in a real tmux.

mod answering;
mod hosts;
mod sending;

use std::path::Path;

use crate::attached::Attached;
use crate::poll::{DEADLINE, becomes_true, wait_until};
use crate::sandbox::{Sandbox, bin_dir};
use crate::standin::{Options, StandIn};
use crate::tmux::{Pane, Tmux};

/// A view in a pane of its own.
pub(crate) struct OpenView<'a> {
    tmux: &'a Tmux,
    pub(crate) pane: Pane,
}

impl<'a> OpenView<'a> {
    /// Starts the view and waits until it shows `text`. The shell around it prints how it has ended.
    #[track_caller]
    pub(crate) fn open(tmux: &'a Tmux, text: &str) -> Self {
        Self::open_with(tmux, text, None)
    }

    /// As `open`, with programs of `folder` in place of those with the same names.
    #[track_caller]
    pub(crate) fn open_with(tmux: &'a Tmux, text: &str, folder: Option<&Path>) -> Self {
        // In the shell, because tmux sets PATH itself.
        let path = folder.map(|folder| format!("PATH={}:$PATH; export PATH; ", folder.display())).unwrap_or_default();
        let program = bin_dir().join("longhaul");
        let shell = format!("{path}echo BEFORE; {}; echo AFTER $?; exec sleep 3600", program.display());
        let view = Self { tmux, pane: tmux.pane(&["sh", "-c", &shell], &[]) };
        view.shows(text);
        view
    }

    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        let mut last = String::new();
        let came = becomes_true(DEADLINE, || {
            last = self.screen();
            last.contains(text)
        });
        assert!(came, "waited in vain for {text:?}; the view shows\n{last}");
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux.capture(&self.pane)
    }

    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux.send_keys(&self.pane, keys);
    }

    pub(crate) fn type_text(&self, text: &str) {
        self.tmux.type_text(&self.pane, text);
    }
}

/// Starts a stand-in with this session id.
pub(crate) fn session(sandbox: &Sandbox, tmux: &Tmux, id: &str) -> (StandIn, Pane) {
    let options = Options { session: Some(id.to_owned()), ..Options::default() };
    let (standin, pane) = StandIn::in_tmux(sandbox, tmux, &options);
    standin.session_start("startup");
    (standin, pane)
}

#[test]
fn the_list_is_filtered_as_one_types_and_enter_goes_there() {
    let stage = Attached::new();
    let (alpha, _) = session(&stage.sandbox, &stage.tmux, "aaaa-1");
    let (_beta, beta_pane) = session(&stage.sandbox, &stage.tmux, "bbbb-2");
    alpha.submit("look at the parser");
    let view = OpenView::open(&stage.tmux, "look at the parser");
    view.shows("2 sessions");
    view.press(&["/"]);
    view.type_text("bbbb");
    wait_until(DEADLINE, "one row", || !view.screen().lines().take(12).any(|line| line.contains("* working")));
    view.press(&["Enter"]);
    view.shows("Filter: bbbb");
    view.press(&["Enter"]);
    wait_until(DEADLINE, "the other pane", || stage.shown() == beta_pane.0);
    view.shows("[Sessions]");
    view.press(&["Escape"]);
    view.shows("look at the parser");
    view.press(&["?"]);
    view.shows("send a prompt");
    view.press(&["x", "Tab"]);
    view.shows("[Context]");
    view.press(&["Tab", "q"]);
    view.shows("AFTER 0");
}

#[test]
fn the_preview_shows_the_screen_of_the_chosen_session() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    let (alpha, _) = session(&sandbox, &tmux, "aaaa-1");
    let (beta, _) = session(&sandbox, &tmux, "bbbb-2");
    alpha.draft("half a thought of alpha");
    beta.draft("half a thought of beta");
    let view = OpenView::open(&tmux, "half a thought of");
    let first = if view.screen().contains("of alpha") { "alpha" } else { "beta" };
    let second = if first == "alpha" { "beta" } else { "alpha" };
    view.press(&["Down"]);
    view.shows(&format!("half a thought of {second}"));
    view.press(&["Up"]);
    view.shows(&format!("half a thought of {first}"));
    if first == "alpha" { &alpha } else { &beta }.draft("and it follows");
    view.shows("and it follows");
}

#[test]
fn a_resized_terminal_is_drawn_anew_and_left_as_it_was() {
    for signal in [None, Some("TERM")] {
        let sandbox = Sandbox::new();
        let tmux = Tmux::start(&sandbox);
        session(&sandbox, &tmux, "aaaa-1");
        let view = OpenView::open(&tmux, "q quit");
        assert_eq!(tmux.format(&view.pane, "#{alternate_on}"), "1");
        assert!(!view.screen().contains("BEFORE"));
        for (columns, lines) in [("80", "24"), ("40", "15"), ("120", "30")] {
            tmux.run(&["resize-window", "-t", &view.pane.0, "-x", columns, "-y", lines]);
            wait_until(DEADLINE, "the new size", || {
                let screen = view.screen();
                let last = screen.lines().last().unwrap_or_default();
                screen.starts_with("[Sessions]")
                    && last.starts_with("Enter go")
                    && screen.lines().count() == lines.parse::<usize>().unwrap()
            });
        }
        if let Some(signal) = signal {
            let shell = tmux.format(&view.pane, "#{pane_pid}");
            let killed = sandbox.program("pkill").args([&format!("-{signal}"), "-P", &shell, "longhaul"]).status();
            assert!(killed.unwrap().success());
        } else {
            view.press(&["C-c"]);
        }
        view.shows("AFTER");
        let screen = view.screen();
        let code = if signal.is_some() { "AFTER 143" } else { "AFTER 0" };
        assert!(screen.contains("BEFORE") && screen.contains(code) && !screen.contains("Sessions"), "{screen}");
        assert_eq!(tmux.format(&view.pane, "#{alternate_on} #{cursor_flag} #{bracket_paste_flag}"), "0 1 ");
    }
}

#[test]
fn r_runs_reopen_and_comes_back() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    session(&sandbox, &tmux, "aaaa-1");
    let view = OpenView::open(&tmux, "q quit");
    view.press(&["r"]);
    view.shows("Nothing to reopen");
    view.press(&["Enter"]);
    view.shows("[Sessions]");
    view.press(&["q"]);
    view.shows("AFTER 0");
}

#[test]
fn a_terminal_that_is_closed_ends_the_view() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    let view = OpenView::open(&tmux, "q quit");
    let shell = tmux.format(&view.pane, "#{pane_pid}");
    let children = sandbox.program("pgrep").args(["-P", &shell, "longhaul"]).output().unwrap();
    let pid = String::from_utf8(children.stdout).unwrap().trim().to_owned();
    assert!(!pid.is_empty());
    tmux.run(&["kill-pane", "-t", &view.pane.0]);
    wait_until(DEADLINE, "the end of the view", || !Path::new("/proc").join(&pid).exists());
}

#[test]
fn a_panic_leaves_the_terminal_as_it_was() {
    let sandbox = Sandbox::new().with_env("LONGHAUL_TEST_PANIC", "1");
    let tmux = Tmux::start(&sandbox);
    let view = OpenView::open(&tmux, "q quit");
    view.press(&["?"]);
    view.shows("AFTER");
    let screen = view.screen();
    assert!(screen.contains("BEFORE") && screen.contains("panicked"), "{screen}");
    assert_eq!(tmux.format(&view.pane, "#{alternate_on} #{cursor_flag}"), "0 1");
    let modes = sandbox.program("stty").args(["-a", "-F", &tmux.format(&view.pane, "#{pane_tty}")]).output().unwrap();
    let modes = String::from_utf8_lossy(&modes.stdout).into_owned();
    assert!(modes.contains(" icanon") && modes.contains(" echo "), "{modes}");
}

#[test]
fn without_a_terminal_there_is_the_help() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.longhaul(&[]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""));
    assert!(outcome.stderr.contains("Usage: longhaul <COMMAND>"), "{outcome:?}");
    assert!(!sandbox.data_dir().exists());
}

#[test]
fn an_empty_view_creates_nothing() {
    let sandbox = Sandbox::new();
    let tmux = Tmux::start(&sandbox);
    let view = OpenView::open(&tmux, "No sessions.");
    view.press(&["p", "y", "Enter", "q"]);
    view.shows("AFTER 0");
    assert!(!sandbox.data_dir().exists());
}
