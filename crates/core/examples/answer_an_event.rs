//! Reads the payload of a hook and prints the JSON object that answers it.

#![expect(clippy::print_stdout, reason = "an example prints its result")]

use longhaul_core::event::{Event, EventName};
use longhaul_core::{Config, Reply, private_tags};

fn main() {
    let (config, warnings) = Config::from_json(r#"{"bookmarks": {"thresholds": {"min_tokens": "many"}}}"#);
    for warning in warnings {
        println!("config: {warning}");
    }
    let payload = r#"{"session_id": "s", "hook_event_name": "UserPromptSubmit",
                      "prompt": "deploy with <private>hunter2</private>", "a_field_of_tomorrow": 1}"#;
    let reply = match Event::parse(payload) {
        Ok(Event::UserPromptSubmit(event)) if config.memory.enabled => {
            let kept = private_tags::strip(&event.prompt);
            Reply::context(EventName::UserPromptSubmit, format!("The user said: {kept}"))
        }
        Ok(_) => Reply::default(),
        Err(error) => {
            println!("payload: {error}");
            Reply::default()
        }
    };
    println!("{}", reply.to_json());
}
