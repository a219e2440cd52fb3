//! `longhaul-injector SESSION bookmark|compaction TICKET TEXT`, or `SESSION continuation CHAIN`: started by a hook
//! and detached. Types the text, or the next step of the chain, as soon as the session is idle.

use std::process::ExitCode;

use longhaul_runtime::injector;

fn main() -> ExitCode {
    injector::run(std::env::args().skip(1))
}
