use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::reply::Block;
use crate::script::{Rule, answer};
use crate::{Model, Shown};

fn shown(messages: Value) -> Shown {
    let tools = json!([{ "name": "Bash" }, { "name": "Agent" }]);
    Shown { session: String::new(), body: json!({ "tools": tools, "messages": messages }) }
}

fn prompt(text: &str) -> Shown {
    shown(json!([{ "role": "user", "content": text }]))
}

fn call(name: &str, input: Value) -> Block {
    Block::Call { name: name.to_owned(), input }
}

#[track_caller]
fn check(shown: &Shown, expected: &[Block]) {
    assert_eq!(answer(shown, &[]).blocks, expected);
}

#[test]
fn a_prompt_without_an_order_is_understood() {
    check(&prompt("hello"), &[Block::Text("Understood.".to_owned())]);
}

#[test]
fn an_order_ends_with_its_line_and_leaves_out_reminders() {
    check(
        &prompt("SLOW:1 SAY:yes, <system-reminder>SAY:no</system-reminder>\nmore"),
        &[Block::Text("yes,".to_owned())],
    );
}

#[test]
fn tool_calls_go_on_by_the_results_that_came() {
    let result = |text: &str| {
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "x", "content": "step" }, { "type": "text", "text": text }
        ]})
    };
    let order = json!({ "role": "user", "content": "TOOLS:2" });
    let second = call("Bash", json!({ "command": "echo step 2", "description": "a step" }));
    check(&shown(json!([order, result("")])), std::slice::from_ref(&second));
    // A bookmark that rides along is no order.
    check(&shown(json!([order, result("·")])), &[second]);
    check(&shown(json!([order, result(""), result("")])), &[Block::Text("Everything is done.".to_owned())]);
}

#[test]
fn subagents_start_together() {
    let task = |i: u64| {
        let input =
            json!({ "description": format!("part {i}"), "prompt": "TOOLS:3", "subagent_type": "general-purpose" });
        call("Agent", input)
    };
    check(&prompt("TASK:2:TOOLS:3;;SAY:all"), &[task(1), task(2)]);
}

#[test]
fn a_tool_that_is_not_offered_is_named() {
    check(&prompt("TOOL:Other {}"), &[Block::Text("Other is not offered, only Bash, Agent".to_owned())]);
}

#[test]
fn a_rule_goes_before_orders_and_fills_in_what_it_found() {
    let rules = [Rule { after: "nonce: ".to_owned(), say: "got {}.".to_owned() }];
    let reply = answer(&prompt("SAY:no\nnonce: 47-11\n"), &rules);
    assert_eq!(reply.blocks, [Block::Text("got 47-11.".to_owned())]);
}

#[test]
fn an_answer_is_streamed_and_remembered() {
    let model = Model::start(Vec::new()).unwrap();
    let body =
        json!({ "stream": true, "messages": [{ "role": "user", "content": "USAGE:7 SAY:one two" }] }).to_string();
    let mut connection = TcpStream::connect(model.url().trim_start_matches("http://")).unwrap();
    write!(
        connection,
        "POST /v1/messages?beta=true HTTP/1.1\r\nX-Claude-Code-Session-Id: a\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    connection.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"text\":\"one \"") && answer.contains("\"text\":\"two\""), "{answer}");
    assert!(answer.contains("\"input_tokens\":7") && answer.ends_with("0\r\n\r\n"), "{answer}");
    assert_eq!(model.shown()[0].session, "a");
}
