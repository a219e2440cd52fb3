use super::{Colours, Span, Tone, bar, columns, fit, fit_line, harmless, render, tokens, width, wrap};

#[test]
fn escape_codes_and_bidi_marks_are_left_out() {
    assert_eq!(harmless("a\u{1b}[31m\u{9b}31m\r\nb\u{202e}c\u{200d}\u{fe0f}\u{7}"), "a[31m31mbc");
}

#[test]
fn text_is_cut_by_columns_not_by_characters() {
    assert_eq!(fit("日本語", 6), "日本語");
    assert_eq!(fit("日本語", 5), "日本…");
    assert_eq!(fit("日本語", 4), "日…", "half of a character is none");
    assert_eq!(fit("abc", 1), "…");
    assert_eq!(fit("abc", 0), "");
    assert_eq!(fit("e\u{301}tude", 5), "e\u{301}tude");
    assert_eq!(wrap("日本語abc", 4), ["日本", "語ab", "c"]);
    assert_eq!(wrap("日本", 3), ["日", "本"]);
    assert_eq!(wrap("", 4), [""]);
    let line = [Span::new("ab", Tone::Bold), Span::new("語語", Tone::Plain), Span::new("x", Tone::Plain)];
    assert_eq!(render(&fit_line(&line, 5), Colours::No), "ab語…");
    assert_eq!(render(&fit_line(&line, 7), Colours::Yes), "\u{1b}[1mab\u{1b}[0m語語x");
}

#[test]
fn a_table_is_laid_out_by_columns_not_by_characters() {
    let rows = [["NAME", "AGE", "LAST"], ["日本", "5s", ""], ["e\u{301}", "12m", "語"]];
    let rows = rows.map(|row| row.map(str::to_owned));
    assert_eq!(columns(&rows, &[1]), ["NAME  AGE  LAST", "日本   5s", "e\u{301}     12m  語"]);
    assert!(columns::<2>(&[], &[]).is_empty());
}

#[test]
fn a_bar_is_as_long_as_it_is_and_changes_its_tone() {
    for (percent, filled, tone) in [
        (0.0, 0, Tone::Good),
        (0.1, 1, Tone::Good),
        (50.0, 10, Tone::Good),
        (69.9, 14, Tone::Good),
        (70.0, 14, Tone::Warn),
        (90.0, 18, Tone::Bad),
        (250.0, 20, Tone::Bad),
    ] {
        let [used, left] = bar(percent, 20);
        assert_eq!((used.width(), left.width(), used.tone), (filled, 20 - filled, tone), "{percent}");
    }
}

#[test]
fn tokens_are_rounded() {
    let shown: Vec<String> = [0, 999, 1_000, 142_499, 999_499, 999_500, 1_250_000].map(tokens).into();
    assert_eq!(shown, ["0", "999", "1k", "142k", "999k", "1M", "1.2M"]);
    assert_eq!(width("█░…"), 3);
}
