//! Reading a permission dialog from the screen, and the key that answers it.

use std::ops::Range;

use crate::screen_state::{self, InputBox, Inspection, Row, is_option, pane_danger};
use crate::terminal::is_printable;

/// The words below a permission dialog that name the key which closes it.
const HINT: &str = "Esc to cancel";

/// The minimum length of the horizontal rule above a dialog.
const MIN_RULE: usize = 10;

/// The maximum number of texts that tmux searches for before it presses a key.
const MAX_LANDMARKS: usize = 80;

/// An answer to a permission dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialogAnswer {
    /// The option `Yes`: allow it, this time only.
    Yes,
    /// The option `No`.
    No,
}

/// A permission dialog of Claude Code: all of its text, and its options.
///
/// Two readings are equal if their texts are; which option is selected does not count.
#[derive(Debug, Clone)]
pub struct PermissionDialog {
    text: Vec<String>,
    /// The labels of its options, which are numbered from 1.
    options: Vec<String>,
    /// Texts that were on the screen, each with the row of its first occurrence, from 0.
    landmarks: Vec<(String, usize)>,
    cursor: Option<(usize, usize)>,
}

impl PartialEq for PermissionDialog {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl PermissionDialog {
    /// Returns the permission dialog on a captured screen.
    ///
    /// Returns `None` where there is none, where its beginning is not on the screen, and for every other dialog: a permission
    /// dialog has numbered options, one of which is `Yes`, and one `No`.
    pub fn find(inspection: &Inspection) -> Option<Self> {
        if pane_danger(inspection).is_some() {
            return None;
        }
        let rows = screen_state::rows(&inspection.screen);
        if InputBox::find(&rows).is_some() {
            return None;
        }
        let pointed = rows.iter().rposition(is_option)?;
        let (list, options) = options(&rows, pointed)?;
        // A rule in the text of the dialog cannot hide what comes before it, because the text is indented.
        let rule = rows[..list.start].iter().rposition(is_rule)?;
        // What is below the dialog, such as a list of agents, changes by itself.
        let hint_row = rows[list.end..].iter().position(|row| row.text().contains(HINT));
        let end = hint_row.map_or(list.end, |row| list.end + row + 1);
        let text = rows[rule + 1..end].iter().map(without_pointer).collect();
        let mut dialog = Self { text, options, landmarks: Vec::new(), cursor: inspection.cursor };
        let is_answerable = [DialogAnswer::Yes, DialogAnswer::No].iter().all(|answer| dialog.key(*answer).is_some());
        dialog.landmarks = landmarks(&dialog.text, &rows);
        is_answerable.then_some(dialog)
    }

    /// Returns the rows of the dialog, from its title to the names of its keys, without control characters.
    ///
    /// The sign of the selected option is left out.
    pub fn text(&self) -> &[String] {
        &self.text
    }

    /// Returns the key that selects the option for `answer` at once.
    ///
    /// It is the digit of an option. In the input, into which it would go if the dialog closed at that moment, it has no
    /// effect: Enter would submit a draft, and Esc would interrupt a turn.
    pub fn key(&self, answer: DialogAnswer) -> Option<char> {
        let fits = |(_, label): &(char, &String)| match answer {
            DialogAnswer::Yes => *label == "Yes",
            DialogAnswer::No => *label == "No" || label.starts_with("No,"),
        };
        let mut fitting = ('1'..='9').zip(&self.options).filter(fits);
        let (key, _) = fitting.next()?;
        // With two of them it is not clear what is meant.
        fitting.next().is_none().then_some(key)
    }

    /// Returns a tmux format that is true only while the pane shows this dialog at the same place, with the same cursor.
    ///
    /// Of the text it contains only letters, digits and a few signs that mean nothing in a format: tmux would run a program
    /// that a format names. It is one comparison, because versions of tmux before 3.2 nest formats ten deep at most.
    pub(crate) fn condition(&self) -> String {
        let landmarks = self.landmarks.iter().map(|(text, row)| (format!("#{{C:{text}}}"), row + 1));
        let cursor = self.cursor.map(|(x, y)| [("#{cursor_x}".to_owned(), x), ("#{cursor_y}".to_owned(), y)]);
        let modes = ["pane_in_mode", "pane_dead", "pane_synchronized"].map(|name| (format!("#{{?{name},1,0}}"), 0));
        let (formats, values): (Vec<String>, Vec<usize>) =
            landmarks.chain(cursor.into_iter().flatten()).chain(modes).unzip();
        let values: Vec<String> = values.iter().map(usize::to_string).collect();
        format!("#{{==:{},{}}}", formats.join(" "), values.join(" "))
    }
}

/// Returns the runs of harmless characters in the text of a dialog, each with the first row of the screen that contains it.
fn landmarks(text: &[String], rows: &[Row]) -> Vec<(String, usize)> {
    let is_harmless = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, ' ' | '.' | '_' | '-' | '/' | '=' | '+');
    let screen: Vec<String> = rows.iter().map(Row::text).collect();
    let runs = text.iter().flat_map(|row| row.split(|ch| !is_harmless(ch))).map(str::trim);
    let place = |run: &str| Some((run.to_owned(), screen.iter().position(|row| row.contains(run))?));
    runs.filter(|run| run.len() > 1).filter_map(place).take(MAX_LANDMARKS).collect()
}

/// Returns the rows of the list in which the row `pointed` is selected, and the labels of its options.
fn options(rows: &[Row], pointed: usize) -> Option<(Range<usize>, Vec<String>)> {
    let column = rows[pointed].cells.iter().position(|cell| cell.ch.is_ascii_digit())?;
    let mut first = pointed;
    while option(&rows[first], column)?.0 > 1 {
        let above = (0..first).rev().take_while(|row| belongs(&rows[*row], column));
        first = above.into_iter().find(|row| option(&rows[*row], column).is_some())?;
    }
    let mut labels: Vec<String> = Vec::new();
    let length = rows[first..].iter().take_while(|row| belongs(row, column)).count();
    for row in &rows[first..first + length] {
        match option(row, column) {
            Some((number, label)) if number == labels.len() + 1 => labels.push(label),
            Some(_) => return None,
            // The rest of a label that is wrapped.
            None => {
                let last = labels.last_mut()?;
                *last = format!("{last} {}", row.text().trim());
            }
        }
    }
    (labels.len() < 10).then_some((first..first + length, labels))
}

/// Returns the number, which is in `column`, and the label of the option in `row`.
fn option(row: &Row, column: usize) -> Option<(usize, String)> {
    let before: String = row.cells.get(..column)?.iter().map(|cell| cell.ch).collect();
    let text: String = row.cells.get(column..)?.iter().map(|cell| cell.ch).collect();
    let (number, label) = text.split_once(['.', ')'])?;
    let is_marked = before.trim().is_empty() || before.trim() == "❯";
    let number = number.parse().ok().filter(|_| is_marked && label.starts_with(' '))?;
    Some((number, label.trim().to_owned()))
}

/// Returns whether `row` is an option, or the rest of one, which is indented further.
fn belongs(row: &Row, column: usize) -> bool {
    let indent = row.cells.iter().position(|cell| !cell.ch.is_whitespace());
    option(row, column).is_some() || indent.is_some_and(|indent| indent > column)
}

/// Returns whether `row` is the rule above a dialog: it begins in the first column, and has no label.
fn is_rule(row: &Row) -> bool {
    let text = row.text();
    let text = text.trim_end();
    text.chars().count() >= MIN_RULE && text.chars().all(|ch| ch == '─')
}

fn without_pointer(row: &Row) -> String {
    let shown = |ch: char| if ch == '❯' && is_option(row) { ' ' } else { ch };
    let text: String = row.cells.iter().map(|cell| shown(cell.ch)).filter(|ch| is_printable(*ch)).collect();
    text.trim_end().to_owned()
}
