use longhaul_core::Millis;
use longhaul_store::Newest;

use super::{event, mark, read_mark};

#[test]
fn a_mark_comes_back_as_it_was_sent() {
    let newest = Newest { prompt: 1, observation: 22, summary: 0, summary_at: Millis(1_700_000_000_123) };
    assert_eq!(read_mark(&mark(&newest)), Some(newest));
    for text in ["", "1", "1.2.3", "a.b.c.d", "-1.2.3.4"] {
        assert_eq!(read_mark(text), None, "{text}");
    }
}

#[test]
fn an_event_is_three_lines_whatever_is_in_it() {
    let text = event("rows", Some(&Newest::default()), &"a\nb\r\n\nevent: x");
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert_eq!(text, "event: rows\nid: 0.0.0.0\ndata: \"a\\nb\\r\\n\\nevent: x\"\n\n");
}
