//! Private passages: stripping twice is stripping once.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_core::private_tags;
use longhaul_memory::{redact, strip_json};

fuzz_target!(|text: &str| {
    let once = private_tags::strip(text);
    assert_eq!(private_tags::strip(&once), once);
    assert!(!private_tags::leaves_open(&once));
    let _ = (strip_json(text), redact(text));
});
