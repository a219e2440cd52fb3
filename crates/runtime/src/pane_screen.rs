//! The screen of a tmux pane as plain text, for a preview.

use longhaul_inject::{Inspection, TmuxPane, parse_inspection, printable};

use crate::{Error, process, waiting_times};

/// Returns what a pane shows now; `None` if it does not exist.
pub fn inspect_pane(pane: &TmuxPane) -> Result<Option<Inspection>, Error> {
    process::run(&pane.inspect(), waiting_times::TMUX_FOR_PREVIEW).map(|stdout| parse_inspection(&stdout))
}

/// Returns the rows of a captured screen without escape sequences and control characters, without the empty rows at the end.
pub fn plain_rows(inspection: &Inspection) -> Vec<String> {
    let mut rows: Vec<String> = longhaul_inject::plain_rows(&inspection.screen)
        .iter()
        .map(|row| printable(row).trim_end().to_owned())
        .collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}
