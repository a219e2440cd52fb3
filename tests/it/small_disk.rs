//! A small file system for one test, to fill or to make read-only.

use std::io::{self, Write as _};
use std::path::Path;

use crate::sandbox::{Outcome, Sandbox, tool};

/// With this variable, a machine that does not allow mounting fails the tests that need it.
const REQUIRED: &str = "LONGHAUL_REQUIRE_MOUNT";

/// Says that a test is skipped, and why.
pub(crate) fn skipped(why: &str) {
    // Not eprintln!, whose output is not shown for a test that passes.
    let _ = writeln!(io::stderr(), "SKIPPED: {why}");
}

/// A small file system of memory; gone when dropped.
pub(crate) struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    /// Mounts it, where that is allowed.
    pub(crate) fn mount(sandbox: &Sandbox, at: &'a Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let outcome = Outcome::of(
            sandbox.program("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "longhaul-test"]).arg(at),
            b"",
        );
        if outcome.status != Some(0) {
            let why = format!("a small file system cannot be mounted here: {}", outcome.stderr.trim());
            assert!(std::env::var_os(REQUIRED).is_none(), "{why}");
            skipped(&why);
            return None;
        }
        Some(Self(at))
    }

    /// Changes how it is mounted.
    pub(crate) fn remount(&self, sandbox: &Sandbox, option: &str) {
        let outcome = Outcome::of(sandbox.program("mount").args(["-o", &format!("remount,{option}")]).arg(self.0), b"");
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = tool("umount").arg(self.0).output();
    }
}
