//! The optional worker: the page in the browser, and the API behind it.

use std::process::ExitCode;

fn main() -> ExitCode {
    longhaul_worker::main(std::env::args().skip(1))
}
