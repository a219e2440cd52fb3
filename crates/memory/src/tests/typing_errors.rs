use crate::spelled_like;

#[test]
fn a_word_is_like_others_that_differ_by_one_error() {
    let like = spelled_like("improter").concat();
    for meant in ["importer", "improte", "improvter", "improver"] {
        assert!(like.iter().any(|word| word == meant), "{meant}");
    }
    assert_eq!(spelled_like("abc").concat().len() + spelled_like("12345").concat().len(), 0);
    let count = |letters: usize| spelled_like(&"abcdefghijklmnopqrstuvwxyz"[..letters]).concat().len();
    assert!((count(4), count(25)) == (0, 0) && count(5) > 0 && count(24) > 0);
    let [few, many] = spelled_like("abcde");
    assert_eq!(few, ["bacde", "acbde", "abdce", "abced", "bcde", "acde", "abde", "abce", "abcd"]);
    assert!(
        ["zabcde", "abcdez", "abzcde", "zbcde", "abcdz"].iter().all(|word| many.iter().any(|variant| variant == word))
    );
    // 26 letters in six places and 25 in five, but a letter can be doubled before or after itself.
    assert_eq!(many.len(), 6 * 26 - 5 + 5 * 25);
}
