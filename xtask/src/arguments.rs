//! The command line of `cargo xtask`.

mod workbench;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

pub use self::workbench::{E2eArgs, ModelArgs, WorkbenchTask};

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
    /// Run all tests; first install missing programs (tmux, screen, git, git-lfs, Chromium, tsc, PostgreSQL, Xvfb, dunst, ccusage) if that needs no password
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
