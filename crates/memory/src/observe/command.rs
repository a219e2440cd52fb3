//! Observations of commands: which of them test or build, and failures in their output.

use super::{FACT_CHARS, Seen, TITLE_CHARS, finish};
use crate::call::Call;
use crate::json::Fields;
use crate::observation::{Kind, Observation};
use crate::text::{clean, one_line, passage};

/// Maximum length of a command in a title, and in a narrative.
const TITLE_COMMAND_CHARS: usize = 80;
const COMMAND_CHARS: usize = 500;

/// Maximum length of the output in a narrative.
const OUTPUT_CHARS: usize = 1_300;

/// Maximum number of lines about errors that become facts.
const TELLING_LINES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    /// It still runs, or was interrupted by the user, so that the result is not known.
    Unknown,
}

pub(super) fn ran(seen: &Seen<'_>) -> Observation {
    let command = seen.input.text("command").unwrap_or_default();
    let output = output(seen.response);
    let outcome = outcome(seen.call, &command, &output);
    let exit = exit_status(seen.response, &output);
    let short = format!("`{}`", one_line(&command, TITLE_COMMAND_CHARS));
    let status = exit.filter(|exit| *exit != 0).map_or_else(String::new, |exit| format!(" (exit status {exit})"));
    let (kind, title) = match outcome {
        Outcome::Failed if is_check(&command) => (Kind::Problem, format!("Failed: {short}{status}")),
        Outcome::Failed if status.is_empty() => (Kind::Command, format!("Ran {short} (failed)")),
        Outcome::Failed => (Kind::Command, format!("Ran {short}{status}")),
        Outcome::Passed => (Kind::Command, format!("Ran {short}")),
        Outcome::Unknown if is_background(seen.response) => {
            (Kind::Command, format!("Started {short} in the background"))
        }
        Outcome::Unknown => (Kind::Command, format!("Ran {short} (interrupted)")),
    };
    let mut observation = seen.observation(kind, title);
    let telling = output.lines().filter(|line| outcome == Outcome::Failed && is_telling(line)).take(TELLING_LINES);
    let status = exit.filter(|_| outcome == Outcome::Failed).map(|exit| format!("exit status {exit}"));
    observation.facts = status.into_iter().chain(telling.map(|line| one_line(line, FACT_CHARS))).collect();
    observation.narrative = narrative(seen, &command, &output);
    // What the command changed, where the client reports that. If others worked at the same time, it may be theirs.
    let diff = seen.response.object("bashEditDiff");
    if !diff.flag("shared") {
        observation.files_modified = seen.paths(&diff.list("changedFiles"));
    }
    observation
}

fn narrative(seen: &Seen<'_>, command: &str, output: &str) -> String {
    let description = seen.input.text("description");
    let command = format!("$ {}", passage(command, COMMAND_CHARS));
    let output = Some(passage(output, OUTPUT_CHARS)).filter(|output| !output.is_empty());
    description.into_iter().chain([command]).chain(output).collect::<Vec<_>>().join("\n")
}

/// Returns the output of a command, or the error message of one that failed.
fn output(response: Fields<'_>) -> String {
    let parts = [response.text("stdout"), response.text("stderr")];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    let is_empty = text.is_empty() && response.0.trim_start().starts_with('{');
    clean(&if text.is_empty() && !is_empty { response.said() } else { text })
}

fn outcome(call: &Call, command: &str, output: &str) -> Outcome {
    let response = Fields(&call.response);
    if is_background(response) || response.flag("interrupted") {
        return Outcome::Unknown;
    }
    let failed = call.is_error || exit_status(response, output).is_some_and(|exit| exit != 0);
    if failed || (is_check(command) && output.lines().any(says_failed)) { Outcome::Failed } else { Outcome::Passed }
}

fn is_background(response: Fields<'_>) -> bool {
    response.text("backgroundTaskId").is_some()
}

fn exit_status(response: Fields<'_>, output: &str) -> Option<u64> {
    let said = || {
        let first = output.trim_start().trim_start_matches("Error: ");
        let status = first.strip_prefix("Exit code ")?;
        status.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    ["exitCode", "exit_code", "returnCode"].iter().find_map(|key| response.number(key)).or_else(said)
}

/// Returns a key that is equal for two runs of the same command, so that a success after a failure can be recognised.
///
/// The key does not depend on redirections or on the directory that is entered first. Returns `None` for other tools,
/// and for a run without a result: in the background, interrupted, or refused.
pub fn command_key(call: &Call) -> Option<String> {
    if !matches!(call.tool.as_str(), "Bash" | "PowerShell") {
        return None;
    }
    let seen = Seen { call, input: Fields(&call.input), response: Fields(&call.response), project_root: None };
    let command = seen.input.text("command")?;
    let refused = call.is_error && seen.is_refused();
    if refused || outcome(call, &command, &output(seen.response)) == Outcome::Unknown {
        return None;
    }
    Some(normalized(&command)).filter(|key| !key.is_empty())
}

/// Returns a command without the directory that it enters first, and without filters for its output.
pub(crate) fn normalized(command: &str) -> String {
    let mut words = command.split_whitespace().collect::<Vec<_>>().join(" ");
    while let Some((_, rest)) = words.split_once(" && ").filter(|(first, _)| first.starts_with("cd ")) {
        words = rest.to_owned();
    }
    let viewers =
        [" | tail", " | head", " | grep", " | less", " | cat", " | tee", " | rg", " | sed", " | awk", " | wc"];
    let end = viewers.iter().filter_map(|viewer| words.find(viewer)).min().unwrap_or(words.len());
    let kept = words[..end].split(' ').filter(|word| !is_redirection(word)).collect::<Vec<_>>().join(" ");
    kept.trim_end_matches([';', ' ']).to_owned()
}

fn is_redirection(word: &str) -> bool {
    matches!(word, "2>&1" | ">/dev/null" | "2>/dev/null" | "&>/dev/null" | "1>&2")
}

/// Returns the observation that is stored instead of `observation` if the same command (`key`) had failed before.
///
/// Returns `None` if it cannot be a fix: it is not a command, or has failed itself.
pub fn fix_of(call: &Call, key: Option<&str>, observation: &Observation) -> Option<Observation> {
    let may_fix = key.is_some() && observation.kind == Kind::Command && !call.is_error;
    may_fix.then(|| {
        let what = observation.title.strip_prefix("Ran ").unwrap_or(&observation.title);
        let title = one_line(&format!("Fixed: {what} passes again"), TITLE_CHARS);
        finish(Observation { title, kind: Kind::Fix, ..observation.clone() })
    })
}

pub(super) fn output_read(seen: &Seen<'_>) -> Observation {
    let id = seen.input.first_text(&["bash_id", "task_id", "shell_id", "agentId"]).unwrap_or_default();
    let mut observation = seen.observation(Kind::Command, format!("Read the output of background task {id}"));
    let output = output(seen.response);
    observation.narrative = passage(&output, OUTPUT_CHARS);
    observation.facts =
        exit_status(seen.response, &output).map(|exit| format!("exit status {exit}")).into_iter().collect();
    observation
}

pub(super) fn stopped(seen: &Seen<'_>) -> Observation {
    let id = seen.input.first_text(&["shell_id", "bash_id", "task_id"]).unwrap_or_default();
    seen.observation(Kind::Command, format!("Stopped background task {id}"))
}

/// Programs that only run another one.
const WRAPPERS: [&str; 14] = [
    "time", "env", "sudo", "nice", "npx", "bunx", "exec", "command", "nohup", "uv", "poetry", "pipenv", "bundle",
    "xvfb-run",
];

/// Programs that always test or build, with any arguments.
const PROGRAMS: [&str; 48] = [
    "pytest",
    "py.test",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "karma",
    "tsc",
    "vue-tsc",
    "eslint",
    "biome",
    "mypy",
    "pyright",
    "flake8",
    "pylint",
    "ruff",
    "rspec",
    "phpunit",
    "phpstan",
    "ctest",
    "ninja",
    "make",
    "gmake",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "xcodebuild",
    "rake",
    "rustc",
    "gcc",
    "g++",
    "clang",
    "clang++",
    "cc",
    "javac",
    "ghc",
    "cabal",
    "sbt",
    "just",
    "nix-build",
    "golangci-lint",
    "shellcheck",
    "webpack",
    "tap",
    "bats",
];

/// Programs that test or build with one of these subcommands.
const SUBCOMMANDS: [(&str, &[&str]); 17] = [
    ("cargo", &["test", "t", "build", "b", "check", "c", "clippy", "nextest", "doc", "bench", "miri", "llvm-cov"]),
    ("go", &["test", "build", "vet"]),
    ("npm", &["test", "t", "build", "lint"]),
    ("pnpm", &["test", "t", "build", "lint", "typecheck", "check"]),
    ("yarn", &["test", "build", "lint", "typecheck", "check"]),
    ("bun", &["test", "build", "lint", "typecheck", "check"]),
    ("deno", &["test", "check", "lint"]),
    ("dotnet", &["test", "build"]),
    ("swift", &["test", "build"]),
    ("zig", &["test", "build"]),
    ("mix", &["test", "compile"]),
    ("bazel", &["test", "build"]),
    ("stack", &["test", "build"]),
    ("cmake", &["--build"]),
    ("docker", &["build"]),
    ("playwright", &["test"]),
    ("cypress", &["run"]),
];

/// Words in the name of a script that tests or builds: `npm run build:web`, `./run-tests.sh`.
const SCRIPTS: [&str; 9] = ["test", "tests", "build", "check", "lint", "typecheck", "tsc", "ci", "e2e"];

pub(crate) fn is_check(command: &str) -> bool {
    command.split(['\n', ';', '|', '&', '(', ')']).any(|simple| checks(simple.split_whitespace()))
}

fn checks<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    // Assignments, options of wrappers and times for `timeout` precede the program.
    let is_prefix = |word: &&str| {
        let is_option = word.starts_with('-') || word.starts_with('+');
        let is_time = word.trim_end_matches(['s', 'm', 'h']).parse::<f64>().is_ok();
        let is_wrapper = WRAPPERS.contains(word) || matches!(*word, "timeout" | "run" | "{" | "!" | "if" | "then");
        word.contains('=') || is_option || is_time || is_wrapper
    };
    let mut words = words.skip_while(is_prefix);
    let Some(first) = words.next() else { return false };
    let program = first.rsplit('/').next().unwrap_or(first);
    let rest: Vec<&str> = words.collect();
    let is_script = |name: &str| name.split([':', '-', '_', '.']).any(|word| SCRIPTS.contains(&word));
    if PROGRAMS.contains(&program) || (first.contains('/') && is_script(program)) {
        return true;
    }
    let mut arguments = rest.iter().filter(|word| !word.starts_with(['+', '>', '<']));
    let module = rest.iter().position(|word| *word == "-m").and_then(|at| rest.get(at + 1));
    match program {
        "python" | "python3" => module.is_some_and(|module| ["pytest", "unittest", "mypy", "tox"].contains(module)),
        "bash" | "sh" => arguments.next().is_some_and(|script| is_script(script.rsplit('/').next().unwrap_or(script))),
        "npm" | "pnpm" | "yarn" | "bun" if rest.first() == Some(&"run") => {
            rest.get(1).is_some_and(|name| is_script(name))
        }
        program => {
            let known = SUBCOMMANDS.iter().find(|(name, _)| *name == program);
            let subcommand = arguments.find(|word| !word.starts_with('-') || program == "cmake");
            known.is_some_and(|(_, words)| subcommand.is_some_and(|word| words.contains(word)))
        }
    }
}

/// Returns whether a line in the output of a test or build reports a failure, regardless of the exit status.
fn says_failed(line: &str) -> bool {
    let line = line.trim_start();
    let begins = [
        "test result: FAILED",
        "error: could not compile",
        "error[E",
        "npm ERR!",
        "npm error",
        "--- FAIL:",
        "FAIL\t",
        "BUILD FAILED",
        "[INFO] BUILD FAILURE",
        "FAILED (failures=",
        "FAILED (errors=",
        "error: test failed",
        "ninja: build stopped",
    ];
    begins.iter().any(|beginning| line.starts_with(beginning))
        || (line.starts_with('=') && line.contains(" failed"))
        || (line.starts_with("Tests:") && line.contains(" failed"))
        || (line.contains("make") && line.contains(": *** "))
        || line.contains(": error TS")
}

fn is_telling(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    says_failed(line)
        || ["error:", "error[", "panicked at", "assertion", "exception:", "fatal:"]
            .iter()
            .any(|sign| lower.contains(sign))
}
