//! The terminal in which Claude Code runs.

use longhaul_core::hash::fnv1a;
use longhaul_core::{Env, Platform};
use serde::{Deserialize, Serialize};

use crate::chord::Chord;
use crate::gnu_screen::ScreenWindow;
use crate::kitty::KittyWindow;
use crate::osascript::{self, MacTerminal};
use crate::pane::Pane;
use crate::submit_key::{SubmitChord, SubmitKey, text_for_chord};
use crate::terminal_command::TerminalCommand;
use crate::tmux::TmuxPane;
use crate::wezterm::WeztermPane;
use crate::zellij::ZellijPane;

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
