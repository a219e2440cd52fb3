//! Notes on a client process: whether the submit chord works in it, and a text that was left in its input.

use longhaul_core::Env;
use longhaul_inject::{ChordResult, ChordTrial, KeybindingsFile, SubmitKey};
use serde::{Deserialize, Serialize};

use crate::{Error, Home, bounded_read, files, process};

/// `clients/<pid>.json`. There is one file per process, because each process reads keybindings.json at its own time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ClientNotes {
    /// The start time of the process in clock ticks, because pids are reused.
    start: Option<String>,
    /// The result of the last use of the chord.
    experience: Option<ChordTrial>,
    /// A text of Longhaul that may be in the input: it is being typed, or could be neither submitted nor erased.
    pub(super) left: Option<String>,
}

impl ClientNotes {
    /// Reads the notes of a client; empty if there are none for this process.
    pub(super) fn load(home: &Home, pid: Option<u32>) -> Self {
        let start = pid.and_then(process::start_ticks);
        let read = |pid: u32| {
            serde_json::from_slice::<Self>(&bounded_read::bytes(&home.client_file(pid), bounded_read::SMALL).ok()?).ok()
        };
        let notes = pid.and_then(read).filter(|notes| notes.start == start);
        notes.unwrap_or(Self { start, ..Self::default() })
    }

    fn save(&self, home: &Home, pid: u32) -> Result<(), Error> {
        files::replace(&home.client_file(pid), &serde_json::to_vec(self).unwrap_or_default())
    }
}

/// Returns the key that submits in a client, with its notes.
pub(super) fn submit_key(env: &Env, home: &Home, pid: Option<u32>) -> (SubmitKey, ClientNotes) {
    let notes = ClientNotes::load(home, pid);
    let file = read_keybindings(env);
    let file = file.as_ref().map(|(text, written, age)| KeybindingsFile { text, written: *written, age: *age });
    // A result can only be recorded for a known process.
    let key = if pid.is_some() { SubmitKey::choose(file, notes.experience.as_ref()) } else { SubmitKey::Enter };
    (key, notes)
}

/// Returns whether a running client has ignored the submit chord.
pub fn ignores_chord(home: &Home, pid: u32) -> bool {
    let experience = ClientNotes::load(home, Some(pid)).experience;
    experience.is_some_and(|experience| experience.proof == ChordResult::Ignored)
}

/// Records the result of the chord.
pub(super) fn note_proof(env: &Env, home: &Home, pid: u32, key: &SubmitKey, proof: ChordResult) -> Result<(), Error> {
    let Some(chord) = key.chord() else { return Ok(()) };
    let Some((_, file_written, _)) = read_keybindings(env) else { return Ok(()) };
    let experience = ChordTrial { chord: chord.submit.to_string(), file_written, proof };
    ClientNotes { experience: Some(experience), ..ClientNotes::load(home, Some(pid)) }.save(home, pid)
}

/// Records the text that was left in the input; `None` if none is.
pub(super) fn note_left(home: &Home, pid: u32, left: Option<&str>) -> Result<(), Error> {
    let notes = ClientNotes::load(home, Some(pid));
    if notes.left.as_deref() == left {
        return Ok(());
    }
    ClientNotes { left: left.map(str::to_owned), ..notes }.save(home, pid)
}

/// Returns the text of keybindings.json, its modification time, and its age, both in milliseconds.
fn read_keybindings(env: &Env) -> Option<(String, u64, u64)> {
    let path = env.client_dir.as_ref()?.join("keybindings.json");
    let text = bounded_read::text(&path, bounded_read::LARGE).ok()?;
    let modified = path.metadata().ok()?.modified().ok()?;
    // The system clock, because the one in `env` may be fixed.
    let age = modified.elapsed().map_or(0, |age| age.as_millis() as u64);
    Some((text, files::since_epoch(modified)?.0, age))
}
