//! `longhaul-injector SESSION bookmark|compaction TICKET TEXT`: started by a hook, detached; types the text as soon as
//! the client is idle.

use std::process::ExitCode;

use longhaul_runtime::injector;

fn main() -> ExitCode {
    injector::run(std::env::args().skip(1))
}
