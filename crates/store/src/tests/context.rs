use longhaul_core::Millis;

use super::empty;
use crate::ContextUse;

fn context(at: u64, used: Option<u64>) -> ContextUse {
    ContextUse {
        session: "s".to_owned(),
        model: Some("claude-opus-5-5".to_owned()),
        window_tokens: Some(1_000_000),
        used_tokens: used,
        used_percent: used.map(|used| (used / 10_000) as f64),
        rate_limits: Some("{}".to_owned()),
        recorded_at: Millis(at),
    }
}

#[test]
fn the_same_again_is_no_news() {
    let (_folder, store) = empty();
    assert!(store.record_context(&context(1, None)).unwrap());
    assert!(!store.record_context(&context(2, None)).unwrap());
    assert!(store.record_context(&context(3, Some(42_000))).unwrap());
    assert_eq!(store.contexts().unwrap(), [context(3, Some(42_000))]);
}

#[test]
fn a_window_stays_known_and_use_does_not() {
    let (_folder, store) = empty();
    store.record_context(&context(1, Some(42_000))).unwrap();
    let bare = ContextUse { session: "s".to_owned(), recorded_at: Millis(2), ..ContextUse::default() };
    assert!(store.record_context(&bare).unwrap());
    assert_eq!(store.contexts().unwrap(), [context(2, None)]);
}

#[test]
fn a_late_render_changes_nothing() {
    let (_folder, store) = empty();
    store.record_context(&context(5, Some(42_000))).unwrap();
    assert!(!store.record_context(&context(4, Some(7))).unwrap());
    let other = ContextUse { session: "t".to_owned(), used_tokens: Some(u64::MAX), ..context(9, None) };
    store.record_context(&other).unwrap();
    let stored = store.contexts().unwrap();
    assert_eq!(stored.iter().map(|context| context.session.as_str()).collect::<Vec<_>>(), ["t", "s"]);
    assert_eq!(stored[1].used_tokens, Some(42_000));
}

#[test]
fn of_other_sessions_the_newest_of_each_model_tells() {
    let (_folder, store) = empty();
    let told = |session: &str, model: &str, at: u64, window: Option<u64>| {
        let model = Some(model.to_owned()).filter(|model| !model.is_empty());
        let session = session.to_owned();
        let context = ContextUse { session, model, window_tokens: window, ..context(at, None) };
        store.record_context(&context).unwrap();
    };
    assert_eq!(store.contexts_for("own").unwrap(), []);
    told("own", "a", 9, Some(1));
    told("old", "a", 1, Some(2));
    told("new", "a", 2, Some(3));
    told("unknowing", "a", 3, None);
    told("other", "b", 1, Some(4));
    told("bridged", "", 8, Some(5));
    let mut sessions: Vec<_> = store.contexts_for("own").unwrap().into_iter().map(|context| context.session).collect();
    sessions.sort();
    assert_eq!(sessions, ["new", "other", "own"]);
}
