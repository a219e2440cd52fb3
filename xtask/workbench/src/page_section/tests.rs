use super::{all, with_section};

#[test]
fn a_section_is_added_once_and_then_replaced() {
    let first = with_section("# Benchmarks\n\ntext\n", "recall", "## How well\n| a |\n");
    assert_eq!(first, "# Benchmarks\n\ntext\n\n<!-- recall -->\n## How well\n| a |\n<!-- /recall -->\n");
    let second = with_section(&format!("{first}\nmore\n"), "recall", "| b |\n");
    assert_eq!(second, "# Benchmarks\n\ntext\n\n<!-- recall -->\n| b |\n<!-- /recall -->\n\nmore\n");
}

#[test]
fn sections_are_in_the_order_of_their_names() {
    let mut page = "# Benchmarks\n".to_owned();
    for name in ["recall", "large 1000000", "large 100000"] {
        page = with_section(&page, name, "| a |\n");
    }
    let marks: Vec<&str> = all(&page).filter_map(|section| section.lines().next()).collect();
    assert_eq!(marks, ["<!-- large 100000 -->", "<!-- large 1000000 -->", "<!-- recall -->"]);
    assert!(page.contains("<!-- /large 100000 -->\n\n<!-- large 1000000 -->\n| a |\n"), "{page}");
}

#[test]
fn a_comment_without_an_end_is_no_section() {
    assert_eq!(all("<!-- note -->\ntext <!-- \n").count(), 0);
    assert_eq!(all("<!-- note -->\n<!-- a -->\n<!-- /a -->").collect::<Vec<_>>(), ["<!-- a -->\n<!-- /a -->"]);
}
