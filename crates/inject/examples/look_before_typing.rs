//! Finds the terminal that Claude Code runs in, reads its screen, and prints the commands that would type into it.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use longhaul_core::{Env, Millis, Platform};
use longhaul_inject::{
    ClientActivity, EditorMode, Terminal, TypeWhen, TypingDecision, may_type, parse_inspection, screen_state,
};

fn main() {
    let env = Env::new(Millis(0), Platform::Unix, |name| match name {
        "TMUX" => Some("/tmp/tmux-0/default,4711,0".to_owned()),
        "TMUX_PANE" => Some("%3".to_owned()),
        _ => None,
    });
    let pane = match Terminal::detect(&env) {
        Ok(Terminal::Tmux(pane)) => pane,
        Ok(other) => return println!("not tmux: {other:?}"),
        Err(reason) => return println!("{reason}"),
    };
    println!("look:  {:?}", pane.inspect().argv);
    // What that prints: facts about the pane, then its screen.
    let rule = "─".repeat(40);
    let idle = format!("%3,0,0,0,4712,2,1\n{rule}\n❯ \n{rule}\n  ? for shortcuts\n");
    let asks = format!("%3,0,0,0,4712,2,1\n{rule}\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n");
    for screen in [idle, asks] {
        let Some(inspection) = parse_inspection(&screen) else { return println!("no such pane") };
        let seen = screen_state(&inspection, EditorMode::Normal);
        match may_type(&seen, ClientActivity::Unknown, TypeWhen::Idle, "·") {
            TypingDecision::Type => println!("type:  {:?}", pane.type_text("·").argv),
            decision => println!("leave: {decision:?}"),
        }
    }
}
