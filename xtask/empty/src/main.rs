//! The floor that `cargo xtask bench` measures against: what it costs to start and end a Rust program. Never shipped.

fn main() {}
