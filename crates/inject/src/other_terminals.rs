//! GNU screen, kitty, WezTerm and zellij: typing, and reading the screen where the terminal can print it.

use serde::{Deserialize, Serialize};

use crate::screen_state::Inspection;
use crate::terminal::{Pane, TerminalCommand, printable};

/// The maximum number of bytes in one `stuff` command. screen 4.09 silently drops a command of about 760 or more.
const MAX_STUFF: usize = 500;

/// A window of a GNU screen session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenWindow {
    /// The session's name, as in `$STY`.
    pub session: String,
    /// The window's number, as in `$WINDOW`.
    pub window: String,
}

impl ScreenWindow {
    pub(crate) fn type_text(&self, text: &str) -> Vec<TerminalCommand> {
        let mut chunks = vec![String::new()];
        for ch in printable(text).chars() {
            // `^X` is a control key, `\` an escape and `$X` a variable.
            let escaped = if matches!(ch, '^' | '\\' | '$') { format!("\\{ch}") } else { ch.to_string() };
            match chunks.last_mut() {
                Some(chunk) if chunk.len() + escaped.len() <= MAX_STUFF => chunk.push_str(&escaped),
                Some(_) | None => chunks.push(escaped),
            }
        }
        chunks.iter().filter(|chunk| !chunk.is_empty()).map(|chunk| self.stuff(chunk)).collect()
    }

    pub(crate) fn press(&self, keys: &[u8]) -> TerminalCommand {
        self.stuff(&keys.iter().flat_map(|key| ['^', char::from(key | 0x40)]).collect::<String>())
    }

    fn stuff(&self, escaped: &str) -> TerminalCommand {
        TerminalCommand::new(["screen", "-S", &self.session, "-p", &self.window, "-X", "stuff", escaped])
    }
}

// kitty.

/// A window of kitty. Other terminals call it a pane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KittyWindow {
    /// The socket on which kitty listens, as in `$KITTY_LISTEN_ON`.
    pub socket: String,
    /// The window's number, as in `$KITTY_WINDOW_ID`.
    pub window: String,
}

/// The output of `kitten @ ls`: OS windows, which contain tabs, which contain windows.
#[derive(Deserialize)]
struct OsWindowWire {
    #[serde(default)]
    tabs: Vec<TabWire>,
}

#[derive(Deserialize)]
struct TabWire {
    #[serde(default)]
    windows: Vec<WindowWire>,
}

#[derive(Deserialize)]
struct WindowWire {
    id: u64,
    pid: u32,
}

impl KittyWindow {
    fn kitten(&self, command: &str, args: &[&str]) -> TerminalCommand {
        let id = format!("id:{}", self.window);
        let head = ["kitten", "@", "--to", &self.socket, command, "--match", &id];
        TerminalCommand::new(head.into_iter().chain(args.iter().copied()))
    }
}

impl Pane for KittyWindow {
    fn name(&self) -> String {
        format!("kitty's window {}", self.window)
    }

    fn inspect(&self) -> Vec<TerminalCommand> {
        vec![self.kitten("ls", &[]), self.kitten("get-text", &["--ansi", "--add-cursor"])]
    }

    fn parse(&self, outputs: &[String]) -> Option<Inspection> {
        let [list, text] = outputs else { return None };
        let listed: Vec<OsWindowWire> = serde_json::from_str(list).ok()?;
        let mut windows = listed.into_iter().flat_map(|os| os.tabs).flat_map(|tab| tab.windows);
        let window = windows.find(|window| window.id.to_string() == self.window)?;
        let (screen, cursor) = split_cursor(text);
        Some(Inspection { pid: Some(window.pid), cursor, screen: screen.to_owned(), ..Inspection::default() })
    }

    /// The text is passed on standard input, where backslashes are no escapes.
    fn send(&self, text: String, is_pasted: bool) -> TerminalCommand {
        let args = ["--stdin", "--bracketed-paste", "auto"];
        let args = if is_pasted { &args[..] } else { &args[..1] };
        TerminalCommand { stdin: Some(text), ..self.kitten("send-text", args) }
    }

    fn press(&self, keys: &[u8]) -> TerminalCommand {
        self.send(keys.iter().copied().map(char::from).collect(), false)
    }
}

/// Returns the text without the cursor position that kitty writes after it (`ESC [ row ; column H`), and the position.
fn split_cursor(text: &str) -> (&str, Option<(usize, usize)>) {
    for (at, _) in text.rmatch_indices("\u{1b}[") {
        let inside = &text[at + 2..];
        let Some((position, _)) = inside.split_once('H') else { continue };
        let position = position.split_once(';').and_then(|(row, column)| {
            Some((column.parse::<usize>().ok()?.checked_sub(1)?, row.parse::<usize>().ok()?.checked_sub(1)?))
        });
        if position.is_some() {
            // The sequence that shows or hides the cursor stands before its position.
            let screen = text[..at].trim_end_matches("\u{1b}[?25h").trim_end_matches("\u{1b}[?25l");
            return (screen, position);
        }
    }
    (text, None)
}

// WezTerm.

/// A pane of WezTerm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeztermPane {
    /// The pane's number, as in `$WEZTERM_PANE`.
    pub pane: String,
}

/// A pane in the output of `wezterm cli list`.
#[derive(Deserialize)]
struct ListedWire {
    pane_id: u64,
    #[serde(default)]
    tty_name: Option<String>,
    #[serde(default)]
    cursor_x: Option<usize>,
    #[serde(default)]
    cursor_y: Option<usize>,
    /// The first visible row, counted like `cursor_y`.
    #[serde(default)]
    top_row: Option<usize>,
}

impl WeztermPane {
    fn cli(&self, args: &[&str]) -> TerminalCommand {
        TerminalCommand::new(["wezterm", "cli"].into_iter().chain(args.iter().copied()))
    }
}

impl Pane for WeztermPane {
    fn name(&self) -> String {
        format!("WezTerm's pane {}", self.pane)
    }

    fn inspect(&self) -> Vec<TerminalCommand> {
        vec![self.cli(&["list", "--format", "json"]), self.cli(&["get-text", "--escapes", "--pane-id", &self.pane])]
    }

    fn parse(&self, outputs: &[String]) -> Option<Inspection> {
        let [list, screen] = outputs else { return None };
        let panes: Vec<ListedWire> = serde_json::from_str(list).ok()?;
        let pane = panes.into_iter().find(|listed| listed.pane_id.to_string() == self.pane)?;
        let row = Option::zip(pane.cursor_y, pane.top_row).and_then(|(cursor, top)| cursor.checked_sub(top));
        Some(Inspection {
            tty: pane.tty_name,
            cursor: Option::zip(pane.cursor_x, row),
            screen: screen.clone(),
            ..Inspection::default()
        })
    }

    /// The text is passed on standard input, where no word is taken for an option.
    fn send(&self, text: String, is_pasted: bool) -> TerminalCommand {
        let args = ["send-text", "--pane-id", &self.pane, "--no-paste"];
        let args = if is_pasted { &args[..3] } else { &args[..] };
        TerminalCommand { stdin: Some(text), ..self.cli(args) }
    }

    fn press(&self, keys: &[u8]) -> TerminalCommand {
        self.send(keys.iter().copied().map(char::from).collect(), false)
    }
}

// zellij, from 0.44 on, which accepts a pane's id for typing and for reading.

/// A pane of a zellij session.
///
/// Commands always name the pane: without an id, text goes to the pane in front.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZellijPane {
    /// The session's name, as in `$ZELLIJ_SESSION_NAME`.
    pub session: String,
    /// The pane's number, as in `$ZELLIJ_PANE_ID`.
    pub pane: String,
}

impl ZellijPane {
    fn action(&self, action: &str, args: &[&str]) -> TerminalCommand {
        let id = format!("terminal_{}", self.pane);
        let head = ["zellij", "--session", &self.session, "action", action, "--pane-id", &id];
        TerminalCommand::new(head.into_iter().chain(args.iter().copied()))
    }
}

impl Pane for ZellijPane {
    fn name(&self) -> String {
        format!("zellij's pane {}", self.pane)
    }

    fn inspect(&self) -> Vec<TerminalCommand> {
        vec![self.action("dump-screen", &["--ansi"])]
    }

    /// zellij does not report the cursor's position, so only the cursor that Claude Code draws is known.
    fn parse(&self, outputs: &[String]) -> Option<Inspection> {
        let screen = outputs.first().filter(|screen| !screen.trim().is_empty())?;
        Some(Inspection { screen: screen.clone(), ..Inspection::default() })
    }

    fn send(&self, text: String, is_pasted: bool) -> TerminalCommand {
        self.action(if is_pasted { "paste" } else { "write-chars" }, &["--", &text])
    }

    fn press(&self, keys: &[u8]) -> TerminalCommand {
        let numbers: Vec<String> = keys.iter().map(u8::to_string).collect();
        self.action("write", &numbers.iter().map(String::as_str).collect::<Vec<_>>())
    }
}
