//! Looking up parts of words by their trigrams.

/// How many trigrams of a text are looked up. More would make no difference: matches are compared with the text.
const MOST_TRIGRAMS: usize = 10;

/// Returns the FTS5 expression that all trigrams of some texts are there, in the project.
pub(super) fn trigram_expression<'t>(project: Option<i64>, texts: impl IntoIterator<Item = &'t str>) -> String {
    let mark = project.map(|project| {
        let digit = |n: i64| u32::try_from(n).ok().and_then(|n| char::from_u32(0xE000 + n)).unwrap_or('\u{E000}');
        [digit(0), digit(project / 6400), digit(project % 6400)].iter().collect()
    });
    let all = mark.into_iter().chain(texts.into_iter().flat_map(trigrams));
    all.map(|trigram: String| format!("\"{trigram}\"")).collect::<Vec<_>>().join(" AND ")
}

/// Returns a text as it stands within a JSON string.
pub(super) fn in_json(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// Returns the first trigrams of a text that are the same in plain text and in JSON.
pub(super) fn trigrams(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut trigrams: Vec<String> = chars
        .windows(3)
        .filter(|three| !three.iter().any(|c| matches!(c, '"' | '\\') || c.is_control()))
        .map(|three| three.iter().collect())
        .collect();
    trigrams.sort();
    trigrams.dedup();
    trigrams.truncate(MOST_TRIGRAMS);
    trigrams
}
