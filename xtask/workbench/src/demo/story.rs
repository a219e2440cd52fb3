//! The steps of the demo, in order.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use longhaul_activity_log::{
    BookmarkVerdict, Metrics, Situation, SkipReason, TailStart, decide, measure, meets_any_threshold,
};
use longhaul_core::Config;
use longhaul_inject::{
    ClientActivity, EditorMode, ScreenState, TmuxPane, TypeWhen, TypingDecision, may_type, parse_inspection,
    screen_state,
};
use serde_json::{Value, json};
use xtask::run;

use super::session::{ANSWER, CALLS, Call, PROMPT};
use super::voice::Voice;
use super::{COLUMNS, ROWS};
use crate::stage::{Standin, Tmux, until};

const PATIENCE: Duration = Duration::from_secs(10);

/// The demo while it runs.
pub(crate) struct Story<'a> {
    pub(crate) voice: Voice,
    pub(crate) tmux: &'a Tmux,
    pub(crate) standin: Standin,
    pub(crate) cli: &'a Path,
}

impl Story<'_> {
    /// Plays all steps.
    pub(crate) fn tell(mut self) -> Result<()> {
        self.introduce()?;
        self.begin()?;
        self.prompt()?;
        let due = self.work()?;
        self.look_at_pane()?;
        self.cross_threshold(due)?;
        self.show_pane()?;
        self.finish(due)?;
        self.list()
    }

    fn introduce(&self) -> Result<()> {
        self.voice.say(
            "\nLonghaul sets rewind points in long Claude Code sessions, by itself. This plays such a session.\n\n\
             Nothing of yours is touched: the home is a throwaway folder, the tmux server is private, and in\n\
             its pane a program stands in for Claude Code. It draws the same input box and starts the plugin's\n\
             hooks as Claude Code does. The hooks are the real executables, with the default settings.",
        )
    }

    fn begin(&mut self) -> Result<()> {
        self.voice.step("The session starts")?;
        let answer = self.standin.ask(&json!({ "do": "session", "source": "startup" }))?;
        self.voice
            .say(&format!("longhaul-session-start notes in which tmux pane it runs. It answers {}", reply(&answer)))
    }

    fn prompt(&mut self) -> Result<()> {
        self.voice.step("You type one prompt, and wait")?;
        self.tmux.type_line(&self.standin.pane, PROMPT)?;
        self.voice.say(&format!("❯ {PROMPT}"))?;
        until("the turn to begin", PATIENCE, || {
            let state = self.standin.ask(&json!({ "do": "state" }))?;
            Ok((state["turns"] == 1).then_some(()))
        })?;
        let line = self.standin.log.lines().pop().context("the prompt is not in the activity log")?;
        self.voice.say("longhaul-user-prompt-submit appends to the session's activity log:")?;
        self.voice.show(&line, "a prompt, with the time in milliseconds")
    }

    /// Plays the calls before the one that makes a bookmark due; returns that call's number, from 0.
    fn work(&mut self) -> Result<usize> {
        let limits = Config::default().bookmarks.thresholds;
        self.voice.step("Claude works: every tool call is counted")?;
        self.voice.say(&format!(
            "longhaul-post-tool-use appends one line per call, and adds up what came since the last bookmark.\n\
             Enough is {} tool calls, {} tokens, {} seconds or {} subagents, whichever comes first.",
            limits.min_tool_calls.0,
            limits.min_tokens.0,
            limits.min_seconds.get(),
            limits.agent_burst_threshold.0
        ))?;
        let due = limits.min_tool_calls.0 as usize - 1;
        for call in &CALLS[..due] {
            self.play(call)?;
        }
        Ok(due)
    }

    fn play(&mut self, call: &Call) -> Result<Value> {
        let command = json!({
            "do": "tool",
            "name": call.tool,
            "input": { call.key: call.subject },
            "response": "x".repeat(call.chars),
        });
        let answer = self.standin.ask(&command)?;
        let lines = self.standin.log.lines();
        let line = lines.iter().rfind(|line| line.starts_with('T')).context("the call is not in the activity log")?;
        let subject = format!("{} {}", call.tool, call.subject);
        // Typing a bookmark starts a new window, so the totals would be of that one.
        let counted = if lines.last() == Some(line) { totals(&self.standin.log.metrics()) } else { String::new() };
        self.voice.show(line, format!("{subject:<50} {counted}").trim_end())?;
        Ok(answer)
    }

    /// Inspects the pane with the functions that the hook uses.
    fn look_at_pane(&mut self) -> Result<()> {
        self.voice.step("The next call meets the threshold. Before anything is typed, the pane is inspected")?;
        let socket = self.tmux.variable.split(',').next().unwrap_or_default().to_owned();
        let inspect = TmuxPane { socket, pane: self.standin.pane.clone() }.inspect();
        let (program, arguments) = inspect.argv.split_first().context("the command to inspect the pane is empty")?;
        let seen =
            parse_inspection(&run::output(run::program(program).args(arguments))?).context("the pane is gone")?;
        let look = screen_state(&seen, EditorMode::Normal);
        ensure!(matches!(look, ScreenState::Input { .. }), "the pane is not as it should be: {look:?}");
        let decision = may_type(&look, ClientActivity::Busy, TypeWhen::MidTurn, "·");
        ensure!(decision == TypingDecision::Type, "the pane is not safe to type into: {decision:?}");
        self.voice.succeed("the pane is alive, shows the client and is not in copy-mode")?;
        self.voice.succeed("a turn is running: what is typed now costs no request of its own")?;
        self.voice.succeed("the input is empty: no draft of yours would be sent along")?;
        self.voice.succeed("no dialog is open that would take Enter for a yes")
    }

    fn cross_threshold(&mut self, due: usize) -> Result<()> {
        self.voice.step("The threshold is met: · is typed into the running turn")?;
        let answer = self.play(&CALLS[due])?;
        let log = &self.standin.log;
        let found = until("the bookmark to be confirmed", PATIENCE, || Ok(log.metrics().last_bookmark));
        found.with_context(|| format!("the activity log ends with {:?}", log.lines().last()))?;
        let lines = log.lines();
        let injection = lines.iter().rposition(|line| line.starts_with('I')).context("nothing was typed")?;
        let window = measure((lines[..injection].join("\n") + "\n").as_bytes(), TailStart::LogStart);
        let reason = meets_any_threshold(&window, &Config::default().bookmarks.thresholds);
        let reason = reason.context("a bookmark was typed although none was due")?;
        self.voice.show(&lines[injection], &format!("{reason}: a bookmark is about to be typed"))?;
        let receipt = lines[injection..].iter().find(|line| line.starts_with('B')).cloned().unwrap_or_default();
        self.voice.show(&receipt, "longhaul-user-prompt-submit: the client has received it, the count starts again")?;
        let took = answer["hooks"][0]["ms"].as_u64().unwrap_or_default();
        self.voice
            .say(&format!("This call's hook took {took} ms, inspecting and typing included. The others only append."))
    }

    fn show_pane(&mut self) -> Result<()> {
        self.voice.step("This is what you see")?;
        let pane = self.standin.pane.clone();
        let screen = until("the bookmark on the screen", PATIENCE, || {
            let screen = self.tmux.capture(&pane)?;
            Ok(screen.iter().any(|line| line.trim_end() == "❯ ·").then_some(screen))
        })?;
        self.voice.frame(&screen[screen.len().saturating_sub(usize::from(ROWS))..], usize::from(COLUMNS))?;
        let output = until("the output of the prompt hook", PATIENCE, || {
            let state = self.standin.ask(&json!({ "do": "state" }))?;
            let marker = state["submitted"].as_array().and_then(|prompts| prompts.last());
            Ok(marker.and_then(|marker| marker["prompt_hook_stdout"].as_str()).map(str::to_owned))
        })?;
        let output: Value = serde_json::from_str(&output).context("the prompt hook does not answer JSON")?;
        let added = output["hookSpecificOutput"]["additionalContext"].as_str();
        self.voice.say("The hook adds to it, for Claude:")?;
        self.voice.quote(added.context("the prompt hook adds no context")?)
    }

    fn finish(&mut self, due: usize) -> Result<()> {
        self.voice.step("Claude works on, and the turn ends")?;
        for call in &CALLS[due + 1..] {
            self.play(call)?;
        }
        let metrics = self.standin.log.metrics();
        self.standin.ask(&json!({ "do": "stop", "message": ANSWER }))?;
        self.voice.show(&self.standin.log.lines().pop().unwrap_or_default(), "longhaul-stop: the turn is over")?;
        let bookmarks = Config::default().bookmarks;
        let now = metrics.last_activity.unwrap_or_default();
        if let BookmarkVerdict::Skip(skip) = decide(Situation::AgentReturn, &bookmarks, true, &metrics, now) {
            self.voice
                .say(&format!("No bookmark here: {}; your next prompt is a rewind point anyway.", plain(skip)))?;
        }
        let state = self.standin.ask(&json!({ "do": "state" }))?;
        ensure!(state["turns"] == 1, "the bookmark has started a turn of its own");
        self.voice.succeed("one prompt, one turn: the bookmark made no request to the model")
    }

    fn list(&mut self) -> Result<()> {
        self.voice.step("Later: longhaul bookmarks")?;
        let mut cli = run::program(self.cli);
        cli.arg("bookmarks").env_clear().envs(self.standin.variables.iter().map(|(name, value)| (*name, value)));
        self.voice.say(&run::output(&mut cli)?)?;
        self.voice.say(
            "\nIn Claude Code, /rewind now lists the ·. If you choose it, the conversation goes back to the middle of\n\
             that turn, with the tool results up to there. To install Longhaul: cargo xtask install",
        )
    }
}

/// Returns what the hook wrote to stdout.
fn reply(answer: &Value) -> &str {
    answer["stdout"].as_str().unwrap_or_default().trim()
}

fn totals(metrics: &Metrics) -> String {
    format!("calls {:>2}, tokens {:>4}", metrics.tool_calls, metrics.estimated_tokens())
}

fn plain(skip: SkipReason) -> String {
    match skip {
        SkipReason::Cooldown { left_ms } => {
            format!("the last one is too recent ({} s to go)", left_ms.div_ceil(1000))
        }
        other => other.to_string(),
    }
}
