//! A transcript, told as prompts, observations and a summary.

use std::collections::{HashMap, HashSet, VecDeque};

use longhaul_core::event::predicates::bookmark_note;
use longhaul_core::{Config, Millis};
use longhaul_memory::{
    Call, Kind, Observation, RawCall, Summary, TurnText, command_key, fix_of, is_skipped, observe, summarize,
};
use longhaul_transcript::{self as transcript, PromptOrigin, Turn, merge_turns};

use super::super::{SUMMED_UP, clean_prompt};
use crate::Sanitizer;

/// A session that is being told.
pub(crate) struct Teller<'a> {
    config: &'a Config,
    /// The project's folder.
    root: String,
    sanitizer: Sanitizer,
    /// When the last thing happened.
    pub(crate) last_at: Millis,
    /// The turn that may go on in the next piece.
    open: Vec<Turn>,
    running: Running,
    /// Ids of prompts that are taken: one that was typed into a running turn carries that turn's.
    prompt_ids: HashSet<String>,
    said: VecDeque<(String, String)>,
    seen: VecDeque<Observation>,
    /// How each command ended last.
    ended: HashMap<String, Kind>,
}

/// What is known of the turn that is being told.
#[derive(Default)]
struct Running {
    id: String,
    prompt_id: Option<String>,
    /// Nothing of it is to be remembered.
    is_private: bool,
    /// What was asked, until it is stored.
    asked: Option<Asked>,
}

/// A prompt.
pub(crate) struct Asked {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) at: Millis,
    /// Stored only if it led to anything: `/model` asks nothing of the model.
    is_command: bool,
}

/// A part of a turn, without anything private.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) asked: Option<Asked>,
    pub(crate) done: Vec<Done>,
}

/// A tool call, and what is remembered of it.
pub(crate) struct Done {
    pub(crate) call: Call,
    pub(crate) command_key: Option<String>,
    pub(crate) observation: Observation,
    /// What is remembered instead, where the same command had failed before.
    pub(crate) fix: Option<Observation>,
}

impl<'a> Teller<'a> {
    pub(crate) fn new(config: &'a Config, root: String, began: Millis) -> Self {
        Self {
            config,
            root,
            sanitizer: Sanitizer::new(config),
            last_at: began,
            open: Vec::new(),
            running: Running::default(),
            prompt_ids: HashSet::new(),
            said: VecDeque::new(),
            seen: VecDeque::new(),
            ended: HashMap::new(),
        }
    }

    /// Takes in turns in the order of the transcript; returns what can be told by now.
    pub(crate) fn go_on(&mut self, turns: Vec<Turn>) -> Vec<Part> {
        merge_turns(&mut self.open, turns);
        self.parts(false)
    }

    /// Tells the rest, and sums the session up; `None` where there is nothing to say of it.
    pub(crate) fn end(&mut self) -> (Vec<Part>, Option<Summary>) {
        let parts = self.parts(true);
        let turns: Vec<TurnText<'_>> = self.said.iter().map(|(asked, replied)| TurnText { asked, replied }).collect();
        let summary = summarize(&turns, self.seen.make_contiguous());
        (parts, Some(summary).filter(|summary| *summary != Summary::default()))
    }

    /// Tells what the open turns have so far; all but the last are over, and with `is_over` that one, too.
    fn parts(&mut self, is_over: bool) -> Vec<Part> {
        let mut turns = std::mem::take(&mut self.open);
        let count = turns.len();
        let mut parts = Vec::with_capacity(count);
        for (index, turn) in turns.iter_mut().enumerate() {
            parts.push(self.tell(turn, is_over || index + 1 < count));
        }
        // The last one stays: what it has said is needed when it is over, its calls are told.
        self.open = turns.split_off(if is_over { count } else { count.saturating_sub(1) });
        parts.retain(|part| part.asked.is_some() || !part.done.is_empty());
        parts
    }

    /// Takes from a turn what can be told.
    fn tell(&mut self, turn: &mut Turn, is_over: bool) -> Part {
        if self.running.id != turn.id {
            self.begin(turn);
        }
        turn.thinking.clear();
        turn.attachments.clear();
        self.last_at = self.last_at.max(latest(turn));
        let calls = std::mem::take(&mut turn.calls);
        let (whole, waiting): (Vec<_>, Vec<_>) = calls.into_iter().partition(is_whole);
        turn.calls = waiting;
        if self.running.is_private {
            turn.replies.clear();
            // A question that was asked in the middle of a private turn is nobody's secret; what was done is.
            return Part { asked: self.running.asked.take(), done: Vec::new() };
        }
        let mut part = Part { asked: None, done: self.done(turn, whole) };
        let led_to_something = !turn.replies.is_empty() || !part.done.is_empty();
        if let Some(asked) = self.running.asked.take_if(|asked| !asked.is_command || led_to_something) {
            part.asked = Some(asked);
        }
        if is_over {
            let asked = turn.prompt.as_ref().filter(|_| turn.origin.is_person());
            let asked = asked.map(|asked| self.sanitizer.capped(&asked.text)).unwrap_or_default();
            keep_newest(&mut self.said, (asked, self.sanitizer.capped(&turn.reply())));
        }
        part
    }

    fn begin(&mut self, turn: &Turn) {
        let before = std::mem::take(&mut self.running);
        let text = turn.prompt.as_ref().map(|prompt| prompt.text.as_str()).unwrap_or_default();
        let kept = clean_prompt(text, self.sanitizer);
        let is_hidden = kept.is_none() && !text.trim().is_empty();
        // What comes back from a private turn's work, or is typed into it, does not make it public.
        let is_within = before.is_private
            && (!turn.origin.is_person() || same(before.prompt_id.as_deref(), turn.prompt_id.as_deref()));
        self.running = Running {
            id: turn.id.clone(),
            prompt_id: turn.prompt_id.clone(),
            is_private: is_hidden || is_within,
            asked: None,
        };
        // A mark to go back to asks nothing.
        let marker = self.config.bookmarks.marker.as_str();
        let asks = |kept: &String| turn.origin.is_person() && bookmark_note(kept, marker).is_none();
        let Some(text) = kept.filter(asks) else { return };
        let own = turn.prompt_id.clone().filter(|id| self.prompt_ids.insert(id.clone()));
        self.running.asked = Some(Asked {
            id: own.unwrap_or_else(|| turn.id.clone()),
            text,
            at: turn.at.unwrap_or(self.last_at),
            is_command: matches!(turn.origin, PromptOrigin::Command | PromptOrigin::Shell),
        });
    }

    fn done(&mut self, turn: &Turn, calls: Vec<transcript::ToolCall>) -> Vec<Done> {
        let mut done = Vec::with_capacity(calls.len());
        for call in calls {
            let told = told_call(call, turn, &self.root, self.last_at, self.config, self.sanitizer);
            done.extend(told.and_then(|call| self.observe(call)));
        }
        done
    }

    fn observe(&mut self, call: Call) -> Option<Done> {
        let command_key = command_key(&call);
        let observation = observe(&call, Some(&self.root))?;
        let fix = fix_of(&call, command_key.as_deref(), &observation);
        self.remember(command_key.as_deref(), &observation, fix.as_ref());
        Some(Done { call, command_key, observation, fix })
    }

    /// Keeps an observation for the summary, as the store will have it.
    fn remember(&mut self, key: Option<&str>, observation: &Observation, fix: Option<&Observation>) {
        let before = key.and_then(|key| self.ended.get(key));
        let stored = fix.filter(|_| before == Some(&Kind::Problem)).unwrap_or(observation);
        if let Some(key) = key {
            self.ended.insert(key.to_owned(), stored.kind);
        }
        keep_newest(&mut self.seen, Observation { narrative: String::new(), ..stored.clone() });
    }
}

/// Returns a call of a transcript as a hook would have noted it; `None` where it is not remembered, or half of it is missing.
pub(crate) fn told_call(
    call: transcript::ToolCall,
    turn: &Turn,
    root: &str,
    otherwise_at: Millis,
    config: &Config,
    sanitizer: Sanitizer,
) -> Option<Call> {
    let (tool, input, output) = (call.name?, call.input?, call.output?);
    if is_skipped(&tool, &config.memory.skip_tools.0) {
        return None;
    }
    // What a hook is told of a call that failed is its message.
    let result = call.result.filter(|_| !call.is_error);
    let response = result.unwrap_or_else(|| serde_json::Value::from(output).to_string());
    Some(Call::new(&RawCall {
        tool_use_id: &call.id,
        tool: &tool,
        prompt_id: turn.prompt_id.as_deref().unwrap_or_default(),
        input: &input,
        response: &response,
        is_error: call.is_error,
        cwd: root,
        at: call.at.or(turn.at).unwrap_or(otherwise_at),
        duration_ms: None,
        secrets: sanitizer.secrets(),
    }))
}

/// Returns whether both halves of a call are there.
fn is_whole(call: &transcript::ToolCall) -> bool {
    call.input.is_some() && call.output.is_some()
}

fn same(before: Option<&str>, now: Option<&str>) -> bool {
    before.is_some() && before == now
}

/// Returns when the last thing in a turn happened.
fn latest(turn: &Turn) -> Millis {
    let calls = turn.calls.iter().filter_map(|call| call.at);
    let replies = turn.replies.iter().filter_map(|said| said.at);
    calls.chain(replies).chain(turn.at).max().unwrap_or_default()
}

fn keep_newest<T>(kept: &mut VecDeque<T>, one: T) {
    kept.push_back(one);
    if kept.len() > SUMMED_UP {
        kept.pop_front();
    }
}
