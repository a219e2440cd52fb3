//! A search query.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_memory::Query;

fuzz_target!(|text: &str| {
    let query = Query::parse(text);
    for term in query.terms.iter().chain(&query.excluded) {
        // A NUL character would end an expression of SQLite inside a string.
        assert!(!term.text.contains(char::is_control), "{term:?}");
    }
});
