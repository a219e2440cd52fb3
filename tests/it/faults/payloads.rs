//! Damaged and senseless payloads, over every executable. `cargo xtask fuzz --payloads N` does the same with more.

use std::fs;

use longhaul_core::catalog::REGISTRATIONS;

use crate::dice::Dice;
use crate::mutant::mutant;
use crate::sandbox::{Outcome, Sandbox, part_of_event};

const PER_EXECUTABLE: usize = 12;

#[test]
fn every_executable_answers_all_of_them() {
    let sandbox = Sandbox::new();
    sandbox.write_config(r#"{"continuation":{"at":"on"},"guard":{"compact_percent":0.76,"deny_percent":0.85}}"#);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/payloads");
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.is_file());
    names.sort();
    let recorded: Vec<String> = names.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let mut dice = Dice(10);
    let own = REGISTRATIONS.iter().map(|hook| (part_of_event(hook.event), None, hook.event));
    let codex = longhaul_agents::find("codex").unwrap();
    let codex = codex.events.iter().map(|rule| ("longhaul-codex".to_owned(), Some(rule.argument), rule.ours));
    for (name, argument, event) in own.chain(codex) {
        // Those of its own event get further than those of another.
        let event = format!("\"{event}\"");
        let own: Vec<&str> = recorded.iter().filter(|text| text.contains(&event)).map(String::as_str).collect();
        let all: Vec<&str> = recorded.iter().map(String::as_str).collect();
        for _ in 0..PER_EXECUTABLE {
            let base = if own.is_empty() || dice.roll(8) == 0 { dice.pick(&all) } else { dice.pick(&own) };
            let payload = mutant(base, &mut dice);
            let outcome = Outcome::of(sandbox.executable(&name).args(argument), &payload);
            assert_eq!(outcome.status, Some(0), "{name}: {:?}", String::from_utf8_lossy(&payload));
            let is_right =
                if name == "longhaul-pre-compact" { outcome.stdout.is_empty() } else { outcome.json().is_object() };
            assert!(is_right, "{name}: {:?}", String::from_utf8_lossy(&payload));
        }
    }
    assert!(!sandbox.error_log().contains("panicked"), "{}", sandbox.error_log());
}
