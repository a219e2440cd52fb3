//! Recognises commands that test or build, and failures in their output.

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

/// Returns whether a command line tests or builds.
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
pub(super) fn says_failed(line: &str) -> bool {
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

/// Returns whether a line describes an error.
pub(super) fn is_telling(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    says_failed(line)
        || ["error:", "error[", "panicked at", "assertion", "exception:", "fatal:"]
            .iter()
            .any(|sign| lower.contains(sign))
}
