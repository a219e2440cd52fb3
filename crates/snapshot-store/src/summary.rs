//! The lines about snapshots that several commands print: what changed, what was left out, what a restore does and keeps. A
//! command's own messages are in its file (`bins/src/cli/snapshots.rs`), the report after a rewind in
//! `runtime/src/snapshots.rs`.

use longhaul_core::{Millis, counted};

use crate::folders::FolderChange;
use crate::left_out::LeftOut;
use crate::paths::{Change, shown_path};
use crate::restore_plan::{KeptReason, RestorePlan, StepKind};

/// How much two trees differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChangeCount {
    pub files: u64,
    pub added: u64,
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
pub(crate) fn count_changes(numstat: &[u8]) -> ChangeCount {
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
fn kept_line(kept: &[(Vec<u8>, KeptReason)], most: usize) -> Option<String> {
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
pub(crate) fn step_line(step: &Change) -> String {
    let what = match step.kind() {
        StepKind::Delete => "delete",
        StepKind::Write => "write ",
        StepKind::Create => "create",
    };
    format!("  {what} {}", shown_path(&step.path))
}

/// Returns the lines that describe a plan, with at most `most` paths of each kind.
pub fn plan_lines(plan: &RestorePlan, most: usize) -> Vec<String> {
    let [written, created, deleted] =
        [StepKind::Write, StepKind::Create, StepKind::Delete].map(|kind| plan.of(kind).count());
    if !plan.changes_something() && plan.refused.is_empty() && plan.kept.is_empty() {
        return vec!["No file differs.".to_owned()];
    }
    let mut lines = Vec::new();
    if !plan.steps.is_empty() || plan.folders.is_empty() {
        let total = counted(plan.steps.len(), "file");
        lines.push(format!("{total} to change: {written} written, {created} created, {deleted} deleted"));
    }
    for kind in [StepKind::Write, StepKind::Create, StepKind::Delete] {
        let steps: Vec<&Change> = plan.of(kind).collect();
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
pub(crate) fn bytes_text(bytes: u64) -> String {
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

// Which snapshots are dropped, and in which order. How long and how much is kept is a setting (`snapshots` in
// `core/src/config.rs`).

/// A snapshot, as far as its age and size matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Its number.
    pub id: i64,
    /// When it was taken.
    pub at: Millis,
    /// How many bytes it added to the store; `u64::MAX` if that is not known.
    pub bytes: u64,
    /// Whether it goes last: a bookmark with a note, or the state before a restore.
    pub is_pinned: bool,
}

/// Returns the numbers of the snapshots that are dropped.
///
/// Dropped are those that are older than `max_age_ms` (0: none) and not pinned. If the store is `excess` bytes too large,
/// more follow: the oldest first, until they have added that many bytes. Pinned ones follow only if nothing else is dropped:
/// otherwise the store is to be measured again first. The newest snapshot always stays, and no age is counted beyond it: the
/// clock may be ahead.
pub(crate) fn retention(snapshots: &[Kept], now: Millis, max_age_ms: u64, excess: u64) -> Vec<i64> {
    let mut order: Vec<&Kept> = snapshots.iter().collect();
    order.sort_by_key(|kept| (kept.is_pinned, kept.at, kept.id));
    let newest = snapshots.iter().max_by_key(|kept| (kept.at, kept.id));
    let now = newest.map_or(now, |newest| now.min(newest.at));
    let newest = newest.map(|kept| kept.id);
    let mut has_dropped_others = false;
    let mut freed = 0_u64;
    let mut dropped = Vec::new();
    for kept in order.into_iter().filter(|kept| Some(kept.id) != newest) {
        if kept.is_pinned && has_dropped_others {
            break;
        }
        let is_old = max_age_ms > 0 && !kept.is_pinned && now.since(kept.at) > max_age_ms;
        if is_old || freed < excess {
            freed = freed.saturating_add(kept.bytes);
            has_dropped_others |= !kept.is_pinned;
            dropped.push(kept.id);
        }
    }
    dropped
}
