//! Finds the key that was probably meant by a mistyped one.

use super::{Config, setting};

/// Returns the path of the key that was probably meant by `typed`, which was found in the section at `path`.
///
/// `siblings` are the keys of that section. A sibling that differs only in case or separators is preferred, then a key of
/// another section that does and is the only one, then the sibling with the fewest typos.
pub(super) fn nearest_key(typed: &str, siblings: &[&str], path: &str) -> Option<String> {
    let wanted = plain(typed);
    let near = siblings.iter().map(|key| (distance(&wanted, &plain(key)), *key));
    let nearest = near.filter(|(distance, key)| *distance <= most_typos(&wanted, key)).min();
    let same_name = |path: &String| path.rsplit('.').next().is_some_and(|name| plain(name) == wanted);
    let mut elsewhere = Config::keys().into_iter().map(|key| key.path).filter(same_name);
    // A name that several sections have, such as `enabled`, is ambiguous.
    let elsewhere = elsewhere.next().filter(|_| elsewhere.next().is_none());
    match nearest {
        Some((typos, key)) if typos == 0 || elsewhere.is_none() => Some(setting::join(path, key)),
        Some(_) | None => elsewhere,
    }
}

/// Returns how many typos `typed` may have to still count as `key`: a third of its length, at least one.
fn most_typos(typed: &str, key: &str) -> usize {
    (typed.chars().count().min(key.chars().count()) / 3).max(1)
}

/// Returns a key without case and separators: `maxRounds`, `max_rounds` and `max-rounds` are the same then.
fn plain(key: &str) -> String {
    // No key is longer than this.
    let letters = key.chars().take(100).filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns how many characters must be added, removed, replaced or swapped with their neighbour to turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, &to) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(from != to);
            let mut least = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::{distance, most_typos};

    #[test]
    fn a_typo_is_a_character_added_removed_replaced_or_swapped() {
        for (a, b, typos) in [
            ("rounds", "rounds", 0),
            ("ronds", "rounds", 1),
            ("roundss", "rounds", 1),
            ("rounts", "rounds", 1),
            ("ruonds", "rounds", 1),
            ("ronuds", "rounds", 1),
            ("runods", "rounds", 2),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "xyz", 3),
            ("abcd", "badc", 2),
        ] {
            assert_eq!(distance(a, b), typos, "{a:?} and {b:?}");
        }
    }

    #[test]
    fn a_third_of_a_word_may_be_mistyped() {
        assert_eq!(
            [("ab", "abc"), ("abcdef", "abcdefgh"), ("abcdefghijk", "abcdefghi")].map(|(a, b)| most_typos(a, b)),
            [1, 2, 3]
        );
    }
}
