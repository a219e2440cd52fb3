//! Bookmarks in zellij, WezTerm and kitty: their programs are played by a script that writes down how it is called and
//! does it to a real pane, in which the stand-in runs as if there were no tmux.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::poll::{DEADLINE, wait_for, wait_until};
use crate::sandbox::{Outcome, Sandbox};
use crate::standin::{Launch, Options, StandIn};
use crate::submit_chord::bind;
use crate::tmux::Tmux;

const SESSION: &str = "terminal-session";

/// Plays the terminal that it is called like.
const PLAYER: &str = r#"#!/bin/sh
name=${0##*/}
echo "$name $*" >> "$PLAYER_LOG"
pane() { tmux -S "$PLAYER_SOCKET" "$@"; }
fact() { pane display-message -p -t main:1 "$1"; }
screen() {
    test -z "$PLAYER_BLIND" || exit 1
    # What /clear does to the client's own record.
    test -e "$PLAYER_LOG.clear" && sed -i s/terminal-session/another-session/ "$HOME"/.claude/sessions/*.json
    pane capture-pane -p -e -t main:1
}
send() { pane load-buffer -b player - \; paste-buffer -d -r $1 -b player -t main:1; }
case "$name $*" in
    zellij-server*) "$@"; exit $? ;;
    "zellij --session s action dump-screen --pane-id terminal_7 --ansi") screen ;;
    "zellij --session s action write-chars --pane-id terminal_7 -- "*) printf %s "$8" | send ;;
    "zellij --session s action paste --pane-id terminal_7 -- "*) printf %s "$8" | send -p ;;
    "zellij --session s action write --pane-id terminal_7 "*)
        shift 6; for byte; do printf "\\$(printf %o "$byte")"; done | send ;;
    "wezterm cli list --format json")
        echo "[{\"pane_id\": 3}, {\"pane_id\": 7, \"tty_name\": \"$(fact '#{pane_tty}')\", \"cursor_x\": $(fact '#{cursor_x}'),
              \"cursor_y\": $(fact '#{cursor_y}'), \"top_row\": 0}]" ;;
    "wezterm cli get-text --escapes --pane-id 7") screen ;;
    "wezterm cli send-text --pane-id 7 --no-paste") send ;;
    "wezterm cli send-text --pane-id 7") send -p ;;
    "kitten @ --to unix:/k ls --match id:7")
        echo "[{\"tabs\": [{\"windows\": [{\"id\": 7, \"pid\": $(fact '#{pane_pid}')}]}]}]" ;;
    "kitten @ --to unix:/k get-text --match id:7 --ansi --add-cursor")
        screen && printf '\033[?25h\033[%d;%dH\033[2 q' $(($(fact '#{cursor_y}') + 1)) $(($(fact '#{cursor_x}') + 1)) ;;
    "kitten @ --to unix:/k send-text --match id:7 --stdin") send ;;
    "kitten @ --to unix:/k send-text --match id:7 --stdin --bracketed-paste auto") send -p ;;
    *) echo "unknown: $*" >&2; exit 2 ;;
esac
"#;

/// The variables by which a client knows where it runs.
const ZELLIJ: &[(&str, &str)] = &[("ZELLIJ_SESSION_NAME", "s"), ("ZELLIJ_PANE_ID", "7")];
const WEZTERM: &[(&str, &str)] = &[("WEZTERM_PANE", "7")];
const KITTY: &[(&str, &str)] = &[("KITTY_LISTEN_ON", "unix:/k"), ("KITTY_WINDOW_ID", "7")];

struct Stage {
    standin: StandIn,
    _tmux: Tmux,
    sandbox: Sandbox,
}

fn stage(variables: &[(&str, &str)], config: &str) -> Stage {
    let plain = Sandbox::new();
    let programs = plain.path("programs");
    fs::create_dir_all(&programs).unwrap();
    for name in ["zellij", "zellij-server", "wezterm", "kitten"] {
        fs::write(programs.join(name), PLAYER).unwrap();
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let (log, socket) = (text(plain.path("player.log")), text(plain.path("tmux")));
    let sandbox = plain.with_programs(&programs).with_env("PLAYER_LOG", log).with_env("PLAYER_SOCKET", socket);
    sandbox.write_config(config);
    let tmux = Tmux::start(&sandbox);
    let launch = Launch::new(&sandbox, &Options { session: Some(SESSION.to_owned()), ..Options::default() });
    let server = text(programs.join("zellij-server"));
    let mut program = vec!["-u", "TMUX", "-u", "TMUX_PANE", &server];
    program.extend(launch.program.iter().map(String::as_str));
    let own = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    tmux.pane(&program, &launch.variables.iter().cloned().chain(own).collect::<Vec<_>>());
    let standin = StandIn::connect(&launch);
    standin.session_start("startup");
    Stage { standin, _tmux: tmux, sandbox }
}

const AFTER_TURN: &str =
    r#"{"bookmarks":{"enabled":"turn_end","thresholds":{"min_tool_calls":3}},"inject":{"patience_seconds":1}}"#;

#[track_caller]
fn check_marker(variables: &[(&str, &str)], sends: &str) {
    let stage = stage(variables, AFTER_TURN);
    stage.standin.turn_with_tools(3);
    stage.standin.stop_with(json!({}));
    let confirmed = || stage.sandbox.count_lines(SESSION, "B") == 1;
    wait_until(DEADLINE, &format!("the bookmark; {}", stage.sandbox.error_log()), confirmed);
    assert_eq!(stage.standin.state().texts(), ["·"]);
    let calls = fs::read_to_string(stage.sandbox.path("player.log")).unwrap();
    assert!(calls.lines().any(|call| call.starts_with(sends)), "{calls}");
}

#[test]
fn the_marker_is_seen_and_submitted_in_zellij() {
    check_marker(ZELLIJ, "zellij --session s action write-chars --pane-id terminal_7 -- ·");
}

#[test]
fn the_marker_is_seen_and_submitted_in_wezterm() {
    check_marker(WEZTERM, "wezterm cli send-text --pane-id 7 --no-paste");
}

#[test]
fn the_marker_is_seen_and_submitted_in_kitty() {
    check_marker(KITTY, "kitten @ --to unix:/k send-text --match id:7 --stdin");
}

#[test]
fn the_chord_submits_in_each_of_them() {
    for (variables, pressed) in [
        (ZELLIJ, "zellij --session s action write --pane-id terminal_7 24 17"),
        (WEZTERM, "wezterm cli send-text --pane-id 7 --no-paste"),
        (KITTY, "kitten @ --to unix:/k send-text --match id:7 --stdin"),
    ] {
        // A draft is left alone for two seconds.
        let stage = stage(variables, &AFTER_TURN.replace("\"patience_seconds\":1", "\"patience_seconds\":30"));
        bind(&stage.sandbox);
        stage.standin.turn_with_tools(3);
        stage.standin.draft("half typed");
        stage.standin.stop_with(json!({}));
        wait_until(DEADLINE, "the bookmark", || stage.sandbox.count_lines(SESSION, "B") == 1);
        let state = stage.standin.wait_for_state("the draft", |state| state.draft == "half typed");
        assert_eq!(state.texts(), ["·"], "{variables:?}");
        assert!(state.submitted[0].by_chord, "{variables:?}");
        let calls = fs::read_to_string(stage.sandbox.path("player.log")).unwrap();
        assert!(calls.lines().any(|call| call == pressed), "{calls}");
    }
}

#[test]
fn nothing_is_typed_into_a_dialog() {
    for variables in [ZELLIJ, WEZTERM, KITTY] {
        let config =
            r#"{"bookmarks":{"enabled":"turn_end","thresholds":{"min_tool_calls":1}},"inject":{"patience_seconds":1}}"#;
        let stage = stage(variables, config);
        stage.standin.turn();
        stage.standin.open_dialog();
        stage.standin.tools(2);
        stage.standin.hook("SubagentStop", json!({ "agent_id": "a", "agent_type": "general-purpose" }));
        wait_until(DEADLINE, "the injector to give up", || stage.sandbox.error_log().contains("waited 1 s"));
        assert!(stage.standin.state().dialog_answers.is_empty(), "{variables:?}");
        let calls = fs::read_to_string(stage.sandbox.path("player.log")).unwrap();
        assert!(!calls.contains("send-text") && !calls.contains("write"), "{calls}");
    }
}

/// Somebody may clear the session between the look at its screen and the text.
#[test]
fn nothing_is_typed_into_the_session_after_a_clear() {
    for mid_turn in [false, true] {
        let config = if mid_turn { AFTER_TURN.replace("\"turn_end\"", "true") } else { AFTER_TURN.to_owned() };
        let stage = stage(ZELLIJ, &config);
        stage.standin.turn();
        fs::write(stage.sandbox.path("player.log.clear"), "").unwrap();
        stage.standin.tools(3);
        if !mid_turn {
            stage.standin.stop();
        }
        let given_up = || stage.sandbox.count_lines(SESSION, "G") == 1;
        wait_until(DEADLINE, &format!("no claim; {}", stage.sandbox.error_log()), given_up);
        let calls = fs::read_to_string(stage.sandbox.path("player.log")).unwrap();
        assert!(calls.contains("dump-screen") && !calls.contains(" write"), "{calls}");
    }
}

#[test]
fn without_a_look_nothing_is_typed() {
    for variables in [ZELLIJ, WEZTERM, KITTY] {
        let blind: Vec<(&str, &str)> = variables.iter().copied().chain([("PLAYER_BLIND", "1")]).collect();
        // A hook that has little time left leaves the bookmark to the injector, which only gives up.
        let stage = wait_for(DEADLINE, "a word about it", || {
            let stage = stage(&blind, AFTER_TURN);
            let mut git = stage.sandbox.program("git");
            assert_eq!(Outcome::of(git.args(["init", "-q"]), b"").status, Some(0));
            stage.standin.turn_with_tools(3);
            let told = stage.standin.stop_with(json!({}));
            let is_told = told.contains("no bookmarks in this session") && told.contains("newer versions");
            is_told.then_some(stage)
        });
        // The snapshot needs no typing.
        wait_for(DEADLINE, "the snapshot", || {
            let taken = stage.sandbox.longhaul(&["snapshots", "--json"]).json();
            taken.as_array()?.iter().any(|snapshot| snapshot["kind"] == "bookmark").then_some(())
        });
        stage.standin.turn_with_tools(3);
        let again = stage.standin.stop_with(json!({}));
        assert!(!again.contains("no bookmarks"), "once: {again}");
        assert!(stage.standin.state().texts().is_empty());
    }
}
