//! The command line of `cargo xtask`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand};

/// Development tasks of this workspace that cargo has no command for
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub task: Task,
}

/// A task of `cargo xtask`.
#[derive(Subcommand)]
pub enum Task {
    /// Build target/dist and install it for this user with `longhaul install`
    Install {
        /// Use the dev profile: the build is faster, the executables are slower
        #[arg(long)]
        quick: bool,
        /// Passed to `longhaul install`, such as --dry-run, --yes, --hooks-only
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
        arguments: Vec<String>,
    },
    /// Run all tests; first install missing programs (tmux, screen, git, git-lfs, xz, Chromium, tsc, PostgreSQL, Xvfb, dunst, ccusage) if that needs no password
    Test {
        /// Passed to nextest, or to cargo test if nextest is not installed
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Write hooks.json, the schema of config.json and the tables in docs/ from their definitions in code
    Codegen {
        /// Write nothing; fail if something is out of date
        #[arg(long)]
        check: bool,
    },
    /// Build target/dist, a plugin marketplace for Claude Code, with an archive for download
    Dist {
        /// Build for this target instead of this machine
        #[arg(long, value_name = "TRIPLE")]
        target: Option<String>,
        /// Use the dev profile and make no archive, for tests
        #[arg(long)]
        quick: bool,
        /// With --quick, make an archive as well; its name begins with trial-
        #[arg(long, requires = "quick")]
        archive: bool,
        /// Also build target/universal: a marketplace with one bundle for all targets that have an archive in target/dist
        #[arg(long)]
        universal: bool,
        /// With --universal, use the archives in this folder, and compile nothing
        #[arg(long, value_name = "FOLDER", requires = "universal", conflicts_with_all = ["target", "quick"])]
        from: Option<PathBuf>,
    },
    /// Pack the crates that can be published, and test them: build and run a program that uses the packed files
    Package {
        /// Also build the tests of the packed crates, and run their examples
        #[arg(long)]
        tests: bool,
    },
    /// Check that all version numbers agree, print the release notes, or commit the marketplace to a branch
    Release {
        /// Check the manifests, the changelog and the generated files
        #[arg(long)]
        check: bool,
        /// The tag to be released, such as v1.2.3: the changelog must have that version
        #[arg(long, value_name = "TAG")]
        tag: Option<String>,
        /// Print the section of this version in the changelog
        #[arg(long, conflicts_with = "check", required_unless_present_any = ["check", "branch"])]
        notes: bool,
        /// Commit target/universal to this branch, without checking it out or pushing it
        #[arg(long, value_name = "BRANCH", conflicts_with_all = ["check", "notes", "tag"])]
        branch: Option<String>,
    },
    /// A task of the workbench, which is built when it is needed.
    #[command(flatten)]
    Workbench(WorkbenchTask),
}

// The tasks of the package `xtask-workbench`, with their flags and defaults.
//
// Both packages parse them with this definition: `cargo xtask` prints their help and refuses wrong arguments without
// building the workbench.

/// A task that needs the runtime, a browser or Claude Code.
#[derive(Subcommand)]
pub enum WorkbenchTask {
    /// Simulate a long session with the real hooks, in a separate tmux server, and explain each step
    Demo {
        /// Keep the temporary home and print its path
        #[arg(long)]
        keep: bool,
    },
    /// Run the end-to-end scenarios in the real Claude Code (the one in CLAUDE_BIN, or from npm), with a scripted local model
    E2e(E2eArgs),
    /// Measure every hook and compare it with an empty program
    Bench {
        /// Print JSON instead of a table
        #[arg(long, conflicts_with_all = ["large", "worker", "snapshots", "sync"])]
        json: bool,
        /// Number of runs of each measurement
        #[arg(long, default_value_t = 200, value_name = "N")]
        runs: usize,
        /// Measure the memory with N observations (by default a million) and the model of the bundle
        #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000000")]
        large: Option<usize>,
        /// Measure the worker instead of the hooks: time to its first answer, and RAM with 100,000 observations
        #[arg(long, conflicts_with = "large")]
        worker: bool,
        /// Measure snapshots of a work tree with N files (by default 100,000) instead of the hooks
        #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "100000", conflicts_with_all = ["large", "worker"])]
        snapshots: Option<usize>,
        /// Measure the exchange of a memory with N observations (by default 10,000) through PostgreSQL instead of the hooks
        #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "10000", conflicts_with_all = ["large", "worker", "snapshots"])]
        sync: Option<usize>,
        /// Write docs/benchmarks.md, with plots; with --large, its section about a memory of that size
        #[arg(long, conflicts_with_all = ["worker", "snapshots", "sync", "json"])]
        report: bool,
        /// Build in less time, without link-time optimisation: the figures are not those of a release
        #[arg(long, requires = "large", conflicts_with = "report")]
        quick: bool,
    },
    /// Measure how well the memory answers questions about the conversations in tests/recall
    Recall {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Use the dev profile: the answers are the same, but slower
        #[arg(long)]
        quick: bool,
        /// Also print the tuning questions whose answer is not the first result
        #[arg(long)]
        misses: bool,
        /// Ask only the tuning questions: those about the half of the conversations that is used for tuning
        #[arg(long, conflicts_with = "report")]
        tuning: bool,
        /// Also ask the questions in fresh.questions, and write the results to docs/benchmarks.md
        #[arg(long, conflicts_with = "json")]
        report: bool,
    },
    /// Run many sessions at once, and count lost log lines, observations and writes
    Soak {
        /// Number of sessions
        #[arg(long, default_value_t = 200, value_name = "N")]
        sessions: usize,
        /// Number of hooks to run in each session
        #[arg(long, default_value_t = 100, value_name = "N")]
        hooks: usize,
        /// Use the dev profile, and do not check durations
        #[arg(long)]
        quick: bool,
    },
    /// Fuzz every parser, or send damaged payloads to every executable
    #[command(group = ArgGroup::new("what").required(true))]
    Fuzz {
        /// Fuzz the parsers for N seconds, with cargo-fuzz if it is installed
        #[arg(long, value_name = "N", group = "what")]
        seconds: Option<u64>,
        /// Send N damaged payloads to the executables
        #[arg(long, value_name = "N", group = "what")]
        payloads: Option<usize>,
        /// Seed of the payloads: the same seed gives the same payloads
        #[arg(long, default_value_t = 1, value_name = "N", requires = "payloads")]
        seed: u64,
    },
    /// Draw docs/pictures/*.svg from the captures of terminal screens beside them
    Pictures {
        /// Write nothing; fail if something is out of date
        #[arg(long)]
        check: bool,
        /// Take screenshots of the viewer in Chromium instead, with a session that the hooks have recorded
        #[arg(long, conflicts_with = "check")]
        viewer: bool,
    },
    /// Train the model for search by meaning again, with Python: writes plugin/model
    Model(ModelArgs),
}

/// Which scenarios are run, and how.
#[derive(Debug, Args)]
pub struct E2eArgs {
    /// Run only these scenarios
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Run the scenario of another agent: gemini, qwen or opencode
    #[arg(long = "agent", value_name = "NAME")]
    pub agents: Vec<String>,
    /// List the scenarios and run none
    #[arg(long)]
    pub list: bool,
    /// Use the newest version of Claude Code that npm has; unless scenarios are named, run those that type into it
    #[arg(long)]
    pub newest: bool,
    /// If Claude Code cannot be installed, report it and exit with 0
    #[arg(long)]
    pub if_possible: bool,
    /// Keep the temporary homes and print their paths
    #[arg(long)]
    pub keep: bool,
}

/// The size of the static model.
#[derive(Debug, Clone, Copy, Args)]
pub struct ModelArgs {
    /// Dimensions of the vectors: with more, the results are better and the model is larger
    #[arg(long, default_value_t = 128, value_name = "N")]
    pub dims: usize,
}
