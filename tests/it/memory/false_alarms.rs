//! How often redaction takes out what is no secret, measured on this repository: a floor that any machine can check.
//!
//! docs/secrets.md says how to measure it on a larger folder.

use std::fs;
use std::path::Path;

use longhaul_memory::redact;

/// Sources, documents, and what real programs have written.
const FOLDERS: [&str; 9] =
    ["crates", "bins", "xtask", "docs", "plugin", "tests/payloads", "tests/transcripts", "tests/screens", "README.md"];

/// Tests hold secrets on purpose, and so does the code that looks for them.
const ON_PURPOSE: [&str; 2] = ["/tests/", "/memory/src/redact"];

#[derive(Default)]
struct Count {
    lines: usize,
    changed: Vec<String>,
}

impl Count {
    fn add(&mut self, root: &Path, path: &Path) {
        if path.is_dir() {
            for entry in fs::read_dir(path).unwrap().flatten() {
                self.add(root, &entry.path());
            }
            return;
        }
        let name = format!("/{}", path.strip_prefix(root).unwrap().display());
        let is_on_purpose = name.starts_with("/crates") && ON_PURPOSE.iter().any(|part| name.contains(part));
        let Ok(text) = fs::read_to_string(path) else { return };
        if is_on_purpose {
            return;
        }
        for line in text.lines() {
            self.lines += 1;
            if redact(line) != line {
                self.changed.push(format!("{name}: {line}"));
            }
        }
    }
}

#[test]
fn fewer_than_one_line_in_ten_thousand_is_taken_for_a_secret() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut count = Count::default();
    for folder in FOLDERS {
        count.add(root, &root.join(folder));
    }
    assert!(count.lines > 30_000, "{} lines", count.lines);
    assert!(
        count.changed.len() * 10_000 < count.lines,
        "{} of {}: {:#?}",
        count.changed.len(),
        count.lines,
        count.changed
    );
}
