//! The significant words of a query; and typing errors in it: the words that a word may be meant for, and how many are
//! corrected.

use std::collections::{HashMap, HashSet};

use super::weights::WEIGHTS;
use crate::terms::{Form, Language, fold, forms_in, is_stop_word, split};

/// Maximum number of terms that are searched for. A stack trace has hundreds, and its longest words are the most
/// significant.
const MOST: usize = 64;

/// A term that a passage should have.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WantedTerm {
    /// Its forms in the index: exact ones first, then stems.
    pub forms: Vec<String>,
    /// Number of exact forms. Those after them are stems.
    pub exact: usize,
    /// Its weight without its rarity.
    pub weight: f64,
    /// Whether it is a word, and not a whole identifier or a pair of characters.
    pub is_word: bool,
    /// Whether it also matches words that begin with it.
    pub is_prefix: bool,
}

/// Returns the terms of a text, the most significant first if there are too many.
///
/// Words without meaning for the subject are left out, unless there are no others.
pub fn wanted_terms(text: &str) -> Vec<WantedTerm> {
    let (telling, others) = gather(text, &Language::ALL);
    if telling.is_empty() { others } else { telling }
}

/// Returns the terms of a text that say something about a subject, with the stems of English and of the language that it
/// seems to be in; none where there are no such terms.
///
/// [`wanted_terms`] has the stems of all languages. Each form is looked up, and a prompt waits for it.
pub(crate) fn telling_terms_of_prompt(text: &str) -> Vec<WantedTerm> {
    match Language::of(text) {
        Language::English => gather(text, &[Language::English]).0,
        other => gather(text, &[Language::English, other]).0,
    }
}

/// Returns the terms of a text without meaning for the subject.
pub fn common_terms(text: &str) -> Vec<WantedTerm> {
    gather(text, &Language::ALL).1
}

/// Returns whether all terms are names: identifiers, paths or file names with their parts, without other words.
pub fn are_names(terms: &[WantedTerm]) -> bool {
    // A pair of characters is not a name.
    let is_name = |term: &WantedTerm| !term.is_word && term.forms[0].chars().nth(2).is_some();
    terms.iter().any(is_name) && terms.iter().all(|term| is_name(term) || (term.is_word && term.weight < 1.0))
}

/// Returns the terms that say something about a subject, and the others, with stems of some languages.
fn gather(text: &str, languages: &[Language]) -> (Vec<WantedTerm>, Vec<WantedTerm>) {
    let mut telling = Gathered::default();
    let mut others = Gathered::default();
    let mut pieces: Vec<(String, Form, usize)> = Vec::new();
    split(text, |piece| pieces.push((piece.text.to_owned(), piece.form, piece.position)));
    // A whole comes after its parts, and begins with the first of them.
    let mut in_whole = vec![false; pieces.len()];
    for (index, (_, form, position)) in pieces.iter().enumerate() {
        if *form == Form::Whole {
            for before in (0..index).rev().take_while(|before| pieces[*before].2 >= *position) {
                in_whole[before] = true;
            }
        }
    }
    for ((text, form, _), is_part) in pieces.into_iter().zip(in_whole) {
        let is_stop = is_stop_word(&text) && form != Form::Whole;
        let gathered = if is_stop && !is_part { &mut others } else { &mut telling };
        let forms = match form {
            Form::Word => forms_in(languages, &text),
            Form::Whole => vec![fold(&text).into_owned()],
            Form::Pair => vec![text.clone()],
        };
        gathered.add(&text, form, forms, is_part && form == Form::Word);
    }
    (most_telling(telling.terms), most_telling(others.terms))
}

fn most_telling(mut terms: Vec<WantedTerm>) -> Vec<WantedTerm> {
    if terms.len() > MOST {
        // A stable sort: of equal terms, the first in the text comes first.
        let says = |term: &WantedTerm| {
            let word = &term.forms[0];
            let is_marked = !term.is_word || word.bytes().any(|byte| byte.is_ascii_digit());
            (is_marked, word.chars().count().min(12))
        };
        terms.sort_by_key(|term| std::cmp::Reverse(says(term)));
        terms.truncate(MOST);
    }
    terms
}

/// Terms, each once.
#[derive(Default)]
struct Gathered {
    terms: Vec<WantedTerm>,
    by_form: HashMap<String, usize>,
}

impl Gathered {
    fn add(&mut self, text: &str, form: Form, forms: Vec<String>, is_part: bool) {
        let weight = match form {
            Form::Word if is_part => WEIGHTS.part,
            Form::Word | Form::Whole => 1.0,
            Form::Pair => WEIGHTS.pair,
        };
        let is_word = form == Form::Word;
        // `parser` and `parsers` ask for the same.
        let known = forms.iter().find_map(|form| self.by_form.get(form)).copied();
        match known {
            Some(index) => {
                let term = &mut self.terms[index];
                term.weight = term.weight.max(weight);
                if !term.forms[..term.exact].contains(&forms[0]) {
                    term.forms.retain(|form| *form != forms[0]);
                    term.forms.insert(term.exact, forms[0].clone());
                    term.exact += 1;
                }
                for form in forms {
                    if !term.forms.contains(&form) {
                        term.forms.push(form.clone());
                    }
                    self.by_form.entry(form).or_insert(index);
                }
            }
            None => {
                for form in &forms {
                    self.by_form.insert(form.clone(), self.terms.len());
                }
                // A single character of such a script is in the index as the beginning of pairs.
                let is_prefix = form == Form::Pair && text.chars().count() == 1;
                self.terms.push(WantedTerm { forms, exact: 1, weight, is_word, is_prefix });
            }
        }
    }
}

/// The maximum number of unknown words that are corrected. Each is searched for in hundreds of forms.
pub const MAX_CORRECTED_WORDS: usize = 2;

/// A query of more words is a quotation, whose words are not corrected.
pub const MAX_WORDS_TO_CORRECT_ONE: usize = 12;

/// Among more words than this, only the most common typing errors are corrected.
pub const MAX_WORDS_FOR_ALL_ERRORS: usize = 4;

/// The minimum length of an unknown word that is searched for as the beginning of others: too many begin with a shorter one.
pub const MIN_BEGINNING_CHARS: usize = 4;

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";

/// Returns the words that differ from `word` by one typing error, in two groups: first those with two letters exchanged
/// or one too many, which are few, then those with a letter missing or wrong, which are hundreds.
pub fn spelled_like(word: &str) -> [Vec<String>; 2] {
    let letters: Vec<char> = word.chars().collect();
    // A short word is similar to too many others, and a number is not a typing error.
    if !(5..=24).contains(&letters.len()) || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return [Vec::new(), Vec::new()];
    }
    let join = |parts: [&[char]; 3]| parts.concat().into_iter().collect::<String>();
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for at in 0..letters.len() - 1 {
        few.push(join([&letters[..at], &[letters[at + 1], letters[at]], &letters[at + 2..]]));
    }
    for at in 0..letters.len() {
        few.push(join([&letters[..at], &[], &letters[at + 1..]]));
    }
    for at in 0..=letters.len() {
        many.extend(LETTERS.chars().map(|letter| join([&letters[..at], &[letter], &letters[at..]])));
    }
    for at in 0..letters.len() {
        many.extend(LETTERS.chars().map(|letter| join([&letters[..at], &[letter], &letters[at + 1..]])));
    }
    let mut seen = HashSet::new();
    [few, many].map(|mut words| {
        words.retain(|variant| variant != word && seen.insert(variant.clone()));
        words
    })
}

#[cfg(test)]
mod tests {
    use super::{MOST, wanted_terms};

    fn prefixes(text: &str) -> Vec<bool> {
        wanted_terms(text).iter().map(|term| term.is_prefix).collect()
    }

    #[test]
    fn only_a_single_character_of_a_script_without_spaces_is_a_beginning() {
        assert_eq!((prefixes("支"), prefixes("支払"), prefixes("x")), (vec![true], vec![false], vec![false]));
    }

    #[test]
    fn of_too_many_terms_identifiers_numbers_and_long_words_stay() {
        let short = |n: usize| String::from_utf8(vec![b'b' + (n / 20) as u8, b'b' + (n % 20) as u8, b'q']).unwrap();
        let many = (0..MOST).map(short).collect::<Vec<_>>().join(" ");
        let terms = wanted_terms(&format!("{many} parse_http_url x86 reconciliation"));
        let forms: Vec<&str> = terms.iter().map(|term| term.forms[0].as_str()).collect();
        assert_eq!(forms.len(), MOST);
        for wanted in ["parsehttpurl", "x86", "reconciliation"] {
            assert!(forms.contains(&wanted), "{wanted}: {forms:?}");
        }
        let exactly = (1..MOST).map(short).chain(["reconciliation".to_owned()]).collect::<Vec<_>>();
        let terms = wanted_terms(&exactly.join(" "));
        let forms: Vec<&String> = terms.iter().map(|term| &term.forms[0]).collect();
        assert_eq!(forms, exactly.iter().collect::<Vec<_>>(), "exactly so many are all kept, in their order");
    }

    #[test]
    fn every_inflection_in_a_query_is_an_exact_form_of_one_term() {
        let terms = wanted_terms("parser, parsers and parsing; parser");
        let [term] = terms.as_slice() else { panic!("{terms:?}") };
        assert_eq!((&term.forms[..3], term.exact), (&["parser", "parsers", "parsing"].map(str::to_owned)[..], 3));
        let distinct: std::collections::BTreeSet<&String> = term.forms.iter().collect();
        assert_eq!(distinct.len(), term.forms.len(), "{:?}", term.forms);
        assert!(term.forms[3..].contains(&"pars".to_owned()), "the stem is no exact form: {:?}", term.forms);
    }
}
