//! The commands.

use super::Session;
use crate::sandbox::Sandbox;

#[test]
fn wrong_questions_name_the_thing_and_the_mend() {
    let sandbox = Sandbox::new();
    let session = Session::new(&sandbox, "s", 0);
    let message = |args: &[&str]| {
        let outcome = session.longhaul(args);
        assert_eq!(outcome.status, Some(1), "{outcome:?}");
        outcome.stderr
    };
    assert_eq!(message(&["detail", "14:03"]), "longhaul: nothing has been kept yet\n");
    session.start("startup");
    assert!(message(&["detail", "25:99"]).contains("\"25:99\" is no time: try 14:03"));
    assert!(message(&["detail", "14:03", "--date", "yesterdayish"]).contains("is no date"));
    assert!(message(&["detail", "14:03"]).contains("Nothing is kept of 14:03"));
    assert!(message(&["handoff", "show"]).contains("name one with --session ID"));
    assert!(message(&["handoff", "write", "--session", "zz"]).contains("no session is known"));
}
