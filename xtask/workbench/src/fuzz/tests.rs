use std::fs;
use std::path::Path;

use super::{Seeds, TARGETS};

#[test]
fn every_folder_of_payloads_is_a_seed() {
    let payloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/payloads");
    let entries = fs::read_dir(payloads).unwrap().flatten().filter(|entry| entry.path().is_dir());
    for name in entries.map(|entry| entry.file_name().into_string().unwrap()) {
        let folder = format!("payloads/{name}");
        let is_seed = |seeds: &Seeds| matches!(seeds, Seeds::Recorded(folders, _) if folders.contains(&&*folder));
        assert!(TARGETS.iter().any(|target| is_seed(&target.seeds)), "{folder}");
    }
}

#[test]
fn every_target_is_run_and_compiled() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let files = fs::read_dir(fuzz.join("fuzz_targets")).unwrap().flatten();
    let mut found: Vec<String> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    found.sort();
    let names = TARGETS.map(|target| target.name);
    assert_eq!(found, names.map(|name| format!("{name}.rs")));
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    let bins: Vec<&str> = manifest.split("[[bin]]\n").skip(1).filter_map(|bin| bin.lines().next()).collect();
    assert_eq!(bins, names.map(|name| format!("name = \"{name}\"")));
}
