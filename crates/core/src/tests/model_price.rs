use serde_json::json;

use crate::Config;
use crate::config::{ModelPrice, Setting};

#[test]
fn prices_are_read_and_written_alike() {
    let text = r#"{"cost":{"prices":{"a":{"input":3,"output":15.5},
        "b":{"input":0,"output":1,"cache_read":0.1,"cache_write_5m":2,"cache_write_1h":3}}}}"#;
    let (config, warnings) = Config::from_json(text);
    assert_eq!(warnings, []);
    let prices = &config.cost.prices;
    assert_eq!(prices["a"], ModelPrice::new(3.0, 15.5));
    assert_eq!((prices["b"].cache_read, prices["b"].cache_write_1h), (Some(0.1), Some(3.0)));
    let (again, _) = Config::from_json(&config.to_json().to_string());
    assert_eq!(again, config);
}

#[test]
fn a_price_that_cannot_be_used_is_left_out_and_named() {
    for bad in [
        json!(3),
        json!({}),
        json!({ "input": 1 }),
        json!({ "output": 1 }),
        json!({ "input": -1, "output": 1 }),
        json!({ "input": 1, "output": 1_000_001 }),
        json!({ "input": "1", "output": 1 }),
        json!({ "input": 1, "output": 1, "cache_raed": 1 }),
        json!({ "input": 1, "output": 1, "cache_read": null }),
    ] {
        let text = json!({ "cost": { "prices": { "bad": bad, "good": { "input": 1, "output": 1_000_000 } } } });
        let (config, warnings) = Config::from_json(&text.to_string());
        assert_eq!(config.cost.prices.keys().collect::<Vec<_>>(), ["good"], "{text}");
        assert_eq!(warnings.len(), 1, "{text}");
        let warning = warnings[0].to_string();
        assert!(warning.starts_with("cost.prices.bad: ") && warning.ends_with(": left out"), "{warning}");
    }
    let (config, warnings) = Config::from_json(r#"{"cost":{"prices":[]}}"#);
    assert_eq!((config.cost.prices.len(), warnings.len()), (0, 1));
}
