//! The optional worker: the viewer and its API.

use std::process::ExitCode;

fn main() -> ExitCode {
    longhaul_worker::main(std::env::args().skip(1))
}
