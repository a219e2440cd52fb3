//! A search query.

#![no_main]

use libfuzzer_sys::fuzz_target;
use longhaul_memory::Query;

fuzz_target!(|text: &str| {
    let query = Query::parse(text);
    for expression in [query.fts(), query.without()].into_iter().flatten() {
        // A quote that is left open would be a syntax error in SQLite.
        assert_eq!(expression.matches('"').count() % 2, 0, "{expression}");
    }
});
