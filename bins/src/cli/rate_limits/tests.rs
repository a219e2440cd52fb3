use serde_json::json;

use super::{read, show};
use crate::cli::paint::{Colours, render};

#[test]
fn limits_are_shown_while_they_hold() {
    let json = json!({
        "five_hour": { "used_percentage": 42.4, "resets_at": 100 },
        "seven_day": { "used_percentage": 93, "resets_at": 7_300 },
        "other": { "used_percentage": 1 },
    });
    let limits = read(&json);
    let shown = |now| render(&show(&limits, now), Colours::No);
    assert_eq!(shown(50), "5h 42%  7d 93% (2h)");
    assert_eq!(shown(100), "7d 93% (2h)");
    assert_eq!(shown(8_000), "");
}

#[test]
fn what_is_no_limit_is_left_out() {
    for json in
        [json!(null), json!([]), json!({ "five_hour": null }), json!({ "five_hour": { "used_percentage": "x" } })]
    {
        assert_eq!(read(&json), [], "{json}");
    }
    assert_eq!(read(&json!({ "seven_day": { "used_percentage": 5 } })).len(), 1);
}
