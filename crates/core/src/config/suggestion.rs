//! Which key somebody meant who mistyped one.

use super::{Config, setting};

/// Returns the path of the key that `typed`, found in the section at `path`, probably is.
///
/// First one of `siblings`, the keys of that section, or the only key elsewhere, that differs in spelling alone; then the
/// sibling with the fewest characters that differ.
pub(super) fn nearest_key(typed: &str, siblings: &[&str], path: &str) -> Option<String> {
    let wanted = plain(typed);
    let near = siblings.iter().map(|key| (distance(&wanted, &plain(key)), *key));
    let nearest = near.filter(|(distance, key)| *distance <= most_typos(&wanted, key)).min();
    let same_name = |path: &String| path.rsplit('.').next().is_some_and(|name| plain(name) == wanted);
    let mut elsewhere = Config::keys().into_iter().map(|key| key.path).filter(same_name);
    // A name that several sections have, such as `enabled`, says nothing.
    let elsewhere = elsewhere.next().filter(|_| elsewhere.next().is_none());
    match nearest {
        Some((typos, key)) if typos == 0 || elsewhere.is_none() => Some(setting::join(path, key)),
        Some(_) | None => elsewhere,
    }
}

/// How many typos still make it likely that a key was meant: a third of its length, one at least.
fn most_typos(typed: &str, key: &str) -> usize {
    (typed.chars().count().min(key.chars().count()) / 3).max(1)
}

/// Returns a key in one spelling, whichever of `maxRounds`, `max_rounds` and `max-rounds` it is.
fn plain(key: &str) -> String {
    // What is longer is no key.
    let letters = key.chars().take(100).filter(|c| !matches!(c, '_' | '-' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns how many characters must be added, removed, replaced or swapped with their neighbour to make `b` of `a`.
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
