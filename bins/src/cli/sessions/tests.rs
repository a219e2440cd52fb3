use super::only_one;

#[track_caller]
fn check(prefix: &str, expected: Result<&str, &str>) {
    let found = only_one(prefix, vec!["ab", "abc", "b", "abd"], |id| id);
    assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{prefix}");
}

#[test]
fn one_is_named_by_its_beginning_or_as_a_whole() {
    check("b", Ok("b"));
    check("abc", Ok("abc"));
    check("ab", Ok("ab"));
    check("a", Err("several sessions have an id that begins with \"a\": ab, abc, abd"));
    check("x", Err("no session has an id that begins with \"x\""));
}
