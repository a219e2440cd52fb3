//! How a screen of a given size is divided: its areas, and the columns of the list with their names and widths. Drawing
//! them: `bins/src/cli/view/screen.rs`.

/// The heights of the areas, from top to bottom. Together they are as high as the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Areas {
    /// The tabs and the counts; 0 or 1.
    pub(crate) title: usize,
    /// The names of the columns; 0 or 1.
    pub(crate) header: usize,
    pub(crate) list: usize,
    /// The line above the preview; 0 or 1.
    pub(crate) rule: usize,
    pub(crate) preview: usize,
    /// Messages, text that is typed, and keys; 0 or 1.
    pub(crate) footer: usize,
}

impl Areas {
    /// Divides a screen with `lines` lines for a list of `rows` rows.
    ///
    /// The list gets what it needs, up to half of the screen; the preview gets the rest. A low screen loses the preview
    /// first, then the header and the title.
    pub(crate) fn of(lines: usize, rows: usize) -> Self {
        let footer = lines.min(1);
        let title = usize::from(lines >= 3);
        let header = usize::from(lines >= 6);
        let left = lines - footer - title - header;
        let has_preview = left >= 7;
        let list = if has_preview { rows.max(1).min(left / 2) } else { left };
        let rule = usize::from(has_preview);
        Self { title, header, list, rule, preview: left - list - rule, footer }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Column {
    Number,
    State,
    Host,
    Project,
    Branch,
    /// The time since the state changed.
    Age,
    /// How full the context is, with a bar.
    Context,
    Cost,
    /// What the session waits for, or its last prompt.
    About,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnLayout {
    pub(crate) column: Column,
    pub(crate) name: &'static str,
    /// The name above a narrow column.
    short: &'static str,
    /// The smallest width, and the largest useful one.
    least: usize,
    most: usize,
    /// Whether the content is aligned to the right.
    pub(crate) is_number: bool,
    /// Whether there is a wide and a narrow form, and none between.
    has_two_forms: bool,
}

const fn layout(column: Column, name: &'static str, least: usize, most: usize) -> ColumnLayout {
    ColumnLayout { column, name, short: name, least, most, is_number: false, has_two_forms: false }
}

/// Every column, in the order in which they are shown.
pub(crate) const COLUMNS: [ColumnLayout; 9] = [
    ColumnLayout { is_number: true, ..layout(Column::Number, "#", 4, 4) },
    ColumnLayout { short: "", has_two_forms: true, ..layout(Column::State, "STATE", 1, 11) },
    layout(Column::Host, "HOST", 4, 16),
    layout(Column::Project, "PROJECT", 8, 24),
    layout(Column::Branch, "BRANCH", 6, 20),
    ColumnLayout { is_number: true, ..layout(Column::Age, "AGE", 4, 4) },
    ColumnLayout { short: "CTX", has_two_forms: true, ..layout(Column::Context, "CONTEXT", 4, 15) },
    ColumnLayout { is_number: true, ..layout(Column::Cost, "COST", 5, 14) },
    ColumnLayout { short: "WAITS FOR", ..layout(Column::About, "WAITS FOR / LAST PROMPT", 10, usize::MAX) },
];

impl Column {
    pub(crate) fn layout(self) -> &'static ColumnLayout {
        &COLUMNS[self as usize]
    }

    /// Returns the name that fits above a column of this width; a shorter one, or none, in a narrow column.
    pub(crate) fn name_within(self, width: usize) -> &'static str {
        let ColumnLayout { name, short, .. } = self.layout();
        if name.chars().count() <= width { name } else { short }
    }
}

/// The width that the last column keeps as long as less important ones can be dropped instead.
const ABOUT_WIDTH: usize = 24;

/// What is done if the columns do not fit, one after the other: drop a column, or let the last one shrink further (`None`).
const RELIEF: [Option<Column>; 6] =
    [Some(Column::Cost), Some(Column::Branch), None, Some(Column::Context), Some(Column::About), Some(Column::Host)];

/// The width of every column that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Columns {
    widths: Vec<(Column, usize)>,
}

impl Columns {
    /// Lays the columns out in `width`. `content` returns the width of the widest cell of a column; a column without
    /// content, with the width 0, is left out.
    ///
    /// If not everything fits, columns shrink, the widest first; if that is not enough, whole columns are dropped.
    pub(crate) fn of(width: usize, content: impl Fn(Column) -> usize) -> Self {
        let wanted = |layout: &ColumnLayout| {
            let least = if layout.column == Column::About { 1 } else { layout.name.chars().count() };
            (layout.column, content(layout.column).max(least).min(layout.most))
        };
        let mut widths: Vec<(Column, usize)> =
            COLUMNS.iter().filter(|layout| content(layout.column) > 0).map(wanted).collect();
        let mut least = ABOUT_WIDTH;
        let mut relief = RELIEF.into_iter();
        while !shrink(&mut widths, width, least) {
            match relief.next() {
                Some(Some(dropped)) => widths.retain(|(column, _)| *column != dropped),
                Some(None) => least = Column::About.layout().least,
                None => break,
            }
        }
        while total(&widths) > width && widths.pop().is_some() {}
        // The last column gets what is left.
        let left = width.saturating_sub(total(&widths));
        if let Some((Column::About, last)) = widths.last_mut() {
            *last += left;
        }
        Self { widths }
    }

    /// Returns the columns and their widths, from left to right, with one space between two of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Column, usize)> {
        self.widths.iter().copied()
    }
}

fn total(widths: &[(Column, usize)]) -> usize {
    widths.iter().map(|(_, width)| width).sum::<usize>() + widths.len().saturating_sub(1)
}

/// Shrinks the widest columns until all fit into `width`, the last one to `about` at least. Returns whether they do.
fn shrink(widths: &mut [(Column, usize)], width: usize, about: usize) -> bool {
    let least = |column: Column| if column == Column::About { about } else { column.layout().least };
    while total(widths) > width {
        let elastic = widths.iter_mut().filter(|(column, width)| *width > least(*column));
        let Some((column, widest)) = elastic.max_by_key(|(_, width)| *width) else { return false };
        let layout = column.layout();
        *widest = if layout.has_two_forms { layout.least } else { *widest - 1 };
    }
    true
}
