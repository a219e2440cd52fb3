//! Private passages: stripping twice is stripping once.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_core::privacy;
use longhaul_memory::{redact, strip_json};

fuzz_target!(|text: &str| {
    let once = privacy::strip(text);
    assert_eq!(privacy::strip(&once), once);
    assert!(!privacy::leaves_open(&once));
    let _ = (strip_json(text), redact(text));
});
