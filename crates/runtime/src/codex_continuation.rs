//! Continues in a new session of Codex near the limit of the context: types `/clear` and the first prompt.
//!
//! Codex reports a new session only with its first prompt, so that no event confirms the `/clear`. The screen does.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use fs2::FileExt;
use longhaul_core::event::{HookEvent, Stop};
use longhaul_core::{Env, SessionId};
use longhaul_inject::{
    ScreenState, Terminal, TmuxPane, TurnSign, codex_has_prompts, codex_screen_state, parse_inspection,
};

use crate::continuation::settings;
use crate::{Error, ErrorLog, Home, Hook, files, home, process, usage, waiting_times};

/// The kind of errand in the arguments of the injector.
pub(crate) const KIND: &str = "codex-continuation";

/// The command of Codex that starts a new session in the same window.
const COMMAND: &str = "/clear";

/// How often the command is typed.
const ATTEMPTS: usize = 4;
/// Time between two looks at the screen.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Starts the process that types, if the session has a pane of its own; returns whether it does.
pub(crate) fn start(hook: &Hook<Stop>) -> Result<bool, Error> {
    let (Ok(Terminal::Tmux(pane)), Some(pid)) = (Terminal::detect(&hook.env), hook.env.client_pid) else {
        return Ok(false);
    };
    let session = hook.event.common().session.to_string();
    let args = [session, KIND.to_owned(), pane.socket, pane.pane, pid.to_string()];
    process::spawn_sibling("longhaul-injector", &args)?;
    Ok(true)
}

/// Runs with the arguments after the kind of errand. Returns why nothing was typed, or not everything.
pub(crate) fn deliver(env: &Env, log: &ErrorLog, session: &SessionId, args: &[String]) -> Result<(), Error> {
    let [socket, pane, pid] = args else { return Ok(()) };
    let Ok(pid) = pid.parse() else { return Ok(()) };
    let home = Home::of(env)?;
    let (config, _) = home::config(env)?;
    let folder = process::current_dir(pid);
    let prompt = settings(&config, &home, folder.as_deref()).prompt.as_str().to_owned();
    let typist = Typist { pane: TmuxPane { socket: socket.clone(), pane: pane.clone() }, pid };
    let Some(_lock) = typist.lock(&home)? else { return Ok(()) };
    let store = home.store(waiting_times::DATABASE)?;
    let rollout = store.session(session.as_str())?.and_then(|session| session.transcript);
    let until = Instant::now() + waiting_times::CODEX_SHOWS;
    // Codex refuses commands until the turn is over, and the Stop hook is a part of it.
    while rollout.as_deref().is_some_and(|path| !usage::is_turn_over(Path::new(path))) && Instant::now() < until {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    if let Err(why) = typist.go_on(&prompt) {
        log.write(&format!("session {session}: not continued: {why}; type /new in Codex, the new session goes on"));
        return Ok(());
    }
    let until = Instant::now() + waiting_times::CODEX_SHOWS;
    while store.session(session.as_str())?.is_some_and(|session| session.merged_into.is_none()) {
        if Instant::now() > until {
            log.write(&format!("session {session}: the prompt was typed, but no session has continued this one"));
            break;
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

/// Types into one window of Codex.
struct Typist {
    pane: TmuxPane,
    pid: u32,
}

impl Typist {
    /// Takes the lock of the pane; `None` while another process types into it.
    fn lock(&self, home: &Home) -> Result<Option<File>, Error> {
        let file = files::open_append(&home.locks().join(Terminal::Tmux(self.pane.clone()).lock_name()))?;
        Ok(file.try_lock_exclusive().is_ok().then_some(file))
    }

    fn go_on(&self, prompt: &str) -> Result<(), String> {
        let is_free = |state: &ScreenState, _: &str| {
            matches!(state, ScreenState::Input { draft: None, turn: TurnSign::Idle, .. })
        };
        let is_fresh = |state: &ScreenState, screen: &str| is_free(state, screen) && !codex_has_prompts(screen);
        let mut cleared = Ok(());
        // The window may get to know a moment later that the turn is over.
        for _ in 0..ATTEMPTS {
            self.wait("the input is not empty, or not shown", waiting_times::CODEX_INPUT_FREE, is_free)?;
            self.submit(COMMAND)?;
            cleared = self.wait("Codex has not started a new session", waiting_times::CODEX_CLEARS, is_fresh);
            if cleared.is_ok() {
                break;
            }
        }
        cleared?;
        self.submit(prompt)
    }

    /// Types a text, and submits it if the input shows exactly that. Otherwise it is erased again.
    fn submit(&self, text: &str) -> Result<(), String> {
        let failed = |error: Error| error.chain();
        process::run(&self.pane.type_text(text), waiting_times::TMUX_FOR_CODEX).map_err(failed)?;
        let shown = self.wait(&format!("the input does not show {text:?}"), waiting_times::CODEX_SHOWS, |state, _| {
            state.holds(text)
        });
        if let Err(why) = shown {
            // What was typed must not stay. Keys go only to an input that is shown.
            if matches!(self.look(), Some((ScreenState::Input { draft: Some(_), .. }, _))) {
                process::run(&self.pane.erase(text.chars().count()), waiting_times::TMUX_FOR_CODEX).map_err(failed)?;
            }
            return Err(why);
        }
        process::run(&self.pane.press_enter(), waiting_times::TMUX_FOR_CODEX).map(drop).map_err(failed)
    }

    fn wait(&self, why: &str, patience: Duration, is: impl Fn(&ScreenState, &str) -> bool) -> Result<(), String> {
        let until = Instant::now() + patience;
        loop {
            let seen = self.look().ok_or("Codex does not run in its pane any more")?;
            if is(&seen.0, &seen.1) {
                return Ok(());
            }
            if Instant::now() > until {
                return Err(match seen.0 {
                    ScreenState::Unsafe(danger) => format!("{why}: {danger}"),
                    ScreenState::Input { .. } => why.to_owned(),
                });
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    /// Returns the state of the screen and the screen; `None` if the pane does not show this client any more.
    fn look(&self) -> Option<(ScreenState, String)> {
        let shown = process::run(&self.pane.inspect(), waiting_times::TMUX_FOR_CODEX).ok()?;
        let inspection = parse_inspection(&shown)?;
        let is_own = process::client_runs_below(inspection.pid?, Some(self.pid)) && process::is_alive(self.pid);
        is_own.then(|| (codex_screen_state(&inspection), inspection.screen))
    }
}
