//! `longhaul import`: the data of other programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::past::{Past, holding};
use crate::predecessors::{ClaudeMem, throughline};
use crate::sandbox::{Outcome, Sandbox};
use crate::tmux::Tmux;

fn import(sandbox: &Sandbox, args: &[&str]) -> Value {
    let outcome = sandbox.longhaul(&[&["import", "--json"], args].concat());
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    outcome.json()
}

fn search(sandbox: &Sandbox, words: &str) -> Outcome {
    sandbox.longhaul(&["memory", "search", "--all", "--json", words])
}

fn found(sandbox: &Sandbox, words: &str) -> usize {
    let outcome = search(sandbox, words);
    if outcome.status == Some(0) { outcome.json().as_array().unwrap().len() } else { 0 }
}

/// Every file below a folder, byte for byte.
fn listing(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(listing(&path))
        } else {
            drop(files.insert(path.clone(), fs::read(path).unwrap()))
        }
    }
    files
}

#[test]
fn a_memory_comes_over_once_and_is_found_at_once() {
    let sandbox = Sandbox::new();
    let theirs = ClaudeMem::new(&sandbox);
    theirs.fill(600);
    theirs.session("manual-tools", "tools").observation(
        "manual-tools",
        0,
        "discovery",
        "Saved by hand: zeppelin",
        "text",
    );
    theirs.observation("nobody", 0, "change", "Astray: dirigible", "text");
    // It is open, and all of it still in the log.
    let before = listing(&sandbox.home());
    let first = &import(&sandbox, &[])[0];
    assert_eq!(first["from"], "claude-mem");
    let brought = json!({ "sessions": 12, "prompts": 60, "observations": 600, "summaries": 60, "notes": 2 });
    assert_eq!(first["imported"], brought, "{first}");
    assert_eq!(found(&sandbox, "kind:fix \"part 333\""), 1);
    assert_eq!(found(&sandbox, "zeppelin"), 1);
    assert_eq!(found(&sandbox, "dirigible"), 1);
    assert_eq!(found(&sandbox, "\"question 3 of 00007\""), 1);
    let mut after = listing(&sandbox.home());
    after.retain(|path, _| !path.starts_with(sandbox.data_dir()));
    assert!(after == before, "their files were changed");

    let database = sandbox.database();
    for (index, level) in [("passage_terms", 0), ("prompt_trigrams", 1), ("observation_trigrams", 1)] {
        let sql = format!("INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', {level})");
        database.execute(&sql, []).unwrap_or_else(|error| panic!("{index}: {error}"));
    }
    let counted: i64 = database.query_row("SELECT sum(observations) FROM projects", [], |row| row.get(0)).unwrap();
    assert_eq!(counted, 602);

    let export = sandbox.longhaul(&["memory", "export", "--all"]).stdout;
    theirs.observation("00003-filled", 5, "change", "One more: gyrocopter", "text");
    let second = &import(&sandbox, &["--from", "claude-mem"])[0];
    let brought = json!({ "sessions": 0, "prompts": 0, "observations": 1, "summaries": 0, "notes": 0 });
    assert_eq!(second["imported"], brought, "{second}");
    assert_eq!(sandbox.longhaul(&["memory", "export", "--all"]).stdout.lines().count(), export.lines().count() + 1);
}

#[test]
fn a_bookmark_does_not_come_over_as_a_prompt() {
    let sandbox = Sandbox::new();
    let theirs = ClaudeMem::new(&sandbox);
    theirs.session("aaaa", "shop").prompt("aaaa", 1, "·").prompt("aaaa", 2, "· green tests");
    theirs.prompt("aaaa", 3, "· fix the parser\n· then the tests");
    let report = &import(&sandbox, &[])[0];
    assert_eq!(report["imported"]["prompts"], 1, "{report}");
    assert_eq!((found(&sandbox, "green"), found(&sandbox, "parser")), (0, 1));
}

#[test]
fn what_is_forgotten_stays_forgotten() {
    let sandbox = Sandbox::new();
    let theirs = ClaudeMem::new(&sandbox);
    theirs
        .session("aaaa", "shop")
        .prompt("aaaa", 1, "about zanzibar")
        .observation("aaaa", 1, "change", "zanzibar", "x");
    theirs.summary("aaaa", 1, "zanzibar in short");
    theirs.session("bbbb", "shop").prompt("bbbb", 1, "about kilimanjaro");
    import(&sandbox, &[]);
    for id in ["P1", "O1", "S1"] {
        assert_eq!(sandbox.longhaul(&["memory", "forget", id, "--yes"]).status, Some(0), "{id}");
    }
    assert_eq!(sandbox.longhaul(&["memory", "forget", "--session", "bbbb", "--yes"]).status, Some(0));
    import(&sandbox, &[]);
    for gone in ["zanzibar", "kilimanjaro"] {
        assert_eq!(holding(&sandbox.data_dir(), gone), Vec::<PathBuf>::new(), "{gone}");
    }
}

#[test]
fn nothing_private_or_secret_comes_over() {
    let sandbox = Sandbox::new();
    let theirs = ClaudeMem::new(&sandbox);
    theirs.session("aaaa", "shop");
    // Their prompt of the session itself is stored with its private parts: it is not even read.
    theirs.connection.execute("UPDATE sdk_sessions SET user_prompt = '<private>zanzibar</private>'", []).unwrap();
    theirs.prompt("aaaa", 1, "<private>zanzibar</private>").observation("aaaa", 1, "change", "zanzibar", "x");
    theirs.summary("aaaa", 1, "zanzibar again");
    theirs.prompt("aaaa", 2, "public <private>kilimanjaro</private>");
    theirs.observation("aaaa", 2, "change", "Key AKIAIOSFODNN7EXAMPLE", "with <private>kilimanjaro");
    let report = &import(&sandbox, &[])[0];
    assert_eq!(report["imported"]["observations"], 1, "{report}");
    assert!(report["skipped"].to_string().contains("wholly private"), "{report}");
    for gone in ["zanzibar", "kilimanjaro", "AKIAIOSFODNN7EXAMPLE"] {
        assert_eq!(holding(&sandbox.data_dir(), gone), Vec::<PathBuf>::new(), "{gone}");
    }
    assert_eq!(found(&sandbox, "public"), 1);
}

#[test]
fn a_session_belongs_to_the_folder_that_its_transcript_tells_of() {
    let sandbox = Sandbox::new();
    let name = sandbox.project().file_name().unwrap().to_str().unwrap().to_owned();
    Past::new(&sandbox, "aaaa").prompt("question 1").reply("Yes.");
    let theirs = ClaudeMem::new(&sandbox);
    theirs.session("aaaa", &name).prompt("aaaa", 1, "question 1").observation("aaaa", 1, "change", "Airship one", "x");
    // Of this one nothing but the project's name is known.
    theirs.session("bbbb", &name).observation("bbbb", 1, "change", "Airship two", "x");
    theirs.session("cccc", "elsewhere").observation("cccc", 1, "change", "Airship three", "x");
    import(&sandbox, &[]);
    let here = sandbox.longhaul(&["memory", "search", "airship", "--json"]).json();
    assert_eq!(here.as_array().unwrap().len(), 2, "{here}");
    let named = sandbox.longhaul(&["memory", "search", "--project", "elsewhere", "airship", "--json"]).json();
    assert_eq!(named.as_array().unwrap().len(), 1, "{named}");
    // The user leaves folders out: of one that nobody knows nothing is taken.
    let strict = Sandbox::new();
    strict.write_config(r#"{"memory":{"exclude":["~/hidden/*"]}}"#);
    ClaudeMem::new(&strict).session("cccc", "elsewhere").observation("cccc", 1, "change", "Airship", "x");
    let report = &import(&strict, &[])[0];
    assert!(report["skipped"].to_string().contains("memory.exclude"), "{report}");
    assert_eq!(found(&strict, "airship"), 0);
}

#[test]
fn an_import_that_is_killed_is_carried_on() {
    let sandbox = Sandbox::new();
    ClaudeMem::new(&sandbox).fill(3000);
    for ms in [20, 60, 120, 250, 400] {
        let mut command = sandbox.executable("longhaul");
        let mut child = command.arg("import").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(ms));
        let _ = child.kill();
        child.wait().unwrap();
    }
    import(&sandbox, &[]);
    let database = sandbox.database();
    let count = |table: &str| {
        database.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(["sessions", "prompts", "observations", "session_summaries"].map(count), [60, 300, 3000, 300]);
    let wrong = "SELECT count(*) FROM observations o JOIN prompts p USING (session_id, prompt_number)
                 WHERE o.created_at - p.created_at <> 1000";
    assert_eq!(database.query_row(wrong, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let sandbox = Sandbox::new();
    ClaudeMem::new(&sandbox).fill(100);
    throughline(&sandbox, "aaaa", &sandbox.project());
    fs::create_dir_all(sandbox.home().join(".claude/tav")).unwrap();
    fs::write(sandbox.home().join(".claude/tav/config.json"), r#"{"bookmarks":{"marker":"+"}}"#).unwrap();
    let before = listing(&sandbox.home());
    let dry = import(&sandbox, &["--dry-run"]);
    assert!(listing(&sandbox.home()) == before);
    let real = import(&sandbox, &[]);
    for (dry, real) in dry.as_array().unwrap().iter().zip(real.as_array().unwrap()) {
        let keys = dry["imported"].as_object().unwrap().keys();
        keys.for_each(|key| assert_eq!(dry["imported"][key], real["imported"][key], "{key} of {}", dry["from"]));
        assert_eq!(dry["settings"], real["settings"]);
    }
    let again = import(&sandbox, &["--dry-run"]);
    assert!(
        again.as_array().unwrap().iter().all(|report| {
            report["imported"].as_object().unwrap().values().all(|count| count == 0) && report["settings"] == json!({})
        }),
        "{again}"
    );
}

#[test]
fn what_was_said_under_throughline_can_be_fetched() {
    let sandbox = Sandbox::new();
    throughline(&sandbox, "aaaa", &sandbox.project());
    let first = &import(&sandbox, &[])[0];
    let brought = json!({ "sessions": 1, "turns": 2, "summaries": 1, "prompts": 2, "observations": 1 });
    assert_eq!(first["imported"], brought, "{first}");
    let detail = sandbox.longhaul(&["detail", "2", "--session", "aaaa"]).stdout;
    assert!(detail.contains("then mend it") && detail.contains("bearing made"), "{detail}");
    assert_eq!(found(&sandbox, "windmill"), 2, "the prompt, and the summary that names it");
    assert_eq!(found(&sandbox, "kind:command bearing"), 1);
    assert_eq!(holding(&sandbox.data_dir(), "AKIAIOSFODNN7EXAMPLE"), Vec::<PathBuf>::new());
    let second = &import(&sandbox, &[])[0];
    assert_eq!(second["imported"], json!({}), "{second}");
    // One whose transcript is still there is read from that.
    let other = Sandbox::new();
    throughline(&other, "aaaa", &other.project());
    Past::new(&other, "aaaa").prompt("why does the windmill stop").reply("The bearing is worn.");
    let report = &import(&other, &[])[0];
    assert!(report["skipped"].to_string().contains("longhaul memory import"), "{report}");
}

#[test]
fn settings_and_bookmarks_of_tav_come_over() {
    let sandbox = Sandbox::new();
    let tav = sandbox.home().join(".claude/tav");
    fs::create_dir_all(tav.join("state")).unwrap();
    let config = json!({
        "bookmarks": { "marker": "§", "thresholds": { "minTokens": 9000, "minSeconds": [], "minToolCalls": 30 } },
        "contextGuard": { "enabled": true, "compactThreshold": 40000, "responseRatio": 0.25 },
    });
    fs::write(tav.join("config.json"), config.to_string()).unwrap();
    fs::write(tav.join("state/aaaa.log"), "T 1780000000000 50\nB 1780000001000\nB x\nnonsense\nI 5\nB 1780000002000\n")
        .unwrap();
    let ours = "{\n\t\"bookmarks\": { \"thresholds\": { \"min_tool_calls\": 20 } },\n\t\"worker\":{}\n}\n";
    sandbox.write_config(ours);
    let report = &import(&sandbox, &[])[0];
    assert_eq!(report["imported"], json!({ "bookmarks": 2 }), "{report}");
    let settings = json!({
        "bookmarks.marker": "\"§\"", "bookmarks.thresholds.min_tokens": "9000", "guard.compact_percent": "0.8",
        "guard.deny_percent": "0.85",
    });
    assert_eq!(report["settings"], settings, "{report}");
    let left = report["skipped"].to_string();
    assert!(left.contains("min_tool_calls is set to 20 here, not to 30"), "{left}");
    assert!(left.contains("minSeconds cannot be used") && left.contains("responseRatio has no counterpart"), "{left}");
    let text = fs::read_to_string(sandbox.data_dir().join("config.json")).unwrap();
    assert!(text.contains("\"min_tool_calls\": 20") && text.contains("\n\t\"worker\":{}"), "{text}");
    assert_eq!(sandbox.longhaul(&["config", "check"]).status, Some(0), "{text}");
    assert_eq!(sandbox.longhaul(&["bookmarks", "--session", "aaaa", "--json"]).json().as_array().unwrap().len(), 2);
    let again = &import(&sandbox, &[])[0];
    assert_eq!((&again["imported"], &again["settings"]), (&json!({ "bookmarks": 0 }), &json!({})), "{again}");
    assert_eq!(fs::read_to_string(sandbox.data_dir().join("config.json")).unwrap(), text);
    // A file that we cannot read is not ours to mend.
    sandbox.write_config("{ // mine\n}");
    let refused = sandbox.longhaul(&["import", "--json"]);
    assert!(refused.status != Some(0) && refused.stderr.contains("config.json is not JSON"), "{refused:?}");
    assert_eq!(fs::read_to_string(sandbox.data_dir().join("config.json")).unwrap(), "{ // mine\n}");
}

#[test]
fn shares_of_tav_are_left_while_its_guard_is_off() {
    let sandbox = Sandbox::new();
    let tav = sandbox.home().join(".claude/tav");
    fs::create_dir_all(tav.join("state")).unwrap();
    let config = json!({ "bookmarks": { "marker": "§" }, "contextGuard": { "enabled": false, "compactPercent": 0.7 } });
    fs::write(tav.join("config.json"), config.to_string()).unwrap();
    let report = &import(&sandbox, &[])[0];
    assert_eq!(report["settings"], json!({ "bookmarks.marker": "\"§\"" }), "{report}");
    let left = report["skipped"].to_string();
    assert!(left.contains("compactPercent has no effect: tav's guard is off"), "{left}");
    assert!(!left.contains("no counterpart"), "{left}");
}

#[test]
fn what_another_was_told_to_leave_out_is_left_out_from_the_start() {
    let sandbox = Sandbox::new();
    let theirs = ClaudeMem::new(&sandbox);
    let hidden = sandbox.home().join("hidden/x");
    Past::within(&sandbox, "aaaa", &hidden).prompt("secret").reply("Yes.");
    theirs.session("aaaa", "x").observation("aaaa", 1, "change", "zanzibar", "x");
    let settings = json!({ "CLAUDE_MEM_EXCLUDED_PROJECTS": "~/hidden/*", "CLAUDE_MEM_MODEL": "x" });
    fs::write(sandbox.home().join(".claude-mem/settings.json"), settings.to_string()).unwrap();
    let dry = &import(&sandbox, &["--dry-run"])[0];
    assert_eq!(dry["imported"], json!({}), "{dry}");
    let report = &import(&sandbox, &[])[0];
    assert_eq!(report["settings"], json!({ "memory.exclude": "[\"~/hidden/*\"]" }), "{report}");
    assert_eq!(found(&sandbox, "zanzibar"), 0);
}

#[test]
fn options_of_the_older_tracker_are_told_as_ours() {
    let sandbox = Sandbox::new();
    let conf = "set -g @claude-tracker-keybinding 'g'\nset -g @claude-tracker-completed-delay 3\nset -g mouse on\n";
    fs::write(sandbox.home().join(".tmux.conf"), conf).unwrap();
    let told = sandbox.longhaul(&["import"]).stdout;
    assert!(told.contains("set -g @longhaul-key 'g'"), "{told}");
    assert!(told.contains("@claude-tracker-completed-delay has no counterpart"), "{told}");
    assert_eq!(fs::read_to_string(sandbox.home().join(".tmux.conf")).unwrap(), conf);
    // What the server has counts, and a script in it is text.
    let tmux = Tmux::start(&sandbox);
    tmux.run(&["set-option", "-g", "@claude-tracker-keybinding", "h"]);
    tmux.run(&["set-option", "-g", "@claude-tracker-on-blocked", "say \"it's $4\""]);
    let mut command = sandbox.executable("longhaul");
    let told = command.env("TMUX", tmux.variable()).args(["import", "--json"]).output().unwrap().stdout;
    let report = &serde_json::from_slice::<Value>(&told).unwrap()[0];
    assert_eq!(report["advice"][1], "set -g @longhaul-key 'h'", "{report}");
    assert_eq!(report["advice"][2], r#"set -g @longhaul-on-blocked "say \"it's \$4\"""#, "{report}");
    // tmux reads it back as it was.
    fs::write(sandbox.home().join("new.conf"), report["advice"][2].as_str().unwrap()).unwrap();
    tmux.run(&["source-file", sandbox.home().join("new.conf").to_str().unwrap()]);
    assert_eq!(tmux.run(&["show-options", "-gv", "@longhaul-on-blocked"]).trim_end(), "say \"it's $4\"");
}

#[test]
fn what_cannot_be_taken_over_is_named_and_nothing_is_half_done() {
    let sandbox = Sandbox::new();
    let nothing = sandbox.longhaul(&["import"]);
    assert_eq!(nothing.status, Some(0));
    assert!(nothing.stdout.contains("Nothing to import"), "{nothing:?}");
    for (args, why) in [
        (["import", "--from", "claude-mem"], "--from claude-mem=FOLDER"),
        (["import", "--from", "nonsense"], "use one of tav"),
    ] {
        let refused = sandbox.longhaul(&args);
        assert_eq!(refused.status, Some(1));
        assert!(refused.stderr.contains(why), "{refused:?}");
    }
    let dir = sandbox.home().join(".claude-mem");
    fs::create_dir_all(&dir).unwrap();
    let theirs = dir.join("claude-mem.db");
    fs::write(&theirs, "this is no database, and long enough to be read").unwrap();
    throughline(&sandbox, "aaaa", &sandbox.project());
    let mixed = sandbox.longhaul(&["import"]);
    assert_eq!(mixed.status, Some(1));
    assert!(mixed.stdout.contains("failed: ") && mixed.stdout.contains("no SQLite database"), "{mixed:?}");
    assert_eq!(found(&sandbox, "windmill"), 2, "the other one came over all the same");
    // The end of it is missing.
    fs::remove_file(&theirs).unwrap();
    let whole = ClaudeMem::new(&sandbox);
    whole.fill(500);
    whole.connection.execute_batch("PRAGMA journal_mode = delete").unwrap();
    drop(whole);
    let bytes = fs::read(&theirs).unwrap();
    fs::write(&theirs, &bytes[..bytes.len() / 2]).unwrap();
    let torn = sandbox.longhaul(&["import", "--from", "claude-mem"]);
    assert_eq!((torn.status, found(&sandbox, "engine")), (Some(1), 0), "{torn:?}");
    assert!(torn.stdout.contains("failed: "), "{torn:?}");
    sandbox.write_config(r#"{"memory":{"enabled":false}}"#);
    let off = sandbox.longhaul(&["import"]);
    assert!(off.stdout.contains("memory.enabled"), "{off:?}");
}
