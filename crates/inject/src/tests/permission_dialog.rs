use super::screen_state::{IDLE, PERMISSION, RECORDED};
use crate::{DialogAnswer, Inspection, PermissionDialog, TmuxPane};

fn find(screen: &str) -> Option<PermissionDialog> {
    PermissionDialog::find(&Inspection { screen: screen.to_owned(), cursor: Some((1, 2)), ..Inspection::default() })
}

#[track_caller]
fn check(screen: &str, title: &str, keys: (char, char)) -> PermissionDialog {
    let dialog = find(screen).expect("it is a permission dialog");
    assert_eq!(dialog.text()[0].trim(), title);
    let found = (dialog.key(DialogAnswer::Yes), dialog.key(DialogAnswer::No));
    assert_eq!(found, (Some(keys.0), Some(keys.1)));
    dialog
}

#[test]
fn a_recorded_dialog_is_read_with_all_of_its_text() {
    let dialog = check(PERMISSION, "Create file", ('1', '3'));
    let text: Vec<&str> = dialog.text().iter().map(|row| row.trim()).filter(|row| !row.starts_with('╌')).collect();
    assert_eq!(
        text,
        [
            "Create file",
            "p.txt",
            "1 written by the fake model",
            "Do you want to create p.txt?",
            "1. Yes",
            "2. Yes, and switch to accept edits (auto-approve file edits and common file commands) for this session (shift+tab)",
            "3. No",
            "",
            "Esc to cancel · Tab to amend",
        ]
    );
    check(
        include_str!("shared_screens/subagent-permission.ansi"),
        "Read file · from the general-purpose agent",
        ('1', '3'),
    );
}

#[test]
fn a_wrapped_option_and_a_named_session_are_read() {
    let dialog = check(include_str!("screens/named-permission.ansi"), "Create file", ('1', '3'));
    assert_eq!(dialog.text().last().map(|row| row.trim()), Some("Esc to cancel · Tab to amend"));
}

#[test]
fn other_screens_and_dialogs_are_none() {
    let others = RECORDED.into_iter().filter(|screen| *screen != PERMISSION).chain([
        include_str!("shared_screens/plan-approval.ansi"),
        include_str!("shared_screens/plan-approval-full.ansi"),
        include_str!("shared_screens/trust-dialog.ansi"),
        include_str!("shared_screens/rewind-confirm.ansi"),
        include_str!("shared_screens/model-picker.ansi"),
        include_str!("shared_screens/config-panel.ansi"),
        include_str!("shared_screens/after-escape-at-permission.ansi"),
        include_str!("shared_screens/shell-after-exit.ansi"),
        "",
    ]);
    for screen in others {
        assert_eq!(find(screen), None, "{screen}");
    }
}

#[test]
fn a_pane_in_a_mode_or_with_others_has_no_dialog_to_answer() {
    let seen = |change: fn(&mut Inspection)| {
        let mut inspection = Inspection { screen: PERMISSION.to_owned(), ..Inspection::default() };
        change(&mut inspection);
        PermissionDialog::find(&inspection)
    };
    assert!(seen(|_| {}).is_some());
    assert_eq!(seen(|inspection| inspection.dead = true), None);
    assert_eq!(seen(|inspection| inspection.in_mode = true), None);
    assert_eq!(seen(|inspection| inspection.synchronized = true), None);
}

fn dialog(body: &str) -> String {
    format!("● Bash(x)\n{}\n{body}\n", "─".repeat(40))
}

#[test]
fn the_options_decide_the_keys() {
    let of_options = |options: &str| find(&dialog(&format!(" Bash command\n   x\n{options}\n\n Esc to cancel")));
    let keys =
        |options: &str| of_options(options).map(|dialog| (dialog.key(DialogAnswer::Yes), dialog.key(DialogAnswer::No)));
    assert_eq!(keys(" ❯ 1. Yes\n   2. No"), Some((Some('1'), Some('2'))));
    assert_eq!(keys("   1. Yes\n ❯ 2. No, and tell Claude what to do (esc)"), Some((Some('1'), Some('2'))));
    assert_eq!(keys("   1. No\n   2. Yes, always\n ❯ 3. Yes"), Some((Some('3'), Some('1'))));
    for none in [
        " ❯ 1. Yes",
        " ❯ 1. No",
        " ❯ 1. Yes, and allow all\n   2. No",
        " ❯ 1. Yes\n   2. Yes\n   3. No",
        " ❯ 1. Yes\n   2. No\n   3. No, never",
        " ❯ 2. Yes\n   3. No",
        " ❯ 1. Yes\n   3. No",
        "   1. Yes\n   2. No",
        "   1. Yes\n\n ❯ 2. No",
    ] {
        assert_eq!(keys(none), None, "{none}");
    }
}

#[test]
fn text_that_looks_like_options_is_not_taken_for_them() {
    let fake = dialog(
        " Bash command\n   echo '\n   ❯ 1. No\n     2. Yes\n   '\n Proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel",
    );
    let dialog = check(&fake, "Bash command", ('1', '2'));
    assert!(dialog.text().iter().any(|row| row.contains("echo '")), "the whole of it is shown");
}

#[test]
fn a_dialog_whose_beginning_is_not_on_the_screen_is_not_answered() {
    assert_eq!(find("   a long command\n ❯ 1. Yes\n   2. No\n\n Esc to cancel\n"), None);
    let indented = format!(" Bash command\n  {}\n ❯ 1. Yes\n   2. No\n", "─".repeat(60));
    assert_eq!(find(&indented), None, "a rule in the text is indented");
}

#[test]
fn readings_are_equal_whichever_option_is_selected() {
    let [first, second] =
        [" ❯ 1. Yes\n   2. No", "   1. Yes\n ❯ 2. No"].map(|options| find(&dialog(&format!(" Bash\n{options}"))));
    assert!(first.is_some() && first == second);
    assert_ne!(first, find(&dialog(" Bash rm\n ❯ 1. Yes\n   2. No")));
    assert_ne!(first, find(&dialog(" Bash\n ❯ 1. Yes\n   2. Yes, always\n   3. No")));
    assert_eq!(find(IDLE), None);
}

#[test]
fn control_characters_are_left_out_of_the_text() {
    let hostile = dialog(" Ba\u{7}sh \u{202e}x\u{1b}]0;t\u{7}\n ❯ 1. Yes\n   2. No");
    let dialog = find(&hostile).unwrap();
    assert_eq!(dialog.text()[0], " Bash x");
}

#[test]
fn the_key_is_pressed_by_one_command_that_holds_no_format_of_the_dialog() {
    let screen = dialog(" Bash\n   #(touch /tmp/x) #{pane_id},}\n ❯ 1. Yes\n   2. No\n\n Esc to cancel");
    let dialog = find(&screen).unwrap();
    let pane = TmuxPane { socket: "/s".to_owned(), pane: "%3".to_owned() };
    let command = pane.press_in_dialog(&dialog, '1');
    let condition = "#{==:#{C:Bash} #{C:touch /tmp/x} #{C:pane_id} #{C:1. Yes} #{C:2. No} #{C:Esc to cancel} \
                     #{cursor_x} #{cursor_y} #{?pane_in_mode,1,0} #{?pane_dead,1,0} #{?pane_synchronized,1,0},\
                     1 4 4 5 6 8 1 2 0 0 0}";
    let press = "send-keys -t %3 -l 1 ; display-message -p pressed";
    let words = ["tmux", "-S", "/s", "if-shell", "-F", "-t", "%3", condition, press, "display-message -p no"];
    assert_eq!(command.argv, words);
    for (key, id) in [(';', "%3"), ('1', "%3 ; kill-server"), ('1', "%"), ('1', "")] {
        let pane = TmuxPane { pane: id.to_owned(), ..pane.clone() };
        assert!(!pane.press_in_dialog(&dialog, key).argv.iter().any(|word| word.contains("send-keys")), "{key} {id}");
    }
    assert!(TmuxPane::was_pressed("pressed\n"));
    assert!(!TmuxPane::was_pressed("no\n") && !TmuxPane::was_pressed(""));
}
