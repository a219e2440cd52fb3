//! The handoff that a model writes: what is read once is read again the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_handoff::continuation::Document;

fuzz_target!(|text: &str| {
    if let Ok(document) = Document::parse_answer(text, "lh-1") {
        let _ = (document.remaining(), document.section("Task").map(str::len));
        assert_eq!(Document::parse_answer(&document.to_text(), "lh-1"), Ok(document));
    }
});
