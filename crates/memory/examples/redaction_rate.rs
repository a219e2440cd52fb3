//! Counts what redaction takes out of ordinary files, and how long it takes.
//!
//! `cargo run --release -p longhaul-memory --example redaction_rate -- [--show] FOLDER…`
//!
//! `--show` prints the lines that change.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_memory::redact;

#[derive(Default)]
struct Count {
    files: usize,
    bytes: usize,
    lines: usize,
    changed: usize,
    time: Duration,
}

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let shows = args.iter().any(|arg| arg == "--show");
    let mut count = Count::default();
    let mut out = io::stdout().lock();
    for folder in args.iter().filter(|arg| !arg.starts_with("--")) {
        let mut files = Vec::new();
        collect(Path::new(folder), &mut files);
        for file in files {
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let began = Instant::now();
            let redacted = redact(&text);
            count.time += began.elapsed();
            count.files += 1;
            count.bytes += text.len();
            count.lines += text.lines().count();
            if redacted == text {
                continue;
            }
            for line in text.lines() {
                let after = redact(line);
                if after != line {
                    count.changed += 1;
                    if shows {
                        let line: String = line.chars().take(300).collect();
                        let after: String = after.chars().take(300).collect();
                        writeln!(out, "{}\n  - {}\n  + {}", file.display(), line.trim(), after.trim())?;
                    }
                }
            }
        }
    }
    let rate = count.changed as f64 * 10_000.0 / count.lines.max(1) as f64;
    let speed = count.time.as_nanos() as f64 / count.bytes.max(1) as f64;
    writeln!(
        out,
        "{} files, {} lines, {} changed: {rate:.3} of 10,000 lines; {speed:.2} ns a byte",
        count.files, count.lines, count.changed
    )
}

/// Adds the regular files below `folder`; links are not followed.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    if folder.is_file() {
        files.push(folder.to_owned());
        return;
    }
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::path);
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => collect(&entry.path(), files),
            Ok(kind) if kind.is_file() => files.push(entry.path()),
            _ => {}
        }
    }
}
