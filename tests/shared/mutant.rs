//! Payloads as no client sends them: recorded ones, damaged in every way that we could think of, and plain noise.

use serde_json::{Value, json};

use crate::dice::Dice;

/// What stands where something else should.
const ODD: [&str; 22] = [
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "[]",
    "{}",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"../../x\"",
    "\"<private>\"",
    "\"</private\"",
    "\"·\"",
    "\"/clear\"",
    "\"/longhaul:tl\"",
    "\"---\\ncontinue: true\\n---\\n\"",
    "\"%0\"",
    "[[[[[[[[[[[[]]]]]]]]]]]]",
    "\"mcp__x__y\"",
    "\"AskUserQuestion\"",
];

/// Names that the hooks look for, in places where they may not be.
const KEYS: [&str; 14] = [
    "session_id",
    "hook_event_name",
    "tool_name",
    "tool_input",
    "tool_response",
    "prompt",
    "cwd",
    "transcript_path",
    "agent_id",
    "source",
    "reason",
    "stop_hook_active",
    "last_assistant_message",
    "background_tasks",
];

/// Returns a payload made of `recorded`, which is JSON, by chance.
///
/// Most are still JSON, because those get furthest into the hooks.
pub(crate) fn mutant(recorded: &str, dice: &mut Dice) -> Vec<u8> {
    if dice.roll(20) == 0 {
        return noise(dice);
    }
    let mut value: Value = serde_json::from_str(recorded).unwrap_or(Value::Null);
    for _ in 0..dice.roll(4) {
        change(&mut value, dice);
    }
    let mut bytes = value.to_string().into_bytes();
    if dice.roll(3) == 0 {
        for _ in 0..=dice.roll(6) {
            damage(&mut bytes, dice);
        }
    }
    bytes
}

/// Changes one value, somewhere inside.
fn change(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(members) if !members.is_empty() && dice.roll(5) > 0 => {
            let at = dice.index(members.len());
            if dice.roll(6) == 0 {
                let key = members.keys().nth(at).cloned().unwrap_or_default();
                members.remove(&key);
            } else if let Some(member) = members.values_mut().nth(at) {
                change(member, dice);
            }
        }
        Value::Object(members) => {
            members.insert(dice.pick(&KEYS).to_owned(), odd(dice));
        }
        Value::Array(items) if !items.is_empty() && dice.roll(4) > 0 => {
            let at = dice.index(items.len());
            change(&mut items[at], dice);
        }
        other => *other = odd(dice),
    }
}

fn odd(dice: &mut Dice) -> Value {
    match dice.roll(8) {
        0 => json!("x".repeat(dice.index(20_000))),
        1 => json!(String::from_utf8_lossy(&noise(dice))),
        2 => json!(dice.roll(u64::MAX >> 31)),
        // A number that is none for us: left as the text that says so.
        _ => serde_json::from_str(dice.pick(&ODD)).unwrap_or_else(|_| json!("\u{fffd}")),
    }
}

/// Changes bytes: cuts, doubles, replaces.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    let at = dice.index(bytes.len());
    match dice.roll(5) {
        0 => bytes.truncate(at),
        1 => bytes[at] = dice.roll(256) as u8,
        2 => drop(bytes.remove(at)),
        3 => {
            let odd = dice.pick(&ODD).as_bytes();
            bytes.splice(at..at, odd.iter().copied());
        }
        _ => {
            let end = (at + dice.index(200)).min(bytes.len());
            let piece = bytes[at..end].to_vec();
            bytes.splice(at..at, piece);
        }
    }
}

fn noise(dice: &mut Dice) -> Vec<u8> {
    let length = dice.index(300);
    match dice.roll(3) {
        0 => (0..length).map(|_| dice.roll(256) as u8).collect(),
        1 => {
            (0..length).map(|_| *dice.pick(&[&b'{', &b'}', &b'[', &b'"', &b':', &b',', &b'\\', &b'u', &b'0'])).collect()
        }
        _ => vec![dice.pick(&[&b'[', &b'{', &0, &0xff, &b'"']).to_owned(); length * 40],
    }
}
