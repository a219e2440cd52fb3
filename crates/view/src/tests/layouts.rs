use crate::{Areas, Column, Columns};

#[track_caller]
fn check(lines: usize, rows: usize, expected: [usize; 6]) {
    let areas = Areas::of(lines, rows);
    let Areas { title, header, list, rule, preview, footer, .. } = areas;
    assert_eq!([title, header, list, rule, preview, footer], expected, "{lines} lines, {rows} rows");
}

#[test]
fn the_list_gets_what_it_needs_up_to_half() {
    check(40, 5, [1, 1, 5, 1, 31, 1]);
    check(40, 100, [1, 1, 18, 1, 18, 1]);
    check(24, 3, [1, 1, 3, 1, 17, 1]);
    check(15, 30, [1, 1, 6, 1, 5, 1]);
    check(15, 0, [1, 1, 1, 1, 10, 1]);
}

#[test]
fn a_low_screen_keeps_the_list() {
    check(9, 30, [1, 1, 6, 0, 0, 1]);
    check(5, 30, [1, 0, 3, 0, 0, 1]);
    check(2, 30, [0, 0, 1, 0, 0, 1]);
    check(1, 30, [0, 0, 0, 0, 0, 1]);
    check(0, 30, [0; 6]);
    for (lines, rows) in (0..60).flat_map(|lines| (0..60).map(move |rows| (lines, rows))) {
        let areas = Areas::of(lines, rows);
        let total = areas.title + areas.header + areas.list + areas.rule + areas.preview + areas.footer;
        assert_eq!(total, lines, "{rows} rows");
    }
}

/// The widths of a usual list: no hosts, no cost.
fn usual(column: Column) -> usize {
    match column {
        Column::Number => 2,
        Column::State => 11,
        Column::Host | Column::Cost => 0,
        Column::Project => 14,
        Column::Branch => 18,
        Column::Age => 3,
        Column::Context => 15,
        Column::About => 60,
    }
}

fn shown(width: usize, content: fn(Column) -> usize) -> Vec<(Column, usize)> {
    Columns::of(width, content).iter().collect()
}

#[test]
fn a_wide_screen_shows_every_column_that_has_content() {
    let columns = shown(120, usual);
    let names: Vec<Column> = columns.iter().map(|(column, _)| *column).collect();
    let expected =
        [Column::Number, Column::State, Column::Project, Column::Branch, Column::Age, Column::Context, Column::About];
    assert_eq!(names, expected);
    assert_eq!(columns.iter().map(|(_, width)| width).sum::<usize>() + columns.len() - 1, 120);
}

#[test]
fn a_narrow_screen_keeps_state_project_and_age() {
    let columns = shown(24, usual);
    let names: Vec<Column> = columns.iter().map(|(column, _)| *column).collect();
    assert_eq!(names, [Column::Number, Column::State, Column::Project, Column::Age]);
    let at_38 = [
        (Column::Number, 2),
        (Column::State, 1),
        (Column::Project, 8),
        (Column::Age, 3),
        (Column::Context, 4),
        (Column::About, 15),
    ];
    assert_eq!(shown(38, usual), at_38);
}

#[test]
fn the_last_column_is_readable_at_80_columns() {
    let at_78 = shown(78, usual);
    let width = |wanted: Column| at_78.iter().find(|(column, _)| *column == wanted).map_or(0, |(_, width)| *width);
    assert!(width(Column::About) >= 24 && width(Column::Branch) >= 6, "{at_78:?}");
    assert_eq!((width(Column::State), width(Column::Context)), (11, 4), "wide or narrow, nothing between");
}

#[test]
fn a_column_is_as_wide_as_its_name_and_the_last_one_as_its_content() {
    let exactly = [
        (Column::Number, 1),
        (Column::State, 5),
        (Column::Host, 4),
        (Column::Project, 7),
        (Column::Branch, 6),
        (Column::Age, 3),
        (Column::Context, 7),
        (Column::Cost, 4),
        (Column::About, 1),
    ];
    assert_eq!(shown(46, |_| 1), exactly, "what fits exactly does not shrink");
    assert_eq!(shown(45, |_| 1)[6], (Column::Context, 4));
}

#[test]
fn numbers_are_aligned_to_the_right() {
    let numbers: Vec<Column> = Column::ALL.into_iter().filter(|column| column.is_number()).collect();
    assert_eq!(numbers, [Column::Number, Column::Age, Column::Cost]);
}

#[test]
fn a_narrow_column_has_a_short_name() {
    assert_eq!((Column::Context.name_within(15), Column::Context.name_within(4)), ("CONTEXT", "CTX"));
    assert_eq!((Column::State.name_within(11), Column::State.name_within(1)), ("STATE", ""));
    assert_eq!(Column::About.name_within(15), "WAITS FOR");
}

#[test]
fn nothing_is_wider_than_the_screen() {
    let all = |column: Column| if column == Column::About { 500 } else { 30 };
    for width in 0..220 {
        for content in [usual, all] {
            let columns = shown(width, content);
            let total = columns.iter().map(|(_, width)| width).sum::<usize>() + columns.len().saturating_sub(1);
            assert!(total <= width, "{width}: {columns:?}");
        }
    }
    assert_eq!(shown(0, usual), []);
}
