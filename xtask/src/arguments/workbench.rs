//! The tasks of the package `xtask-workbench`.
//!
//! Both packages parse them with this definition: `cargo xtask` prints their help and refuses wrong arguments without
//! building the workbench.

use clap::{ArgGroup, Args, Subcommand};

/// A task that needs the runtime, a browser or Claude Code.
#[derive(Subcommand)]
pub enum WorkbenchTask {
    /// Play a long session through the real hooks, in a private terminal, and explain what happens
    Demo {
        /// Keep the temporary home and print its path
        #[arg(long)]
        keep: bool,
    },
    /// Run the scenarios on the real client, which CLAUDE_BIN names or npm installs, with a scripted model on loopback
    E2e(E2eArgs),
    /// Measure every hook and compare it with an empty program
    Bench {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Number of runs of each row
        #[arg(long, default_value_t = 200, value_name = "N")]
        runs: usize,
        /// Instead, measure the memory with N observations
        #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1000000")]
        large: Option<usize>,
        /// Instead, measure the worker: time to its first answer, and memory use with 100,000 observations
        #[arg(long, conflicts_with = "large")]
        worker: bool,
        /// Write docs/benchmarks.md, with plots
        #[arg(long, conflicts_with_all = ["large", "worker", "json"])]
        report: bool,
    },
    /// Measure how well the memory answers: import the corpus of tests/recall, ask its questions, and print the figures
    Recall {
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Use the dev profile: the figures are the same, the times are not
        #[arg(long)]
        quick: bool,
        /// Print every question of the tuning half whose answer is not the first result
        #[arg(long)]
        misses: bool,
        /// Ask the questions of the tuning half only
        #[arg(long, conflicts_with = "report")]
        tuning: bool,
        /// Also ask the fresh questions, and write the figures to docs/benchmarks.md
        #[arg(long, conflicts_with = "json")]
        report: bool,
    },
    /// Run many sessions at once, and count lost log lines, observations and writes
    Soak {
        /// Number of sessions
        #[arg(long, default_value_t = 200, value_name = "N")]
        sessions: usize,
        /// Number of hooks of each session
        #[arg(long, default_value_t = 100, value_name = "N")]
        hooks: usize,
        /// Use the dev profile, and check no times
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
        /// Instead, take the pictures of the viewer: hooks play a session, a worker shows it in Chromium
        #[arg(long, conflicts_with = "check")]
        viewer: bool,
    },
    /// Make the static model that finds records by meaning, with Python; bundles made afterwards include it
    Model(ModelArgs),
}

/// Which scenarios are run, and how.
#[derive(Debug, Args)]
pub struct E2eArgs {
    /// Run only these
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// List the scenarios and run none
    #[arg(long)]
    pub list: bool,
    /// If the client cannot be installed, report it and succeed
    #[arg(long)]
    pub if_possible: bool,
    /// Keep the temporary homes and print their paths
    #[arg(long)]
    pub keep: bool,
}

/// The size of the static model.
#[derive(Debug, Clone, Copy, Args)]
pub struct ModelArgs {
    /// Dimensions of the vectors: more find better, and need more space
    #[arg(long, default_value_t = 128, value_name = "N")]
    pub dims: usize,
    /// Number of sentences to learn from the large model: more are better, and take longer
    #[arg(long, default_value_t = 50_000, value_name = "N")]
    pub texts: usize,
}
