//! Expressions for words that begin with something.
//!
//! For `"con"*` FTS5 reads every row of every such word, in the whole index, before the first result. So the words are looked
//! up first, up to a limit, and searched for like any others. If there are more of them, and the beginning has three characters
//! or more, all of them are left to FTS5, which takes longer the more rows they have.

use rusqlite::Connection;

/// A beginning with this many characters is left to FTS5 if too many words begin with it.
const LEFT_TO_FTS5: usize = 3;

/// Maximum number of words that are searched for in place of their beginning.
const WORDS: usize = 256;

/// After this many rows of one word, the next word is looked up, instead of reading on to it.
const ROWS_OF_WORD: usize = 16;

/// The words of the index, each once for every row that has it. The table has no content of its own.
const VOCABULARY: &str = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.passage_vocabulary
                          USING fts5vocab ('main', 'passage_terms', 'instance')";

/// Selects the words from one on.
const WORDS_FROM: &str = "SELECT term FROM temp.passage_vocabulary WHERE term >= ?1";

/// Returns the expression that matches any of the words, or what begins with any of them.
pub(super) fn any_of(connection: &Connection, words: &[String], is_prefix: bool) -> rusqlite::Result<String> {
    let mut any = Vec::with_capacity(words.len());
    for word in words {
        match is_prefix {
            false => any.push(quoted(word)),
            true => {
                let is_long = word.chars().count() >= LEFT_TO_FTS5;
                // Of hundreds of spellings, nearly all begin no word, and looking each of them up takes longer.
                let is_looked_up = !is_long || words.len() == 1;
                let longer = if is_looked_up { words_beginning_with(connection, word)? } else { Vec::new() };
                if is_long && (!is_looked_up || longer.len() == WORDS) {
                    any.push(format!("{}*", quoted(word)));
                } else {
                    any.push(quoted(word));
                    any.extend(longer.iter().map(|word| quoted(word)));
                }
            }
        }
    }
    Ok(any.join(" OR "))
}

fn quoted(word: &str) -> String {
    format!("\"{word}\"")
}

/// Returns words of the index that begin with a text and are longer, in the order of their bytes, up to the limit.
fn words_beginning_with(connection: &Connection, beginning: &str) -> rusqlite::Result<Vec<String>> {
    connection.execute_batch(VOCABULARY)?;
    let mut statement = connection.prepare_cached(WORDS_FROM)?;
    let mut words: Vec<String> = Vec::new();
    // No word has a control character, so this is after the text itself and before every longer word.
    let mut from = format!("{beginning}\u{1}");
    loop {
        let mut rows = statement.query([&from])?;
        let mut rows_of_word = 0;
        while rows_of_word < ROWS_OF_WORD {
            let Some(row) = rows.next()? else { return Ok(words) };
            let word = row.get_ref(0)?.as_str()?;
            if words.last().is_some_and(|last| last == word) {
                rows_of_word += 1;
                continue;
            }
            if !word.starts_with(beginning) || words.len() == WORDS {
                return Ok(words);
            }
            rows_of_word = 0;
            words.push(word.to_owned());
        }
        from = words.last().map_or(from, |last| format!("{last}\u{1}"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{ROWS_OF_WORD, WORDS, any_of};
    use crate::Store;

    fn store(rows: &[String]) -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
        let sql = "INSERT INTO passage_terms (rowid, terms) VALUES (?1, ?2)";
        for (number, terms) in rows.iter().enumerate() {
            store.connection.execute(sql, (number as i64, terms)).unwrap();
        }
        (folder, store)
    }

    #[track_caller]
    fn check(store: &Store, word: &str, expected: &str) {
        assert_eq!(any_of(&store.connection, &[word.to_owned()], true).unwrap(), expected, "{word}");
    }

    #[test]
    fn a_short_beginning_is_the_words_that_begin_with_it() {
        let mut rows = vec!["zb za.1 y con".to_owned(), "七月 七日 八月 =p7".to_owned()];
        rows.extend((0..10 * ROWS_OF_WORD).map(|number| format!("zab x{number}")));
        let (_folder, store) = store(&rows);
        check(&store, "z", r#""z" OR "za.1" OR "zab" OR "zb""#);
        check(&store, "za", r#""za" OR "za.1" OR "zab""#);
        check(&store, "七", r#""七" OR "七日" OR "七月""#);
        check(&store, "月", r#""月""#);
        check(&store, "co", r#""co" OR "con""#);
        check(&store, "con", r#""con""#);
        let spellings = any_of(&store.connection, &["cno".to_owned(), "con".to_owned()], true).unwrap();
        assert_eq!(spellings, r#""cno"* OR "con"*"#);
        let whole = any_of(&store.connection, &["z".to_owned(), "y".to_owned()], false).unwrap();
        assert_eq!(whole, r#""z" OR "y""#);
    }

    #[test]
    fn the_number_of_words_is_limited() {
        let words: Vec<String> = (0..2 * WORDS).map(|number| format!("zoo{number:04}")).collect();
        let (_folder, store) = store(&[words.join(" ")]);
        let any = any_of(&store.connection, &["z".to_owned()], true).unwrap();
        assert_eq!(any.split(" OR ").count(), 1 + WORDS);
        let sql = "SELECT count(*) FROM passage_terms WHERE passage_terms MATCH ?1";
        let found: i64 = store.connection.query_row(sql, [any], |row| row.get(0)).unwrap();
        assert_eq!(found, 1);
        // FTS5 finds all of them.
        check(&store, "zoo", r#""zoo"*"#);
        check(&store, "zoo00", &format!("\"zoo00\" OR {}", quoted_words(0..100)));
    }

    fn quoted_words(numbers: std::ops::Range<usize>) -> String {
        numbers.map(|number| format!("\"zoo{number:04}\"")).collect::<Vec<_>>().join(" OR ")
    }

    #[test]
    fn a_reader_can_look_them_up() {
        let (folder, store) = store(&["zab".to_owned()]);
        drop(store);
        let reader = Store::open_to_read(&folder.path().join("l.db"), Duration::from_secs(5)).unwrap();
        let reading = reader.connection.unchecked_transaction().unwrap();
        assert_eq!(any_of(&reading, &["z".to_owned()], true).unwrap(), r#""z" OR "zab""#);
    }
}
