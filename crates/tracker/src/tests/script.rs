//! Whether an option's value is a program or a shell's text, and which text the script gets.

use longhaul_core::Status;

use crate::{Script, script_text, without_control_chars};

#[track_caller]
fn check(text: &str, expected: Script) {
    let files = ["/opt/notify.sh", "/opt/my scripts/notify.sh", "/home/me/bin/notify"];
    assert_eq!(Script::parse(text, Some("/home/me"), |path| files.contains(&path)), expected, "{text}");
}

fn program(path: &str) -> Script {
    Script::Program(path.to_owned())
}

fn shell(text: &str) -> Script {
    Script::Shell(text.to_owned())
}

#[test]
fn a_path_is_a_program() {
    check("/opt/notify.sh", program("/opt/notify.sh"));
    check("  /opt/notify.sh ", program("/opt/notify.sh"));
    check("~/bin/notify", program("/home/me/bin/notify"));
    check("/opt/my scripts/notify.sh", program("/opt/my scripts/notify.sh"));
    check("'/opt/my scripts/notify.sh'", program("/opt/my scripts/notify.sh"));
    check(r"/opt/my\ scripts/notify.sh", program("/opt/my scripts/notify.sh"));
}

#[test]
fn a_path_with_arguments_gets_the_values_behind_them() {
    check("/opt/notify.sh --loud", shell(r#"/opt/notify.sh --loud "$@""#));
    check("~/bin/notify 'two words' x", shell(r#"~/bin/notify 'two words' x "$@""#));
    check("\"/opt/my scripts/notify.sh\" -v", shell(r#""/opt/my scripts/notify.sh" -v "$@""#));
}

#[test]
fn anything_else_is_a_shells_text() {
    for text in [
        "/opt/notify.sh \"$4\"",
        "/opt/notify.sh; true",
        "/opt/notify.sh | cat",
        "/opt/notify.sh > /tmp/x",
        "/opt/notify.sh `date`",
        "/opt/notify.sh # quietly",
        "/opt/no-such-file",
        "notify-send -- \"$4 waits\" \"$5\"",
        "'/opt/notify.sh",
        "~other/notify",
        "",
    ] {
        check(text, shell(text));
    }
    assert_eq!(Script::parse("~/bin/notify", None, |_| true), shell("~/bin/notify"));
}

#[test]
fn values_lose_what_a_terminal_would_obey() {
    assert_eq!(without_control_chars("a\u{1b}]0;x\u{7}b\nc\td é\u{9b}"), "a]0;xbcd é");
}

#[test]
fn a_script_gets_the_reason_of_a_blocked_session_or_else_its_last_prompt() {
    let text = |to: Status| script_text(to, Some("wants to run rm"), Some("clean up"));
    assert_eq!(text(Status::Blocked), "wants to run rm");
    assert_eq!(text(Status::Completed), "clean up", "a reason of before");
    assert_eq!(script_text(Status::Blocked, None, Some("clean up")), "clean up");
    assert_eq!(script_text(Status::Blocked, None, None), "");
}
