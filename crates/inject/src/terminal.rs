//! The terminal in which Claude Code runs: which one, what can be done there, and the commands that do it.

use longhaul_core::hash::fnv1a;
use longhaul_core::{Env, Platform};
use serde::{Deserialize, Serialize};

use crate::osascript::{self, MacTerminal};
use crate::other_terminals::{KittyWindow, ScreenWindow, WeztermPane, ZellijPane};
use crate::screen_state::{Inspection, parse_inspection};
use crate::submit_key::{Chord, SubmitChord, SubmitKey, text_for_chord};
use crate::tmux::TmuxPane;

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
    /// `$TMUX` is not `socket,pid,session`.
    #[error("$TMUX is not \"socket,pid,session\": {value:?}")]
    BadTmux {
        /// What `$TMUX` held.
        value: String,
    },
    /// `$TMUX` is set, and `$TMUX_PANE` is not.
    #[error("$TMUX is set, but $TMUX_PANE is not")]
    NoPane,
    /// `$TMUX_PANE` is not `%<digits>`.
    #[error("$TMUX_PANE is not % and a number: {value:?}")]
    BadPane {
        /// What `$TMUX_PANE` held.
        value: String,
    },
    /// `$STY` is set, and `$WINDOW` is not a number.
    ///
    /// Without the number, text would go to the window in front.
    #[error("$STY is set, but $WINDOW is not a number")]
    NoScreenWindow,
    /// `$ZELLIJ_SESSION_NAME` is set, and `$ZELLIJ_PANE_ID` is not a number.
    #[error("$ZELLIJ_SESSION_NAME is set, but $ZELLIJ_PANE_ID is not a number")]
    NoZellijPane,
    /// `$WEZTERM_PANE` is not a number.
    #[error("$WEZTERM_PANE is not a number: {value:?}")]
    BadWeztermPane {
        /// What `$WEZTERM_PANE` held.
        value: String,
    },
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
            let window =
                env.screen_window.clone().filter(|window| is_number(window)).ok_or(NoTerminal::NoScreenWindow)?;
            return Ok(Self::Screen(ScreenWindow { session: session.clone(), window }));
        }
        if let Some(session) = &env.zellij_session {
            let pane = env.zellij_pane.clone().filter(|pane| is_number(pane)).ok_or(NoTerminal::NoZellijPane)?;
            return Ok(Self::Zellij(ZellijPane { session: session.clone(), pane }));
        }
        if let Some(pane) = &env.wezterm_pane {
            let bad = || NoTerminal::BadWeztermPane { value: pane.clone() };
            return is_number(pane).then(|| Self::Wezterm(WeztermPane { pane: pane.clone() })).ok_or_else(bad);
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

    /// Returns the commands that stash a draft, type `text` and submit it by `key`, without reading the screen in between.
    ///
    /// With Enter, nothing is stashed: see [`Terminal::submit_blindly`].
    pub fn submit_unseen(&self, text: &str, key: &SubmitKey) -> Vec<TerminalCommand> {
        let SubmitKey::Chord(chord) = key else { return self.submit_blindly(text) };
        let text = text_for_chord(text);
        let submit = |typed: Vec<TerminalCommand>, press: &dyn Fn(&Chord) -> TerminalCommand| -> Vec<TerminalCommand> {
            chord.stash.iter().map(press).chain(typed).chain([press(&chord.submit)]).collect()
        };
        match (self, self.pane()) {
            (Self::Osascript(terminal), _) => vec![terminal.submit_by_chord(&text, chord)],
            (Self::Screen(window), _) => submit(window.type_text(&text), &|chord| window.press_chord(chord)),
            (_, Some(pane)) => submit(vec![pane.type_text(&text)], &|chord| pane.press_chord(chord)),
            (_, None) => self.submit_blindly(&text),
        }
    }

    /// Returns the commands that type `text` and submit it by Enter, without reading the screen in between.
    ///
    /// For terminals whose screen cannot be read. Where there is a [`Terminal::pane`], read its screen before typing and
    /// again before Enter.
    pub fn submit_blindly(&self, text: &str) -> Vec<TerminalCommand> {
        if let Some(pane) = self.pane() {
            return vec![pane.type_text(text), pane.press_enter()];
        }
        match self {
            Self::Screen(window) => {
                let mut steps = window.type_text(text);
                steps.push(window.press_enter());
                steps
            }
            Self::Osascript(terminal) => vec![terminal.submit(text)],
            Self::Tmux(_) | Self::Zellij(_) | Self::Wezterm(_) | Self::Kitty(_) => Vec::new(),
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
    let socket = tmux_socket(tmux).ok_or_else(|| NoTerminal::BadTmux { value: tmux.to_owned() })?.to_owned();
    let pane = pane.ok_or(NoTerminal::NoPane)?;
    if !pane.strip_prefix('%').is_some_and(is_number) {
        return Err(NoTerminal::BadPane { value: pane.to_owned() });
    }
    Ok(TmuxPane { socket, pane: pane.to_owned() })
}

fn is_number(text: &str) -> bool {
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
    pub(crate) fn new<'a>(argv: impl IntoIterator<Item = &'a str>) -> Self {
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

// How a command or prompt is delivered to a session.

/// A command or prompt to deliver to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Errand {
    /// The command `/clear`.
    Clear,
    /// The command `/compact`.
    Compact,
    /// A prompt.
    Prompt,
    /// A bookmark. It must be typed: `/rewind` lists only prompts that were typed.
    Bookmark,
}

impl Errand {
    /// Every errand.
    pub const ALL: [Self; 4] = [Self::Clear, Self::Compact, Self::Prompt, Self::Bookmark];
}

/// How a command or prompt is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMethod<'a> {
    /// By the plugin's module inside Claude Code.
    Bridge,
    /// By typing into this terminal.
    Terminal(&'a Terminal),
    /// There is no way to deliver it.
    None,
}

/// Returns how to deliver `errand`: by the module inside Claude Code where possible, else by typing into `terminal`.
pub fn delivery_method(errand: Errand, has_bridge: bool, terminal: Option<&Terminal>) -> DeliveryMethod<'_> {
    match (errand, terminal) {
        (Errand::Clear | Errand::Compact | Errand::Prompt, _) if has_bridge => DeliveryMethod::Bridge,
        (_, Some(terminal)) => DeliveryMethod::Terminal(terminal),
        (_, None) => DeliveryMethod::None,
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
pub(crate) const MAX_KEYS: usize = 8;

/// The maximum number of characters that one command erases, so that its arguments stay short.
pub(crate) const MAX_ERASE: usize = 2000;

/// A key that Claude Code reacts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaneKey {
    /// Submits the input.
    Enter,
    /// Stashes the draft; Claude Code restores it after the next submit.
    Stash,
    /// Deletes the character before the cursor.
    Backspace,
}

impl PaneKey {
    /// Returns the byte that a terminal sends for the key.
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Enter => b'\r',
            Self::Stash => 0x13,
            Self::Backspace => 0x7f,
        }
    }
}

/// A pane whose screen can be read: the commands that read it and type into it.
pub trait Pane {
    /// Returns the name of the pane, for messages.
    fn name(&self) -> String;

    /// Returns the commands whose outputs [`Pane::parse`] parses.
    fn inspect(&self) -> Vec<TerminalCommand>;

    /// Parses the outputs of [`Pane::inspect`]; returns `None` where the pane does not exist.
    fn parse(&self, outputs: &[String]) -> Option<Inspection>;

    /// Returns the command that types the printable part of `text`, without submitting it.
    fn type_text(&self, text: &str) -> TerminalCommand;

    /// Returns the command that presses `key` `count` times.
    fn press(&self, key: PaneKey, count: usize) -> TerminalCommand;

    /// Returns the command that presses `chord`, which must consist of Ctrl and letters.
    fn press_chord(&self, chord: &Chord) -> TerminalCommand;

    /// Returns the command that presses Enter, which submits the input.
    fn press_enter(&self) -> TerminalCommand {
        self.press(PaneKey::Enter, 1)
    }

    /// Returns the command that stashes the draft; Claude Code restores it after the next submit.
    fn stash_draft(&self) -> TerminalCommand {
        self.press(PaneKey::Stash, 1)
    }

    /// Returns the command that deletes the `count` characters before the cursor.
    fn erase(&self, count: usize) -> TerminalCommand {
        self.press(PaneKey::Backspace, count.min(MAX_ERASE))
    }
}

impl Pane for TmuxPane {
    fn name(&self) -> String {
        format!("pane {}", self.pane)
    }

    fn inspect(&self) -> Vec<TerminalCommand> {
        vec![Self::inspect(self)]
    }

    fn parse(&self, outputs: &[String]) -> Option<Inspection> {
        parse_inspection(outputs.first()?)
    }

    fn type_text(&self, text: &str) -> TerminalCommand {
        Self::type_text(self, text)
    }

    fn press(&self, key: PaneKey, count: usize) -> TerminalCommand {
        match key {
            PaneKey::Enter => Self::press_enter(self),
            PaneKey::Stash => Self::stash_draft(self),
            PaneKey::Backspace => Self::erase(self, count),
        }
    }

    fn press_chord(&self, chord: &Chord) -> TerminalCommand {
        Self::press_chord(self, chord)
    }
}
