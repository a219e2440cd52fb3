//! `longhaul-injector SESSION bookmark|compaction TICKET TEXT`, or `SESSION continuation CHAIN`: started by a hook,
//! detached; types the text, or what the chain waits for, as soon as the client is idle.

use std::process::ExitCode;

use longhaul_runtime::injector;

fn main() -> ExitCode {
    injector::run(std::env::args().skip(1))
}
