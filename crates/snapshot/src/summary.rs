//! The lines about snapshots that several commands print: what changed, what was left out, what a restore does and keeps. A
//! command's own messages are in its file (`bins/src/cli/snapshots.rs`), the report after a rewind in
//! `runtime/src/jobs/snapshots.rs`.

use longhaul_core::counted;

use crate::folder_modes::FolderChange;
use crate::left_out::LeftOut;
use crate::paths::shown_path;
use crate::restore_plan::{KeptReason, RestorePlan, Step, StepKind};

/// How much two trees differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChangeCount {
    /// Number of files.
    pub files: u64,
    /// Number of lines added.
    pub added: u64,
    /// Number of lines removed.
    pub removed: u64,
}

impl ChangeCount {
    /// Returns the count compactly, such as `3 files +40 -12`; `no change` if nothing differs.
    pub fn shown(self) -> String {
        match self.files {
            0 => "no change".to_owned(),
            files => format!("{} +{} -{}", counted(files as usize, "file"), self.added, self.removed),
        }
    }
}

/// Sums up the output of `git diff-tree -r -z --numstat --no-renames`. A binary file counts as a file without lines.
pub fn count_changes(numstat: &[u8]) -> ChangeCount {
    let mut count = ChangeCount::default();
    for record in numstat.split(|byte| *byte == 0) {
        let mut fields = record.splitn(3, |byte| *byte == b'\t');
        let mut number = || fields.next().and_then(|field| str::from_utf8(field).ok());
        let (Some(added), Some(removed)) = (number(), number()) else { continue };
        if fields.next().is_some() {
            count.files += 1;
            count.added += added.trim().parse::<u64>().unwrap_or_default();
            count.removed += removed.parse::<u64>().unwrap_or_default();
        }
    }
    count
}

/// Returns one line about what a snapshot does not hold; `None` if nothing was left out.
pub fn left_out_line(left_out: &[LeftOut], most: usize) -> Option<String> {
    (!left_out.is_empty()).then(|| {
        let named: Vec<String> = left_out.iter().take(most).map(LeftOut::shown).collect();
        format!("not in the snapshot: {}{}", named.join(", "), and_more(left_out.len(), most))
    })
}

/// Returns one line about the files that a restore keeps although the snapshot does not hold them.
pub fn kept_line(kept: &[(Vec<u8>, KeptReason)], most: usize) -> Option<String> {
    (!kept.is_empty()).then(|| {
        let name = |(path, reason): &(Vec<u8>, KeptReason)| {
            let why = match reason {
                KeptReason::LeftOutThen => "was left out then",
                KeptReason::IgnoredThen => "was ignored then",
            };
            format!("{} ({why})", shown_path(path))
        };
        let named: Vec<String> = kept.iter().take(most).map(name).collect();
        format!("kept: {}{}", named.join(", "), and_more(kept.len(), most))
    })
}

fn and_more(total: usize, shown: usize) -> String {
    match total.saturating_sub(shown) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

/// Returns one line about a step: `write`, `create` or `delete`, and the path.
pub fn step_line(step: &Step) -> String {
    let what = match step.kind() {
        StepKind::Delete => "delete",
        StepKind::Write => "write ",
        StepKind::Create => "create",
    };
    format!("  {what} {}", shown_path(&step.path))
}

/// Returns the lines that describe a plan, with at most `most` paths of each kind.
pub fn plan_lines(plan: &RestorePlan, most: usize) -> Vec<String> {
    let (written, created, deleted) = (plan.written().count(), plan.created().count(), plan.deleted().count());
    if !plan.changes_something() && plan.refused.is_empty() && plan.kept.is_empty() {
        return vec!["No file differs.".to_owned()];
    }
    let mut lines = Vec::new();
    if !plan.steps.is_empty() || plan.folders.is_empty() {
        let total = counted(plan.steps.len(), "file");
        lines.push(format!("{total} to change: {written} written, {created} created, {deleted} deleted"));
    }
    for kind in [StepKind::Write, StepKind::Create, StepKind::Delete] {
        let steps: Vec<&Step> = plan.steps.iter().filter(|step| step.kind() == kind).collect();
        lines.extend(steps.iter().take(most).map(|step| step_line(step)));
        if steps.len() > most {
            lines.push(format!("  and {} more", steps.len() - most));
        }
    }
    lines.extend(folder_lines(plan, most));
    lines.extend(kept_line(&plan.kept, most));
    if !plan.refused.is_empty() {
        lines.push(format!("{} not touched:", counted(plan.refused.len(), "file")));
        let refused = plan.refused.iter().take(most);
        lines.extend(refused.map(|(path, refusal)| format!("  {}: {}", shown_path(path), refusal.about())));
        lines.extend((plan.refused.len() > most).then(|| format!("  and {} more", plan.refused.len() - most)));
    }
    lines
}

fn folder_lines(plan: &RestorePlan, most: usize) -> Vec<String> {
    if plan.folders.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("Permissions of {} to change:", counted(plan.folders.len(), "folder"))];
    let line = |change: &FolderChange| {
        format!("  {:04o} becomes {:04o} {}", change.before, change.after, shown_path(&change.path))
    };
    lines.extend(plan.folders.iter().take(most).map(line));
    lines.extend((plan.folders.len() > most).then(|| format!("  and {} more", plan.folders.len() - most)));
    lines
}

/// Returns how much a restore changes, such as `2 files and the permissions of 1 folder`.
pub fn plan_size(plan: &RestorePlan) -> String {
    let files = counted(plan.steps.len(), "file");
    let folders = format!("the permissions of {}", counted(plan.folders.len(), "folder"));
    match (plan.steps.len(), plan.folders.len()) {
        (_, 0) => files,
        (0, _) => folders,
        _ => format!("{files} and {folders}"),
    }
}

/// Returns a number of bytes compactly: `950 B`, `12 KB`, `1.5 GB`.
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)];
    let unit = UNITS.into_iter().find(|(_, size)| bytes >= *size);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(name, size)| {
            let number = bytes as f64 / size as f64;
            // From 9.95 on, one decimal would be written as 10.0.
            if (number * 10.0).round() < 100.0 { format!("{number:.1} {name}") } else { format!("{number:.0} {name}") }
        },
    )
}
