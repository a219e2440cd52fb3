//! Ranking the matches of a search by words.
//!
//! FTS5's own bm25 counts every match of every word in the whole index, which for a common word among a million records takes
//! longer than the rest of the search. Here only the candidates are counted, whose number is bounded.

use super::tables::Candidate;

/// The weight of a word in a title, in the path of a file, and elsewhere.
const WEIGHTS: [f64; 3] = [10.0, 4.0, 1.0];

/// How many bytes of a long text are read.
const LOOKED_AT: usize = 512;

/// How many occurrences of a word are counted at most.
const OFTEN: usize = 4;

/// Scores candidates by where and how often they have `terms`; a rare term counts for more.
pub(super) fn score(candidates: &mut [Candidate], terms: &[String]) {
    if terms.is_empty() {
        return;
    }
    let counts: Vec<Vec<[usize; 3]>> = candidates
        .iter()
        .map(|candidate| {
            let places = [&candidate.title, &candidate.files, &candidate.text]
                .map(|text| text[..text.floor_char_boundary(LOOKED_AT)].to_lowercase());
            let count = |place: &String, term: &str| place.matches(term).take(OFTEN).count();
            terms.iter().map(|term| places.each_ref().map(|place| count(place, term))).collect()
        })
        .collect();
    let rarity: Vec<f64> = (0..terms.len())
        .map(|term| {
            let having = counts.iter().filter(|of_one| of_one[term].iter().any(|count| *count > 0)).count();
            (1.0 + candidates.len() as f64 / (1.0 + having as f64)).ln()
        })
        .collect();
    for (candidate, of_one) in candidates.iter_mut().zip(&counts) {
        candidate.score += of_one.iter().zip(&rarity).map(|(places, rarity)| rarity * weigh(places)).sum::<f64>();
    }
}

/// Returns the weight of a term by its counts. A second occurrence counts less than the first.
fn weigh(places: &[usize; 3]) -> f64 {
    places.iter().zip(WEIGHTS).map(|(count, weight)| weight * (*count as f64 / (*count as f64 + 1.0))).sum()
}

/// Returns the words of a MATCH expression: what is in double quotes, in lower case, without punctuation.
pub(super) fn terms(expression: &str) -> Vec<String> {
    let quoted = expression.split('"').skip(1).step_by(2);
    let mut terms: Vec<String> = quoted
        .flat_map(|text| text.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    terms.sort();
    terms.dedup();
    terms
}

#[cfg(test)]
mod tests {
    use super::terms;

    #[test]
    fn terms_are_what_is_quoted() {
        assert_eq!(terms(r#""Foo" "bar.rs"* NOT "x_y""#), ["bar", "foo", "rs", "x", "y"]);
        assert_eq!(terms("AND OR"), [""; 0]);
    }
}
