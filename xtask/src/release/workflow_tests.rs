//! Checks of the workflows in .github, which no other test covers: they must parse, and their xtask commands must
//! exist.

use std::fs;

use clap::Parser;
use saphyr::{LoadableYamlNode, Yaml};

use crate::arguments::Arguments;
use crate::run;
use crate::workspace::Workspace;

/// Reads a workflow and calls `look` with each step and the name of its job.
fn steps(name: &str, mut look: impl FnMut(&str, &Yaml<'_>)) {
    let path = Workspace::load().unwrap().root.join(".github/workflows").join(name);
    let text = fs::read_to_string(path).unwrap();
    let parsed = Yaml::load_from_str(&text).unwrap();
    let workflow = &parsed[0];
    assert_eq!(parsed.len(), 1);
    let jobs = workflow.as_mapping_get("jobs").and_then(Yaml::as_mapping).unwrap();
    for (job, body) in jobs {
        let job = job.as_str().unwrap();
        for needed in ["runs-on", "timeout-minutes"] {
            assert!(body.as_mapping_get(needed).is_some(), "{name}: {job} has no {needed}");
        }
        let steps = body.as_mapping_get("steps").and_then(Yaml::as_sequence).unwrap();
        steps.iter().for_each(|step| look(job, step));
    }
    let permissions = workflow.as_mapping_get("permissions").and_then(|all| all.as_mapping_get("contents"));
    assert_eq!(permissions.and_then(Yaml::as_str), Some("read"), "{name}: only the publishing job may write");
}

#[test]
fn every_command_of_ours_in_a_workflow_is_one() {
    let mut commands = 0;
    for name in ["ci.yml", "release.yml"] {
        steps(name, |job, step| {
            let script = step.as_mapping_get("run").and_then(Yaml::as_str);
            let action = step.as_mapping_get("uses").and_then(Yaml::as_str);
            assert!(script.is_some() != action.is_some(), "{name}: a step of {job} neither runs nor uses anything");
            let script = script.unwrap_or_default();
            // Anyone may choose a tag's name: it must be passed in a variable, never as part of the script.
            assert!(!script.contains("${{"), "{name}: {job} has an expression in its script");
            for (at, _) in script.match_indices("cargo xtask ") {
                let line = script[at..].lines().next().unwrap_or_default();
                let words = line.split_whitespace().take_while(|word| !["&&", ">", "|"].contains(word));
                let words = words.skip(1).map(|word| word.trim_matches('"'));
                Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{name}: {line}: {error}"));
                commands += 1;
            }
        });
    }
    assert!(commands >= 6, "{commands}");
}

#[test]
fn archives_are_built_for_targets_that_there_are() {
    let root = Workspace::load().unwrap().root;
    let text = fs::read_to_string(root.join(".github/workflows/release.yml")).unwrap();
    let parsed = Yaml::load_from_str(&text).unwrap();
    let find = |keys: &[&str]| keys.iter().try_fold(&parsed[0], |yaml, key| yaml.as_mapping_get(key));
    let rows = find(&["jobs", "build", "strategy", "matrix", "include"]).and_then(Yaml::as_sequence).unwrap();
    let targets: Vec<&str> =
        rows.iter().map(|row| row.as_mapping_get("target").and_then(Yaml::as_str).unwrap()).collect();
    let known = run::output(run::program("rustc").args(["--print", "target-list"])).unwrap();
    for target in &targets {
        assert!(known.lines().any(|line| line == *target), "{target}");
        assert_eq!(targets.iter().filter(|other| *other == target).count(), 1, "{target} is there twice");
    }
    for system in ["linux", "apple"] {
        assert!(targets.iter().any(|target| target.contains(system)), "nothing for {system}");
    }
}
