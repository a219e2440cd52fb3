//! The terminal in which Claude Code runs: which one, what can be done there, and the commands that do it.

use longhaul_core::hash::fnv1a;
use longhaul_core::{Env, Platform};
use serde::{Deserialize, Serialize};

use crate::osascript::{self, MacTerminal};
use crate::other_terminals::{KittyWindow, ScreenWindow, WeztermPane, ZellijPane};
use crate::screen_state::Inspection;
use crate::submit_key::{Chord, SubmitChord, text_for_chord};
use crate::tmux::{TmuxPane, is_pane_id};

/// A terminal that text can be typed into. It is stored with the session as `{"kind": "tmux", …}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Terminal {
    /// A pane of a tmux server.
    Tmux(TmuxPane),
    /// A window of a GNU screen session.
    Screen(ScreenWindow),
    /// A pane of a zellij session.
    Zellij(ZellijPane),
    /// A pane of WezTerm.
    Wezterm(WeztermPane),
    /// A window of kitty.
    Kitty(KittyWindow),
    /// A macOS application, which receives keys from System Events while it is in front.
    Osascript(MacTerminal),
}

/// Why there is no terminal to type into.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoTerminal {
    /// No supported terminal was found, and the platform has no other way to type.
    #[error("no terminal that can be typed into: run Claude Code in tmux, GNU screen, zellij, WezTerm or kitty")]
    NoMultiplexer,
    /// A variable that describes the terminal is malformed, or another one is missing; text could go to the wrong place.
    #[error("{0}")]
    Malformed(String),
    /// `$KITTY_WINDOW_ID` is set, and `$KITTY_LISTEN_ON` is not.
    #[error(
        "kitty accepts no commands: set `allow_remote_control socket-only` and `listen_on unix:/tmp/kitty` in kitty.conf"
    )]
    NoKittySocket,
    /// macOS, and the terminal's application is unknown.
    #[error("no tmux, GNU screen, zellij, WezTerm or kitty, and $TERM_PROGRAM names no supported terminal: {value:?}")]
    UnknownMacTerminal {
        /// What `$TERM_PROGRAM` held; empty where it is not set.
        value: String,
    },
}

impl Terminal {
    /// Returns the terminal that the environment describes. A multiplexer comes before the terminal that it runs in.
    ///
    /// A malformed variable, such as `$TMUX` or `$STY`, is an error. The next terminal is not tried, because text could go
    /// to the wrong place.
    pub fn detect(env: &Env) -> Result<Self, NoTerminal> {
        if let Some(tmux) = &env.tmux {
            return detect_tmux(tmux, env.tmux_pane.as_deref()).map(Self::Tmux);
        }
        if let Some(session) = &env.screen_session {
            // Without the number, text would go to the window in front.
            let window = number(env.screen_window.as_ref(), || "$STY is set, but $WINDOW is not a number".to_owned())?;
            return Ok(Self::Screen(ScreenWindow { session: session.clone(), window }));
        }
        if let Some(session) = &env.zellij_session {
            let problem = || "$ZELLIJ_SESSION_NAME is set, but $ZELLIJ_PANE_ID is not a number".to_owned();
            let pane = number(env.zellij_pane.as_ref(), problem)?;
            return Ok(Self::Zellij(ZellijPane { session: session.clone(), pane }));
        }
        if let Some(pane) = &env.wezterm_pane {
            let pane = number(Some(pane), || format!("$WEZTERM_PANE is not a number: {pane:?}"))?;
            return Ok(Self::Wezterm(WeztermPane { pane }));
        }
        if let Some(window) = env.kitty_window.clone().filter(|window| is_number(window)) {
            match (&env.kitty_socket, env.platform) {
                (Some(socket), _) => return Ok(Self::Kitty(KittyWindow { socket: socket.clone(), window })),
                // System Events can type into it.
                (None, Platform::MacOs) => {}
                (None, Platform::Unix) => return Err(NoTerminal::NoKittySocket),
            }
        }
        match env.platform {
            Platform::MacOs => {
                let program = env.term_program.as_deref().unwrap_or_default();
                osascript::application(program)
                    .map(|app| Self::Osascript(MacTerminal { app: app.to_owned() }))
                    .ok_or_else(|| NoTerminal::UnknownMacTerminal { value: program.to_owned() })
            }
            Platform::Unix => Err(NoTerminal::NoMultiplexer),
        }
    }

    /// Returns the name of the terminal's lock file, of `[A-Za-z0-9_-]` only. Different terminals have different names.
    pub fn lock_name(&self) -> String {
        match self {
            Self::Tmux(TmuxPane { socket, pane }) => {
                let pane: String = pane.chars().filter(char::is_ascii_alphanumeric).collect();
                format!("tmux-{}-{pane}", file_name_of(socket))
            }
            Self::Screen(ScreenWindow { session, window }) => format!("screen-{:016x}", fnv(&[session, window])),
            Self::Zellij(ZellijPane { session, pane }) => format!("zellij-{:016x}", fnv(&[session, pane])),
            Self::Wezterm(WeztermPane { pane }) => format!("wezterm-{pane}"),
            Self::Kitty(KittyWindow { socket, window }) => format!("kitty-{:016x}", fnv(&[socket, window])),
            Self::Osascript(MacTerminal { app }) => format!("osascript-{:016x}", fnv(&[app])),
        }
    }

    /// Returns the pane whose screen can be read; `None` where the terminal's screen cannot be read.
    pub fn pane(&self) -> Option<&dyn Pane> {
        match self {
            Self::Tmux(pane) => Some(pane),
            Self::Zellij(pane) => Some(pane),
            Self::Wezterm(pane) => Some(pane),
            Self::Kitty(window) => Some(window),
            Self::Screen(_) | Self::Osascript(_) => None,
        }
    }

    /// Returns whether text may be typed although reading the screen failed, if the user allows it.
    ///
    /// Some versions of these terminals accept text and cannot return their screen. tmux always can.
    pub fn may_be_blind(&self) -> bool {
        matches!(self, Self::Zellij(_) | Self::Wezterm(_) | Self::Kitty(_))
    }

    /// Returns whether the terminal passes the keys of `chord` on to Claude Code.
    pub fn passes(&self, chord: &SubmitChord) -> bool {
        match self {
            Self::Osascript(terminal) => terminal.passes(&chord.submit),
            Self::Tmux(_) | Self::Screen(_) | Self::Zellij(_) | Self::Wezterm(_) | Self::Kitty(_) => true,
        }
    }

    /// Returns the commands that type `text` and submit it by `chord` or Enter, without reading the screen in between.
    ///
    /// A chord stashes a draft first, Enter does not. Where there is a [`Terminal::pane`], read its screen before typing and
    /// again before Enter.
    pub fn submit_unseen(&self, text: &str, chord: Option<&SubmitChord>) -> Vec<TerminalCommand> {
        let text = if chord.is_some() { text_for_chord(text) } else { text.to_owned() };
        let stash = chord.and_then(|chord| chord.stash.as_ref()).map(Chord::bytes);
        let submit = chord.map_or_else(|| b"\r".to_vec(), |chord| chord.submit.bytes());
        let steps = |typed: Vec<TerminalCommand>, press: &dyn Fn(&[u8]) -> TerminalCommand| {
            stash.iter().map(|keys| press(keys)).chain(typed).chain([press(&submit)]).collect()
        };
        match (self, self.pane()) {
            (Self::Osascript(terminal), _) => vec![terminal.submit(&text, chord)],
            (Self::Screen(window), _) => steps(window.type_text(&text), &|keys| window.press(keys)),
            (_, Some(pane)) => steps(vec![pane.type_text(&text)], &|keys| pane.press(keys)),
            (_, None) => Vec::new(),
        }
    }
}

/// Returns a file name for a tmux server's socket, of `[0-9a-f]` only. Different sockets have different names.
pub fn file_name_of(socket: &str) -> String {
    format!("{:016x}", fnv(&[socket]))
}

/// Returns the server's socket in a value of `$TMUX`; `None` where the value is malformed.
pub fn tmux_socket(tmux: &str) -> Option<&str> {
    // The socket's path may contain commas, the two fields after it cannot.
    let mut fields = tmux.rsplitn(3, ',');
    let (_session, _pid, socket) = (fields.next()?, fields.next()?, fields.next()?);
    Some(socket).filter(|socket| !socket.is_empty())
}

fn detect_tmux(tmux: &str, pane: Option<&str>) -> Result<TmuxPane, NoTerminal> {
    let malformed = |problem: String| NoTerminal::Malformed(problem);
    let socket =
        tmux_socket(tmux).ok_or_else(|| malformed(format!("$TMUX is not \"socket,pid,session\": {tmux:?}")))?;
    let pane = pane.ok_or_else(|| malformed("$TMUX is set, but $TMUX_PANE is not".to_owned()))?;
    if !is_pane_id(pane) {
        return Err(malformed(format!("$TMUX_PANE is not % and a number: {pane:?}")));
    }
    Ok(TmuxPane { socket: socket.to_owned(), pane: pane.to_owned() })
}

fn number(value: Option<&String>, problem: impl FnOnce() -> String) -> Result<String, NoTerminal> {
    value.filter(|value| is_number(value)).cloned().ok_or_else(|| NoTerminal::Malformed(problem()))
}

pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the 64-bit FNV-1a hash of `parts`, each followed by a zero byte, so that their lengths matter.
fn fnv(parts: &[&str]) -> u64 {
    fnv1a(parts.iter().flat_map(|part| part.bytes().chain([0])))
}

// A command that reads a terminal or types into it.

/// A program to run to its end, without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The program's standard input; `None` for an empty one.
    pub stdin: Option<String>,
}

impl TerminalCommand {
    /// Returns a command without input.
    pub fn new<'a>(argv: impl IntoIterator<Item = &'a str>) -> Self {
        Self { argv: argv.into_iter().map(str::to_owned).collect(), stdin: None }
    }

    /// Returns the path of the socket that a command of tmux connects to, if it names one.
    ///
    /// tmux checks neither the owner of this socket nor that of its folder, and sends its environment there.
    pub fn tmux_socket(&self) -> Option<&str> {
        let (program, arguments) = self.argv.split_first()?;
        let at = arguments.iter().position(|argument| argument == "-S").filter(|_| program == "tmux")?;
        arguments.get(at + 1).map(String::as_str)
    }
}

// Escaping and cleaning text for terminals and shells.

/// Returns `text` without control characters (C0, DEL, C1), including line breaks, and without characters that change the
/// direction of text.
///
/// A terminal treats control characters as keys: a line break submits, an escape interrupts.
pub fn printable(text: &str) -> String {
    text.chars().filter(|ch| is_printable(*ch)).collect()
}

/// Returns whether a character is no control character, does not change the direction of text, and does not end a line.
pub fn is_printable(ch: char) -> bool {
    !ch.is_control() && !matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// Returns `text` as one word for a POSIX shell, in single quotes.
///
/// NUL characters are removed, because no argument can contain one.
pub fn shell_single_quote(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\'', r"'\''"))
}

// Panes whose screen can be read.

/// The maximum length of a text that is typed as key presses, in characters. A longer text is pasted.
const MAX_KEYS: usize = 8;

/// The maximum number of characters that one command erases, so that its arguments stay short.
const MAX_ERASE: usize = 2000;

/// A pane whose screen can be read: the commands that read it and type into it.
pub trait Pane {
    /// Returns the name of the pane, for messages.
    fn name(&self) -> String;

    /// Returns the commands whose outputs [`Pane::parse`] parses.
    fn inspect(&self) -> Vec<TerminalCommand>;

    /// Parses the outputs of [`Pane::inspect`]; returns `None` where the pane does not exist.
    fn parse(&self, outputs: &[String]) -> Option<Inspection>;

    /// Returns the command that sends `text`, which must be printable, as keys or as a bracketed paste.
    fn send(&self, text: String, is_pasted: bool) -> TerminalCommand;

    /// Returns the command that presses the keys for which a keyboard sends these control characters.
    fn press(&self, keys: &[u8]) -> TerminalCommand;

    /// Returns the command that types the printable part of `text`, without submitting it.
    fn type_text(&self, text: &str) -> TerminalCommand {
        let text = printable(text);
        let is_pasted = text.chars().count() > MAX_KEYS;
        self.send(text, is_pasted)
    }

    /// Returns the command that presses `chord`, which must consist of Ctrl and letters.
    fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        self.press(&chord.bytes())
    }

    /// Returns the command that presses Enter, which submits the input.
    fn press_enter(&self) -> TerminalCommand {
        self.press(b"\r")
    }

    /// Returns the command that stashes the draft by Ctrl-S; Claude Code restores it after the next submit.
    fn stash_draft(&self) -> TerminalCommand {
        self.press(b"\x13")
    }

    /// Returns the command that deletes the `count` characters before the cursor.
    ///
    /// It removes text that was typed and must not be submitted. Ctrl-U would clear only one row of a wrapped text. Claude
    /// Code handles every key, but may need 2 s for some hundred: read the screen until the input is empty.
    fn erase(&self, count: usize) -> TerminalCommand {
        self.press(&vec![b'\x7f'; count.min(MAX_ERASE)])
    }
}
