//! Search results as JSON, with the searched words marked.

use longhaul_memory::{MarkedText, Query, WordMarker};
use longhaul_store::Hit;
use serde_json::{Value, json};

/// Returns the marker for the words of a query in the titles and snippets of its results.
pub fn marker(query: &Query, hits: &[Hit]) -> WordMarker {
    let texts = hits.iter().flat_map(|hit| [hit.title.as_str(), hit.snippet.as_str()]);
    WordMarker::new(query, texts.collect::<Vec<_>>().iter().copied())
}

/// Returns search results as JSON. Marks are pairs of character offsets.
pub fn marked_hits(query: &Query, hits: &[Hit]) -> Vec<Value> {
    let mut marker = marker(query, hits);
    let mut marks = |text: &str| MarkedText { text: text.to_owned(), marks: marker.marks(text) }.marks_in_chars();
    let marked = |hit: &Hit| {
        let mut value = hit.to_json();
        value["title_marks"] = json!(marks(&hit.title));
        value["snippet_marks"] = json!(marks(&hit.snippet));
        value
    };
    hits.iter().map(marked).collect()
}
