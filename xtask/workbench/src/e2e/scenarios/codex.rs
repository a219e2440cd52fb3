//! Codex: handing over to it and back, its windows, rewinds, and the limit of its context.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use longhaul_fake_model::Rule;
use longhaul_inject::codex_screen_state;
use serde_json::{Value, json};
use xtask::run;

use super::super::client;
use super::super::world::{Cast, Session, WITNESS, World};
use super::handoff::given_back;

/// What A began in Claude Code, Codex goes on with; what Codex did, Claude Code goes on with.
pub(crate) fn handover(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({ "memory": { "enabled": false } }), Vec::new())?;
    let Some(codex) = Codex::set_up(cast, &world)? else { return Ok(()) };
    let claude = world.open(&[])?;
    claude.say("SAY:the beans are in the jar")?;
    claude.submit("/longhaul:tl")?;
    claude.wait_for("handed over")?;
    let window = codex.open(&[])?;
    let id = window.say("RUN:echo counting;;SAY:there are nine of them")?;
    check_shown(&world, "there are nine", &["the beans are in the jar", "ran in Claude Code", "called Bash, Read"])?;
    window.session.submit("$longhaul handoff")?;
    window.session.wait_for("handed over")?;
    let heir = world.open(&[])?;
    heir.say("SAY:and the lid is shut")?;
    check_shown(&world, "the lid is shut", &["there are nine of them", "ran in Codex", "exec_command"])?;
    let shown = world.longhaul(&["handoff", "show", "--session", &heir.id()?])?;
    ensure!(shown.contains("nine of them") && shown.contains("the beans"), "one chain, both agents: {shown}");
    let details = world.longhaul_json(&["detail", "1", "--session", &format!("codex:{id}")])?;
    ensure!(details.to_string().contains("counting"), "no details of Codex's turn: {details}");
    let resume = world.longhaul(&["resume", &format!("codex:{id}"), "--dry-run"])?;
    ensure!(resume.contains("codex' 'resume'") && resume.contains(&id), "{resume}");
    world.check_errors()
}

/// A `/clear` in Codex is continued by Codex only.
pub(crate) fn clear(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({ "memory": { "enabled": false } }), Vec::new())?;
    let Some(codex) = Codex::set_up(cast, &world)? else { return Ok(()) };
    let window = codex.open(&[])?;
    let old = window.say("SAY:apples in the cellar")?;
    start_anew(&world, &window, "/clear")?;
    let claude = world.open(&[])?;
    claude.say("SAY:is anything here")?;
    let shown = world.shown("is anything here").context("the prompt has not reached the model")?;
    ensure!(!shown.mentions("apples in the cellar"), "Claude Code has continued a session that Codex has cleared");
    let new = window.say("SAY:and pears in the attic")?;
    ensure!(new != old, "/clear has kept the session");
    check_shown(&world, "pears in the attic", &["apples in the cellar"])
}

/// Two windows in one folder: each has its own state and pane, and continues its own session.
pub(crate) fn windows(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({ "memory": { "enabled": false } }), Vec::new())?;
    let Some(codex) = Codex::set_up(cast, &world)? else { return Ok(()) };
    let (left, right) = (codex.open(&[])?, codex.open(&[])?);
    let ask =
        "TOOL:exec_command {\"cmd\":\"true\",\"sandbox_permissions\":\"require_escalated\",\"justification\":\"now\"}";
    let first = left.say("SAY:apples on the left")?;
    let second = right.say("SAY:pears on the right")?;
    check_pane(&world, &first, &left, "completed")?;
    check_pane(&world, &second, &right, "completed")?;
    right.session.submit(ask)?;
    world.wait_for_state(&format!("codex:{second}"), "blocked")?;
    check_pane(&world, &second, &right, "blocked")?;
    check_pane(&world, &first, &left, "completed")?;
    right.answer("y", "Would you like to run")?;
    world.wait_for_state(&format!("codex:{second}"), "completed")?;
    world.wait("an empty input", || right.session.awaits_prompt())?;
    start_anew(&world, &left, "/clear")?;
    start_anew(&world, &right, "/clear")?;
    let second = right.say("SAY:which fruit here")?;
    let first = left.say("SAY:which fruit there")?;
    check_pane(&world, &first, &left, "completed")?;
    check_pane(&world, &second, &right, "completed")?;
    for (prompt, own, other) in [("fruit here", "pears", "apples"), ("fruit there", "apples", "pears")] {
        let shown = world.shown(prompt).with_context(|| format!("{prompt:?} has not reached the model"))?;
        ensure!(shown.mentions(own) && !shown.mentions(other), "the session of {prompt:?} is not shown its {own} only");
    }
    world.check_errors()
}

/// Turns that the user took back are not handed over, also after a second rewind, and an import does not change that.
pub(crate) fn rewind(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let Some(codex) = Codex::set_up(cast, &world)? else { return Ok(()) };
    let window = codex.open(&[])?;
    window.say("SAY:the first bean")?;
    window.say("SAY:the second bean")?;
    let id = window.say("SAY:a bad bean")?;
    take_back(&world, &window, "SAY:a bad bean")?;
    let same = window.say("SAY:a better bean")?;
    ensure!(same == id, "a rewind has started another session");
    check_handed_over(&world, &id, &["second bean", "better bean"], &["bad bean"])?;
    // Codex calls the rollout after a rewind by an id of its own, and the next one names that.
    window.say("SAY:a rotten bean")?;
    take_back(&world, &window, "SAY:a rotten bean")?;
    let same = window.say("SAY:the best bean")?;
    ensure!(same == id, "the second rewind has started another session");
    let (kept, gone) = (["second bean", "better bean", "best bean"], ["bad bean", "rotten bean"]);
    check_handed_over(&world, &id, &kept, &gone)?;
    let imported = world.longhaul_json(&["memory", "import"])?;
    ensure!(imported["sessions"] == 0, "the rollouts were imported as other sessions: {imported}");
    check_handed_over(&world, &id, &kept, &gone)?;
    world.check_errors()
}

/// Goes back to the last prompt, and empties the input, which holds it then.
fn take_back(world: &World, window: &Window<'_>, prompt: &str) -> Result<()> {
    window.session.press(&["Escape"])?;
    window.session.wait_for("esc again")?;
    window.session.press(&["Escape"])?;
    window.session.wait_for("Browsing transcript")?;
    window.session.press(&["Enter"])?;
    world.wait("the prompt in the input", || Ok(window.session.look()?.holds(prompt)))?;
    window.session.press(&["C-u"])?;
    world.wait("an empty input", || window.session.awaits_prompt())
}

/// Checks which texts a session hands over, and which it does not.
fn check_handed_over(world: &World, id: &str, kept: &[&str], gone: &[&str]) -> Result<()> {
    let shown = world.longhaul(&["handoff", "show", "--session", &format!("codex:{id}")])?;
    let expected = kept.iter().all(|text| shown.contains(text)) && !gone.iter().any(|text| shown.contains(text));
    ensure!(expected, "not the conversation as it is now: {shown}");
    Ok(())
}

/// What Codex is asked to do for a compaction, and what it answers.
const SUM_UP: &str = "helping the next LLM seamlessly continue";
const SUMMARY: &str = "A SUMMARY: they wrote named.txt and ran `echo it-is-named`.";

/// After `/compact`, and after an automatic compaction in a turn, the next request contains what the summary lacks.
pub(crate) fn compaction(cast: &Cast, home: &Path) -> Result<()> {
    let rule = Rule { after: SUM_UP.to_owned(), say: SUMMARY.to_owned() };
    let world = World::new(cast, home, &json!({}), vec![rule])?;
    let Some(codex) = Codex::set_up(cast, &world)? else { return Ok(()) };
    let window = codex.open(&[])?;
    window.say("Never use tabs here. SAY:noted")?;
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: named.txt\n+a\n*** Add File: lost.txt\n+b\n*** End Patch\nEOF";
    let patch = json!({ "cmd": patch });
    let id = window.say(&format!("RUN:echo it-is-named;;RUN:echo it-is-lost;;TOOL:exec_command {patch};;SAY:done"))?;
    ensure!(world.project.join("lost.txt").exists(), "the patch was not applied");
    window.session.submit("/compact")?;
    window.session.wait_for("Context compacted")?;
    world.wait("an empty input", || window.session.awaits_prompt())?;
    let same = window.say("SAY:going on")?;
    ensure!(same == id, "/compact has changed the session's id");
    ensure!(window.session.shows("after the compaction: ")?, "the user is not told");
    let shown = world.shown("going on").context("the prompt has not reached the model")?;
    ensure!(shown.mentions("A SUMMARY: they wrote"), "the summary was not taken");
    // Codex keeps the prompts.
    ensure!(shown.count("Never use tabs") == 1, "a prompt is shown twice");
    let given = given_back(&shown)?;
    for part in ["lost.txt", "- echo it-is-lost"] {
        ensure!(given.contains(part), "{part:?} was not given back: {given}");
    }
    for part in ["named.txt", "it-is-named"] {
        ensure!(!given.contains(part), "{part:?} was given back: {given}");
    }
    // The context is full in the middle of a turn: no prompt follows, the model goes on at once.
    window.say("USAGE:290000 RUN:echo it-is-full;;TOOLS:2")?;
    let after = world.model.shown().pop().context("there was no request")?;
    let given = given_back(&after)?;
    ensure!(given.contains("- echo it-is-full"), "the command of the turn was not given back: {given}");
    let starts: Vec<_> = world.events("SessionStart").iter().map(|event| event["source"].clone()).collect();
    ensure!(starts == ["startup", "compact", "compact"], "the session started {starts:?}");
    let log = world.longhaul(&["handoff", "log"])?;
    ensure!(log.matches("compacted").count() == 2, "the log: {log}");
    world.check_errors()
}

/// Near the limit, the baton is written, the user is informed, and `/new` goes on.
pub(crate) fn limit(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({ "memory": { "enabled": false } }), Vec::new())?;
    let Some(codex) = Codex::set_up(cast, &world)? else { return Ok(()) };
    let window = codex.open(&[])?;
    let old = window.say("SAY:the jar is small")?;
    ensure!(!window.session.shows("% full")?, "a nearly empty context is reported");
    window.say("USAGE:240000 SAY:the jar is nearly full")?;
    window.session.wait_for("the baton is written")?;
    start_anew(&world, &window, "/new")?;
    let new = window.say("SAY:a second jar")?;
    ensure!(new != old, "/new has kept the session");
    check_shown(&world, "a second jar", &["the jar is nearly full"])
}

/// How the first prompt of a session that continues begins.
const PROMPT: &str = "Continue from the handoff";

/// The same with `continuation.at`: `/clear` and the first prompt are typed.
pub(crate) fn continuation(cast: &Cast, home: &Path) -> Result<()> {
    let config = json!({ "memory": { "enabled": false }, "continuation": { "at": "on" } });
    let world = World::new(cast, home, &config, Vec::new())?;
    let Some(codex) = Codex::set_up(cast, &world)? else { return Ok(()) };
    let window = codex.open(&[])?;
    let stops = world.events("Stop").len();
    window.session.submit("USAGE:240000 SAY:the first jar is nearly full")?;
    world.wait("the turn of the new session", || Ok(world.events("Stop").len() > stops + 1))?;
    check_shown(&world, PROMPT, &["the first jar is nearly full"])?;
    let shown = world.shown(PROMPT).context("the prompt has not reached the model")?;
    let fresh = shown.messages().iter().all(|message| message["role"] != "assistant");
    ensure!(fresh, "the old conversation was not cleared");
    world.check_errors()
}

/// Installing for Codex registers hooks and MCP server, the doctor finds them, and uninstalling leaves every byte.
pub(crate) fn setup(cast: &Cast, home: &Path) -> Result<()> {
    let world = World::new(cast, home, &json!({}), Vec::new())?;
    let Some(codex) = Codex::without_longhaul(cast, &world)? else { return Ok(()) };
    let before = (codex.file("config.toml")?, codex.file("hooks.json")?);
    world.longhaul(&["install", "--codex"])?;
    world.longhaul(&["uninstall", "--codex"])?;
    ensure!((codex.file("config.toml")?, codex.file("hooks.json")?) == before, "uninstalling has left something");
    world.longhaul(&["install", "--codex"])?;
    ensure!(finding(&world)?.contains("not trusted"), "the doctor does not see that the hooks are new");
    let window = codex.open(&[])?;
    window.say("SAY:all is well")?;
    let shown = world.shown("all is well").context("the prompt has not reached the model")?;
    let tools = shown.tools().iter().any(|tool| tool["name"].as_str().is_some_and(|name| name.contains("longhaul")));
    ensure!(tools, "Codex does not offer Longhaul's tools");
    let found = finding(&world)?;
    ensure!(found.contains("hooks trusted, MCP server registered, last event"), "the doctor says: {found}");
    world.longhaul(&["uninstall", "--codex"])?;
    let (config, hooks) = (codex.file("config.toml")?, codex.file("hooks.json")?);
    ensure!(hooks == before.1 && config.starts_with(&before.0), "uninstalling has changed what is not Longhaul's");
    ensure!(!config.contains("mcp_servers"), "the MCP server is still registered: {config}");
    Ok(())
}

/// Returns what the doctor finds about Codex.
fn finding(world: &World) -> Result<String> {
    // The exit status reports other problems, too: Claude Code's plugin is not installed here.
    let doctor = world.home().join(".local/bin/longhaul").display().to_string();
    let mut shell = run::program("sh");
    shell.args(["-c", "\"$0\" doctor --json || true", &doctor]).current_dir(&world.project);
    let text = run::output(shell.env_clear().envs(world.variables()))?;
    let findings: Value = serde_json::from_str(&text).with_context(|| format!("the doctor prints no JSON: {text}"))?;
    let all = findings.as_array().or_else(|| findings["findings"].as_array()).into_iter().flatten();
    let own = all.filter(|finding| finding["check"] == "codex").filter_map(|finding| finding["what"].as_str());
    Ok(own.collect::<Vec<_>>().join("\n"))
}

/// Types a command that starts a new session, and waits for the empty screen.
fn start_anew(world: &World, window: &Window<'_>, command: &str) -> Result<()> {
    window.session.submit(command)?;
    let is_new = || Ok(window.session.awaits_prompt()? && !window.session.shows("Worked for")?);
    world.wait("a new conversation", is_new)
}

/// Checks that the request with `prompt` also shows all of `texts`.
fn check_shown(world: &World, prompt: &str, texts: &[&str]) -> Result<()> {
    let shown = world.shown(prompt).with_context(|| format!("{prompt:?} has not reached the model"))?;
    let missing: Vec<&&str> = texts.iter().filter(|text| !shown.mentions(text)).collect();
    ensure!(missing.is_empty(), "the session of {prompt:?} is not shown {missing:?}");
    Ok(())
}

/// Checks the state of a session, and that the tracker shows it in the pane of `window`.
fn check_pane(world: &World, id: &str, window: &Window<'_>, status: &str) -> Result<()> {
    world.wait_for_state(&format!("codex:{id}"), status)?;
    let rows = world.longhaul_json(&["status"])?;
    let own = rows.as_array().into_iter().flatten().find(|row| row["session"] == format!("codex:{id}").as_str());
    let pane = own.map(|row| row["pane"].clone()).unwrap_or_default();
    ensure!(pane == window.session.pane.as_str(), "session {id} is not in its pane: {rows}");
    Ok(())
}

/// The version that the scenarios are written for.
const VERSION: &str = "0.166.0";

/// Events that are recorded independently of Longhaul.
const WITNESSED: &[&str] = &["SessionStart", "UserPromptSubmit", "Stop"];

/// The files of Codex's background processes.
const DAEMONS: [&str; 2] = ["app-server-daemon/daemon.pid", "app-server-daemon/daemon-updater.pid"];

/// The answer to Codex's question about new hooks.
const TRUST: &str = "Trust all and continue";

/// Codex in the home of a scenario, until it is dropped.
pub(crate) struct Codex<'a> {
    pub(crate) world: &'a World,
    program: PathBuf,
    folder: PathBuf,
}

impl<'a> Codex<'a> {
    /// Sets Codex up, with Longhaul; `None` where it cannot be installed, which is reported.
    fn set_up(cast: &Cast, world: &'a World) -> Result<Option<Self>> {
        let codex = Self::without_longhaul(cast, world)?;
        if codex.is_some() {
            world.longhaul(&["install", "--codex"])?;
        }
        Ok(codex)
    }

    /// Sets Codex up, without Longhaul.
    fn without_longhaul(cast: &Cast, world: &'a World) -> Result<Option<Self>> {
        let program = match find(&cast.marketplace.with_file_name("e2e").join("codex")) {
            Ok(program) => program,
            Err(error) => {
                writeln!(io::stdout(), "  skipped: Codex {VERSION} ({error:#})")?;
                return Ok(None);
            }
        };
        let home = world.home();
        let folder = home.join(".codex");
        fs::create_dir_all(&folder)?;
        fs::create_dir_all(home.join(".local/bin"))?;
        symlink(cast.bundle().join("bin/longhaul"), home.join(".local/bin/longhaul"))?;
        symlink(&program, home.join("bin/codex"))?;
        fs::write(folder.join("config.toml"), config(&world.model.url(), &world.project))?;
        let witness = json!([{ "hooks": [{ "type": "command", "command": WITNESS, "timeout": 5 }] }]);
        let hooks = WITNESSED.iter().map(|event| ((*event).to_owned(), witness.clone()));
        let hooks = json!({ "hooks": hooks.collect::<serde_json::Map<_, _>>() });
        fs::write(folder.join("hooks.json"), serde_json::to_string_pretty(&hooks)?)?;
        Ok(Some(Self { world, program, folder }))
    }

    pub(crate) fn file(&self, name: &str) -> Result<String> {
        fs::read_to_string(self.folder.join(name)).with_context(|| format!("cannot read Codex's {name}"))
    }

    /// Opens a window, trusts the hooks if Codex asks, and waits until its input is empty.
    pub(crate) fn open(&self, arguments: &[&str]) -> Result<Window<'a>> {
        let program = self.program.display().to_string();
        let mut words = vec!["SCRIPTED_KEY=none", program.as_str()];
        words.extend(arguments);
        let window = Window { session: Session { read: codex_screen_state, ..self.world.start(&words)? } };
        if !self.file("config.toml")?.contains("trusted_hash") {
            window.session.wait_for(TRUST)?;
            let chosen = format!("› 2. {TRUST}");
            let mut pressed: Option<Instant> = None;
            self.world.wait("the answer to be chosen", || {
                // A dialog may ignore keys for a moment after it is drawn.
                if pressed.is_none_or(|pressed| pressed.elapsed() > Duration::from_secs(2)) {
                    window.session.press(&["Down"])?;
                    pressed = Some(Instant::now());
                }
                window.session.shows(&chosen)
            })?;
            window.session.press(&["Enter"])?;
        }
        self.world.wait("Codex's input", || window.session.awaits_prompt())?;
        Ok(window)
    }
}

impl Drop for Codex<'_> {
    /// Ends the background processes, which outlive the windows and write to the home.
    fn drop(&mut self) {
        for file in DAEMONS {
            let Ok(text) = fs::read_to_string(self.folder.join(file)) else { continue };
            let record: Value = serde_json::from_str(&text).unwrap_or_default();
            if let Some(pid) = record["pid"].as_u64() {
                let _ = run::output(run::program("kill").args(["-KILL", &pid.to_string()]));
            }
        }
    }
}

pub(crate) struct Window<'a> {
    pub(crate) session: Session<'a>,
}

impl Window<'_> {
    /// Submits a prompt, waits until its turn has ended and the input is empty, and returns Codex's id of the session.
    pub(crate) fn say(&self, prompt: &str) -> Result<String> {
        let stops = self.world().events("Stop").len();
        self.session.submit(prompt)?;
        self.world()
            .wait(&format!("the end of the turn {prompt:?}"), || Ok(self.world().events("Stop").len() > stops))?;
        // The Stop hook is a part of the turn, and commands are refused until that is over.
        self.world().wait("the end of the turn on the screen", || self.has_answered(prompt))?;
        self.world().wait("an empty input", || self.session.awaits_prompt())?;
        self.id_of(prompt)
    }

    /// Returns whether the screen shows the end of the turn of a prompt.
    fn has_answered(&self, prompt: &str) -> Result<bool> {
        let lines = self.session.tmux.capture(&self.session.pane)?;
        let start: String = prompt.chars().take(40).collect();
        let asked = lines.iter().rposition(|line| line.starts_with("› ") && line.contains(&start));
        Ok(asked.is_some_and(|at| lines[at..].iter().any(|line| line.contains("Worked for"))))
    }

    /// Presses a key in a dialog until it is gone. A dialog ignores keys for a moment after it is drawn.
    pub(crate) fn answer(&self, key: &str, dialog: &str) -> Result<()> {
        let mut pressed: Option<Instant> = None;
        self.session.wait_for(dialog)?;
        self.world().wait("the dialog's end", || {
            if pressed.is_none_or(|pressed| pressed.elapsed() > Duration::from_secs(2)) {
                self.session.press(&[key])?;
                pressed = Some(Instant::now());
            }
            Ok(!self.session.shows(dialog)?)
        })
    }

    /// Returns Codex's id of the session in which a prompt was submitted last.
    pub(crate) fn id_of(&self, prompt: &str) -> Result<String> {
        let events = self.world().events("UserPromptSubmit").into_iter().rev();
        let own = events.into_iter().find(|event| event["prompt"] == prompt);
        let id = own.and_then(|event| event["session_id"].as_str().map(str::to_owned));
        id.with_context(|| format!("no hook has seen {prompt:?}"))
    }

    fn world(&self) -> &World {
        self.session.world
    }
}

/// Returns Codex's executable: the one that `CODEX_BIN` names, or one installed at `prefix`.
fn find(prefix: &Path) -> Result<PathBuf> {
    if let Some(named) = run::var("CODEX_BIN") {
        let named = PathBuf::from(named);
        return named.canonicalize().with_context(|| format!("CODEX_BIN: there is no {}", named.display()));
    }
    let _installing = client::installing();
    let program = prefix.join("node_modules/.bin/codex");
    let version = run::output(run::program(&program).arg("--version"));
    if !version.is_ok_and(|version| version.trim().ends_with(VERSION)) {
        client::install(prefix, &[&format!("@openai/codex@{VERSION}")]).context("name one in CODEX_BIN")?;
    }
    program.canonicalize().with_context(|| format!("npm left no {}", program.display()))
}

/// Returns Codex's configuration: a model on loopback, a project that is trusted, and comments.
fn config(url: &str, project: &Path) -> String {
    format!(
        "# A comment that stays.\nmodel   = \"gpt-5-codex\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"\n\
         env_key = \"SCRIPTED_KEY\"\n\n[projects.{:?}]\ntrust_level = \"trusted\"\n",
        project.display().to_string()
    )
}
