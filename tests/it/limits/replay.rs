//! How often real transcripts raise an alarm: set `LONGHAUL_TRANSCRIPTS` to a folder, and read what it prints.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use longhaul_activity_log::limits::{LoopStep, agent_mark, loop_step, mark};
use longhaul_activity_log::{LogLine, TailStart};
use longhaul_core::Millis;
use serde_json::Value;

/// The most alarms per 1,000 calls.
const MOST_ALARMS: f64 = 1.0;

#[test]
fn real_transcripts_raise_hardly_an_alarm() {
    let Some(folder) = std::env::var_os("LONGHAUL_TRANSCRIPTS") else {
        eprintln!("left out: set LONGHAUL_TRANSCRIPTS to a folder with transcripts");
        return;
    };
    let (mut calls, mut alarms) = (0, 0);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let (of_file, found) = replay(&path);
        calls += of_file;
        alarms += found.len();
        for line in found {
            eprintln!("{}: {line}", path.file_name().unwrap().to_string_lossy());
        }
    }
    let rate = alarms as f64 * 1000.0 / f64::from(calls);
    eprintln!("{calls} calls, {alarms} alarms, {rate:.2} per 1,000");
    assert!(calls > 0 && rate <= MOST_ALARMS);
}

/// Plays the calls of a transcript. Returns how many there are, and a line for each alarm.
fn replay(path: &Path) -> (u32, Vec<String>) {
    let (mut calls, mut alarms) = (0, Vec::new());
    let mut begun: HashMap<String, (String, String)> = HashMap::new();
    let mut log = String::new();
    for line in fs::read_to_string(path).unwrap_or_default().lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else { continue };
        let agent = agent_mark(entry["agentId"].as_str());
        let at = Millis(log.len() as u64);
        let content = &entry["message"]["content"];
        let blocks = content.as_array().map_or(&[][..], Vec::as_slice);
        let is_text = content.is_string() || blocks.iter().any(|block| block["type"] == "text");
        if entry["type"] == "user" && is_text && entry["isMeta"] != true {
            log += &format!("{}\n", LogLine::Prompt { at });
        }
        for block in blocks {
            let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
            if block["type"] == "tool_use" {
                begun.insert(text("id"), (text("name"), block["input"].to_string()));
            } else if block["type"] == "tool_result"
                && let Some((tool, input)) = begun.remove(&text("tool_use_id"))
            {
                calls += 1;
                let mark = mark("s", &tool, &input, &block["content"].to_string(), None);
                let line = match agent {
                    0 => LogLine::Tool { at, chars: 1, mark },
                    agent => LogLine::Call { at, agent, mark },
                };
                log += &format!("{line}\n");
                let step = loop_step(log.as_bytes(), TailStart::LogStart, agent);
                if let Some(stage) = step.stage() {
                    log += &format!("{}\n", LogLine::Loop { at, agent, stage });
                }
                if matches!(step, LoopStep::Tell(_) | LoopStep::Notify(_)) {
                    alarms.push(format!("{step:?} {tool} {}", input.chars().take(200).collect::<String>()));
                }
            }
        }
    }
    (calls, alarms)
}
