use super::{replace, table};

#[test]
fn what_stands_between_the_marks_is_replaced_and_nothing_else() {
    let text = "a\n<!-- codegen:x -->\nold\n<!-- /codegen:x -->\nb\n";
    let filled = replace(text, "x", "new\n").unwrap();
    assert_eq!(filled, "a\n<!-- codegen:x -->\nnew\n<!-- /codegen:x -->\nb\n");
    assert_eq!(replace(&filled, "x", "new\n").unwrap(), filled);
}

#[test]
fn missing_marks_are_named() {
    let error = replace("<!-- codegen:x -->", "x", "").unwrap_err().to_string();
    assert!(error.contains("<!-- /codegen:x -->"), "{error}");
}

#[test]
fn a_bar_in_a_cell_does_not_end_it() {
    assert_eq!(table(["H"], [["a|b".to_owned()]].into_iter()), "| H |\n| --- |\n| a\\|b |\n");
}
