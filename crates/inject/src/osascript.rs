//! Typing into a macOS terminal without a multiplexer, by osascript: which applications are known, and in which of them
//! Enter is pressed instead of the chord.

use serde::{Deserialize, Serialize};

use crate::submit_key::{Chord, SubmitChord};
use crate::terminal::{TerminalCommand, printable};

/// The script that stashes a draft by the chord in its third argument, types its second argument, and submits it by the
/// chord in its fourth. It fails where the application in its first argument is not in front, also just before a key.
///
/// The text is an argument and never part of the script. The name of an application's process may differ from the name of
/// the application (Warp's is "stable", Code's is "Electron"), so any of its names is accepted.
///
/// A chord is given by its letters, each of which is pressed with Ctrl. With an empty third argument nothing is stashed,
/// with an empty fourth one Enter is pressed.
const SCRIPT: &str = r#"on isInFront(appName)
	tell application "System Events"
		set frontProcess to first application process whose frontmost is true
		return {name of frontProcess, displayed name of frontProcess, short name of frontProcess} contains appName
	end tell
end isInFront

on press(appName, pressed)
	if not isInFront(appName) then error appName & " is no longer in front" number 2
	repeat with letter in characters of pressed
		tell application "System Events" to keystroke (contents of letter) using control down
	end repeat
	if pressed is "" then tell application "System Events" to key code 36
end press

on run argv
	set appName to item 1 of argv
	if not isInFront(appName) then error appName & " is not in front" number 1
	if (item 3 of argv) is not "" then
		press(appName, item 3 of argv)
		delay 0.2
	end if
	tell application "System Events" to keystroke (item 2 of argv)
	delay 0.2
	press(appName, item 4 of argv)
end run"#;

/// The application that handles Ctrl-Q itself, as a shortcut for its list of views.
const KEEPS_CTRL_Q: &str = "Code";

/// Values of `$TERM_PROGRAM` with the names of their applications.
const APPLICATIONS: [(&str, &str); 9] = [
    ("WarpTerminal", "Warp"),
    ("iTerm.app", "iTerm2"),
    ("Apple_Terminal", "Terminal"),
    ("ghostty", "Ghostty"),
    ("vscode", "Code"),
    ("Hyper", "Hyper"),
    ("Alacritty", "Alacritty"),
    ("alacritty", "Alacritty"),
    ("kitty", "kitty"),
];

/// A macOS terminal application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MacTerminal {
    /// The application's name.
    pub app: String,
}

impl MacTerminal {
    /// Returns the command that types the printable part of `text` and submits it by `chord` or Enter, if the application
    /// is in front. A chord stashes a draft first.
    ///
    /// It is one command, because between two of them another application could come to the front.
    pub fn submit(&self, text: &str, chord: Option<&SubmitChord>) -> TerminalCommand {
        let letters = |chord: &Chord| chord.control_letters().unwrap_or_default().into_iter().collect::<String>();
        let stash = chord.and_then(|chord| chord.stash.as_ref()).map(letters).unwrap_or_default();
        let submit = chord.map(|chord| letters(&chord.submit)).unwrap_or_default();
        TerminalCommand::new(["osascript", "-e", SCRIPT, &self.app, &printable(text), &stash, &submit])
    }

    /// Returns whether the application passes the keys of `chord` on to the program that runs in it.
    pub(crate) fn passes(&self, chord: &Chord) -> bool {
        self.app != KEEPS_CTRL_Q || !chord.control_letters().unwrap_or_default().contains(&'q')
    }
}

/// Returns the name of the application for a `$TERM_PROGRAM`, or `None` where it is unknown.
pub(crate) fn application(term_program: &str) -> Option<&'static str> {
    APPLICATIONS.iter().find(|(program, _)| *program == term_program).map(|(_, app)| *app)
}
