//! How a screen of a given size is divided: its areas, and the columns of the list with their names and widths. Drawing
//! them: `bins/src/cli/view/screen.rs`.

/// The heights of the areas, from top to bottom. Together they are as high as the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Areas {
    /// The tabs and the counts; 0 or 1.
    pub(crate) title: usize,
    /// The names of the columns; 0 or 1.
    pub(crate) header: usize,
    /// The list of sessions.
    pub(crate) list: usize,
    /// The line above the preview; 0 or 1.
    pub(crate) rule: usize,
    /// The preview of the chosen session.
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

/// A column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Column {
    /// The number of the session.
    Number,
    /// The state.
    State,
    /// The host.
    Host,
    /// The project, with notes.
    Project,
    /// The branch.
    Branch,
    /// The time since the state changed.
    Age,
    /// How full the context is, with a bar.
    Context,
    /// Cost and tokens.
    Cost,
    /// What the session waits for, or its last prompt.
    About,
}

impl Column {
    /// Every column, in the order in which they are shown.
    pub(crate) const ALL: [Self; 9] = [
        Self::Number,
        Self::State,
        Self::Host,
        Self::Project,
        Self::Branch,
        Self::Age,
        Self::Context,
        Self::Cost,
        Self::About,
    ];

    /// Returns the name above the column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number => "#",
            Self::State => "STATE",
            Self::Host => "HOST",
            Self::Project => "PROJECT",
            Self::Branch => "BRANCH",
            Self::Age => "AGE",
            Self::Context => "CONTEXT",
            Self::Cost => "COST",
            Self::About => "WAITS FOR / LAST PROMPT",
        }
    }

    /// Returns the name that fits above a column of this width; a shorter one, or none, in a narrow column.
    pub(crate) fn name_within(self, width: usize) -> &'static str {
        let short = match self {
            Self::State => "",
            Self::Context => "CTX",
            Self::About => "WAITS FOR",
            Self::Number | Self::Host | Self::Project | Self::Branch | Self::Age | Self::Cost => self.name(),
        };
        if self.name().chars().count() <= width { self.name() } else { short }
    }

    /// Returns whether the content is aligned to the right.
    pub(crate) fn is_number(self) -> bool {
        match self {
            Self::Number | Self::Age | Self::Cost => true,
            Self::State | Self::Host | Self::Project | Self::Branch | Self::Context | Self::About => false,
        }
    }

    /// Returns the smallest width, and the largest useful one.
    fn limits(self) -> (usize, usize) {
        match self {
            Self::Number | Self::Age => (4, 4),
            Self::State => (1, 11),
            Self::Host => (4, 16),
            Self::Project => (8, 24),
            Self::Branch => (6, 20),
            Self::Context => (4, 15),
            Self::Cost => (5, 14),
            Self::About => (10, usize::MAX),
        }
    }

    /// Returns the width of a column that shrinks by one step: two of them have a wide and a narrow form, and none between.
    fn narrower(self, width: usize) -> usize {
        match self {
            Self::State | Self::Context => self.limits().0,
            Self::Number | Self::Host | Self::Project | Self::Branch | Self::Age | Self::Cost | Self::About => {
                width - 1
            }
        }
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
        let wanted = |column: Column| {
            let (_, most) = column.limits();
            content(column).max(if column == Column::About { 1 } else { column.name().chars().count() }).min(most)
        };
        let mut widths: Vec<(Column, usize)> = Column::ALL
            .into_iter()
            .filter(|column| content(*column) > 0)
            .map(|column| (column, wanted(column)))
            .collect();
        let mut least = ABOUT_WIDTH;
        let mut relief = RELIEF.into_iter();
        while !shrink(&mut widths, width, least) {
            match relief.next() {
                Some(Some(dropped)) => widths.retain(|(column, _)| *column != dropped),
                Some(None) => least = Column::About.limits().0,
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
    let least = |column: Column| if column == Column::About { about } else { column.limits().0 };
    while total(widths) > width {
        let elastic = widths.iter_mut().filter(|(column, width)| *width > least(*column));
        let Some((column, widest)) = elastic.max_by_key(|(_, width)| *width) else { return false };
        *widest = column.narrower(*widest);
    }
    true
}
