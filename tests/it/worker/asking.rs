//! `/api/recall`: a question over HTTP.

use serde_json::json;

use super::served::Served;
use crate::past::Past;
use crate::sandbox::Sandbox;

#[test]
fn a_question_is_answered_over_http_as_on_the_command_line() {
    let sandbox = Sandbox::new().at(1_794_707_999_000).with_env("TZ", "UTC");
    sandbox.write_config(r#"{ "worker": { "port": 0 } }"#);
    Past::new(&sandbox, "aaaa-1111").prompt("why does the importer stall?").reply("The rates hold the lock.");
    assert_eq!(sandbox.longhaul(&["memory", "import", "--quiet"]).status, Some(0));
    let served = Served::new(&sandbox);
    let answer = served.get("/api/recall?q=why+did+importers+stall").json();
    let command = sandbox.longhaul(&["memory", "recall", "why did importers stall", "--json"]).json();
    assert_eq!(answer, command);
    assert_eq!(answer["sessions"][0]["passages"][0]["answered"]["text"], "The rates hold the lock.");
    let none = served.get("/api/recall?q=zeppelin").json();
    assert_eq!((&none["sessions"], &none["weak"]), (&json!([]), &json!(false)));
    for (address, status, said) in [
        ("/api/recall", 400, "q is missing"),
        ("/api/recall?q=%3F", 400, "q has no words"),
        ("/api/recall?q=x&tokens=0", 400, "from 100 to 20000"),
        ("/api/recall?q=x&project=nowhere", 404, "nowhere"),
        ("/api/recall?q=x+since:monday", 400, "since is"),
        ("/api/recall?q=x&limit=3", 400, "limit"),
    ] {
        let refused = served.get(address);
        assert_eq!(refused.status, status, "{address}: {refused:?}");
        assert!(refused.body.contains(said), "{address}: {refused:?}");
    }
}
