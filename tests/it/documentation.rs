//! The documents: every link leads somewhere, and the README stays short.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Lines that the README may have.
const README_LINES: usize = 150;

#[test]
fn every_link_in_the_documents_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in links(&fs::read_to_string(&page).unwrap()) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let leads = target.exists()
                && (heading.is_empty() || headings(&fs::read_to_string(&target).unwrap()).contains(heading));
            if !leads {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere:\n{}", broken.join("\n"));
}

#[test]
fn the_readme_is_short_and_names_every_page() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.lines().count() <= README_LINES, "move something to docs/");
    let linked: HashSet<String> = links(&readme).into_iter().collect();
    for page in pages().iter().filter(|page| page.parent().unwrap().ends_with("docs")) {
        let name = format!("docs/{}", page.file_name().unwrap().to_str().unwrap());
        assert!(linked.contains(&name), "README.md does not lead to {name}");
    }
}

#[test]
fn skills_and_slash_commands_say_what_is_true() {
    let plugin = |path: &str| std::fs::read_to_string(root().join("plugin").join(path)).unwrap();
    let points = plugin("skills/rewind-points/SKILL.md");
    assert!(points.contains("/longhaul:restore NUMBER now"), "{points}");
    let states = plugin("skills/session-states/SKILL.md");
    assert!(states.contains(&longhaul_tracker::wants("Write", Some("src/main.rs"))), "{states}");
    for command in ["bookmark", "bookmarks", "restore"] {
        let text = plugin(&format!("commands/{command}.md"));
        assert!(text.contains("without a request to the model"), "{text}");
        assert!(text.contains("disable-model-invocation: true"), "{text}");
    }
}

#[test]
fn links_and_headings_are_found() {
    assert_eq!(
        links("[a](b.md) ![c](d.svg)\n```\n[no](code)\n```\n`[no](x)` [e](f.md#g)"),
        ["b.md", "d.svg", "f.md#g"]
    );
    let found = headings("# What can go wrong?\n```\n# no\n```\n## A project's `own`");
    assert!(found.contains("what-can-go-wrong") && found.contains("a-projects-own"), "{found:?}");
    assert!(!found.contains("no"));
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns every document at the top and in docs/.
fn pages() -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "md"))
    };
    in_folder(root()).chain(in_folder(root().join("docs"))).collect()
}

/// Returns the lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// Returns where the links of a document lead.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Every other piece is code.
        for piece in line.split('`').step_by(2) {
            found.extend(piece.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())));
        }
    }
    found
}

/// Returns the names by which the headings of a document are linked to.
fn headings(text: &str) -> HashSet<String> {
    let name = |heading: &str| {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
    };
    prose(text).filter(|line| line.starts_with('#')).map(|line| name(line.trim_start_matches('#'))).collect()
}
