//! The message of a search or a question without results. `mcp` adds what an agent is advised to try.

use longhaul_memory::Query;
use longhaul_runtime::memory::Wanted;
use longhaul_store::Store;

/// The message if there is no memory yet.
pub(crate) const EMPTY: &str = "the memory is empty: run `longhaul memory import` to read past sessions";

/// Returns a message that says what was searched for, and whether filters or an incomplete index may be the reason.
pub(crate) fn message(store: &Store, wanted: &Wanted) -> String {
    let index = store.index_progress().ok().filter(|index| !index.is_complete());
    if let Some(index) = index {
        return format!(
            "nothing found, but the search index is not complete: it is built to {} %, and `longhaul memory upkeep` \
             completes it",
            index.percent()
        );
    }
    if wanted.offset > 0 {
        return format!("nothing found: there are at most {} results", wanted.offset);
    }
    let passing = if is_narrowed(wanted) { "that passes the filters " } else { "" };
    let query = &wanted.query;
    let any: Vec<String> =
        query.wanted_terms().into_iter().take(12).map(|mut term| term.forms.swap_remove(0)).collect();
    let all: Vec<&str> = query.required().map(|term| term.text.as_str()).collect();
    let tried = match (any.as_slice(), all.as_slice()) {
        ([], []) if is_narrowed(wanted) => return "nothing found: no record passes the filters".to_owned(),
        ([], []) => return "nothing found".to_owned(),
        // Of a question, one word is not enough.
        (any, []) if any.len() > 2 => format!("enough of {}, or of words spelled like them", any.join(", ")),
        (any, []) => format!("any of {}, or a word spelled like them", any.join(", ")),
        ([], all) => format!("all of {}", all.join(", ")),
        (any, all) => format!("all of {}, or any of {}", all.join(", "), any.join(", ")),
    };
    format!("nothing found: no record {passing}has {tried}")
}

/// Returns whether the query or the arguments have filters.
fn is_narrowed(wanted: &Wanted) -> bool {
    let Query { excluded, file, kind, from, since, before, .. } = &wanted.query;
    let by_day = since.is_some() || before.is_some();
    let by_query = !excluded.is_empty() || file.is_some() || kind.is_some() || from.is_some() || by_day;
    let Wanted { kinds, file, since, before, session, from_host, what, .. } = wanted;
    let by_lists = !kinds.is_empty() || !what.is_empty() || from_host.is_some();
    by_query || by_lists || file.is_some() || since.is_some() || before.is_some() || session.is_some()
}
