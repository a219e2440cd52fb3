//! Whether a session turns in circles: the same calls with the same results, again and again. What may be spent is decided
//! in `cost/src/limits.rs`.

use longhaul_core::Millis;

use crate::log_line::LogLine;
use crate::window::{TailStart, whole_lines};

/// After this many times the model is told.
pub const TELL_AFTER: usize = 5;

/// After this many times the user is notified.
pub const NOTIFY_AFTER: usize = 10;

/// The longest cycle of calls that is found.
const LONGEST_CYCLE: usize = 3;

/// How many calls are compared; a longer repetition counts as this long.
pub(crate) const MAX_CALLS: usize = LONGEST_CYCLE * NOTIFY_AFTER * 2;

/// The tools that wait for something or ask how far it is.
const WAITING_TOOLS: [&str; 9] = [
    "AgentOutput",
    "AgentOutputTool",
    "BashOutput",
    "Monitor",
    "ScheduleWakeup",
    "Sleep",
    "TaskGet",
    "TaskList",
    "TaskOutput",
];

/// The beginnings of what a shell command says that waits, and then asks how far something is. `await` in code does not.
const WAITING_WORDS: [&str; 4] = ["sleep ", "wait ", "--watch", "--follow"];

/// A call that takes this long waits for something, such as a build.
const WAITING_MS: u64 = 10_000;

/// Returns the mark of a call: two calls with the same tool, input and result have the same one.
///
/// It has 16 bits and depends on the session, so that neither input nor result can be recovered from it, nor calls of different
/// sessions be compared. `None` for a call that waits: to repeat it is what waiting is.
pub fn mark(session: &str, tool: &str, input: &str, result: &str, duration_ms: Option<u64>) -> Option<u16> {
    let waits = WAITING_TOOLS.contains(&tool)
        || duration_ms.is_some_and(|ms| ms >= WAITING_MS)
        || WAITING_WORDS.iter().any(|word| input.match_indices(word).any(|(at, _)| !input[..at].ends_with('a')));
    (!waits).then(|| fold([session, tool, input, result].iter().fold(0, |hash, text| mix(hash, text.as_bytes()))))
}

/// Returns the mark of a subagent, by its id. That of the main conversation is 0.
pub fn agent_mark(agent: Option<&str>) -> u16 {
    agent.map_or(0, |id| fold(mix(0, id.as_bytes())).max(1))
}

/// Adds a text to a hash. A result may have megabytes, and the caller is in a hurry: four words are multiplied at the same time.
fn mix(hash: u64, text: &[u8]) -> u64 {
    let add = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap_or_default());
    let mut blocks = text.chunks_exact(32);
    let mut lanes = [hash, 1, 2, 3];
    for block in &mut blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = add(*lane, word(bytes));
        }
    }
    let [first, others @ ..] = lanes;
    let mut words = blocks.remainder().chunks_exact(8);
    let hash = others.into_iter().chain(words.by_ref().map(word)).fold(first, add);
    let rest = words.remainder().iter().fold(0, |rest, byte| rest << 8 | u64::from(*byte));
    add(add(hash, rest), text.len() as u64)
}

fn fold(hash: u64) -> u16 {
    (hash ^ hash >> 32) as u16 ^ (hash >> 16 ^ hash >> 48) as u16
}

/// Calls that follow each other again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetition {
    /// The number of calls that are repeated: 1 for the same call, 2 or 3 for a cycle.
    pub cycle: usize,
    /// How often they followed each other.
    pub times: usize,
    /// The time of the first one.
    pub since: Millis,
}

/// What to do about a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopStep {
    /// Nothing.
    Nothing,
    /// The model is told once.
    Tell(Repetition),
    /// The user is notified once.
    Notify(Repetition),
    /// The user was notified, and it is over.
    Over,
}

impl LoopStep {
    /// Returns the stage that the log records for it; `None` for nothing.
    pub fn stage(self) -> Option<u8> {
        match self {
            Self::Nothing => None,
            Self::Tell(_) => Some(1),
            Self::Notify(_) => Some(2),
            Self::Over => Some(0),
        }
    }
}

/// Decides about the calls of a subagent, or of the main conversation (0), at the end of a log.
///
/// A prompt begins anew: who asks the same again wants it so. Every step is taken once, because the log records its stage.
pub fn loop_step(tail: &[u8], start: TailStart, agent: u16) -> LoopStep {
    let mut calls: Vec<(Millis, Option<u16>)> = Vec::with_capacity(MAX_CALLS);
    let mut stage = None;
    let lines = whole_lines(tail, start).filter_map(LogLine::parse);
    for line in lines.take_while(|line| !matches!(line, LogLine::Prompt { .. })) {
        if let LogLine::Tool { at, mark, .. } = line
            && agent == 0
        {
            calls.push((at, mark));
        } else if let LogLine::Call { at, mark, agent: of } = line
            && of == agent
        {
            calls.push((at, mark));
        } else if let LogLine::Loop { stage: new, agent: of, .. } = line
            && of == agent
        {
            // How many calls came after it says whether it belongs to them.
            stage.get_or_insert((new, calls.len()));
        }
        if calls.len() >= MAX_CALLS {
            break;
        }
    }
    let Some((repetition, length)) = repetition(&calls) else {
        let before = calls.get(1..).unwrap_or_default();
        let was_long = || repetition(before).is_some_and(|(_, length)| length + 1 >= MAX_CALLS);
        let was_notified = stage.map_or_else(was_long, |(stage, _)| stage == 2);
        return if was_notified { LoopStep::Over } else { LoopStep::Nothing };
    };
    // The user was notified when it was shorter, and the line that says so is further back.
    if length >= MAX_CALLS {
        return LoopStep::Nothing;
    }
    let stage = stage.filter(|(_, after)| *after < length).map_or(0, |(stage, _)| stage);
    match repetition.times {
        NOTIFY_AFTER.. if stage < 2 => LoopStep::Notify(repetition),
        TELL_AFTER.. if stage < 1 => LoopStep::Tell(repetition),
        _ => LoopStep::Nothing,
    }
}

/// Returns the shortest cycle that the newest calls repeat, and how many calls that are. The newest call comes first.
fn repetition(calls: &[(Millis, Option<u16>)]) -> Option<(Repetition, usize)> {
    (1..=LONGEST_CYCLE).find_map(|cycle| {
        let earlier = calls.get(cycle..)?;
        let same = calls.iter().zip(earlier).take_while(|(new, old)| new.1.is_some() && new.1 == old.1).count();
        let times = same / cycle + 1;
        let since = calls.get(times * cycle - 1)?.0;
        (times >= TELL_AFTER).then_some((Repetition { cycle, times, since }, same + cycle))
    })
}

/// Returns what the model is told. `time` is the time of the first call, for a person.
pub fn told(repetition: &Repetition, tool: &str, time: &str) -> String {
    let Repetition { cycle, times, .. } = repetition;
    let what = match cycle {
        1 => {
            format!("The same call of {tool}, with the same input and the same result, was made {times} times in a row")
        }
        cycle => format!(
            "The same {cycle} calls, the last one of {tool}, with the same inputs and the same results, were made {times} times in a row"
        ),
    };
    format!("{what}, since {time}. Nothing has changed in between.")
}

/// Returns what the user is told.
pub fn notified(repetition: &Repetition, tool: &str, time: &str) -> String {
    let Repetition { cycle, times, .. } = repetition;
    match cycle {
        1 => format!("the same call of {tool} with the same result, {times} times since {time}"),
        cycle => format!("the same {cycle} calls with the same results, {times} times since {time}"),
    }
}
