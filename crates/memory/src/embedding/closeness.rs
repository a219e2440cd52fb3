//! How close a whole text is to a question, sentence by sentence: the mean over a longer text, which is what is stored of it, says
//! little about each of its sentences.

use super::Model;

/// How many sentences in a row are compared as one, at most.
const SENTENCES: usize = 3;

/// A sentence with fewer tokens is no sentence.
const FEW_TOKENS: usize = 3;

/// A question that texts are compared with.
#[derive(Debug)]
pub struct Question<'a> {
    model: &'a Model,
    /// Its vector, of length 1.
    unit: Vec<f32>,
}

impl<'a> Question<'a> {
    /// Begins with the question's text; `None` where it has no known token.
    pub fn new(model: &'a Model, text: &str) -> Option<Self> {
        let mut sum = vec![0.0; model.dims()];
        model.vocabulary.tokens(text).iter().for_each(|token| model.add(*token, &mut sum));
        let length = length(&sum);
        let is_usable = length > 0.0 && length.is_finite();
        is_usable.then(|| Self { model, unit: sum.iter().map(|value| (f64::from(*value) / length) as f32).collect() })
    }

    /// Returns the similarity of the sentences in a row that are closest: 1 the same, 0 unrelated.
    pub fn closeness(&self, text: &str) -> f32 {
        let sentences: Vec<Vec<usize>> = sentences(text)
            .map(|sentence| self.model.vocabulary.tokens(sentence))
            .filter(|tokens| tokens.len() >= FEW_TOKENS)
            .collect();
        let mut best = 0.0_f32;
        for first in 0..sentences.len() {
            let mut sum = vec![0.0; self.model.dims()];
            for tokens in sentences[first..].iter().take(SENTENCES) {
                tokens.iter().for_each(|token| self.model.add(*token, &mut sum));
                best = best.max(cosine(&self.unit, &sum));
            }
        }
        best
    }
}

/// Returns the sentences of a text.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | ';' | ':' | '。' | '！' | '？');
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut ends = rest.char_indices().zip(rest.chars().skip(1).chain(['\n']));
        let end = ends.find(|((_, c), next)| *c == '\n' || (is_end(*c) && next.is_whitespace()));
        let end = end.map_or(rest.len(), |((at, c), _)| at + c.len_utf8());
        let (sentence, others) = rest.split_at(end);
        rest = others;
        Some(sentence)
    })
}

/// Returns the similarity of a sum to a vector of length 1.
fn cosine(unit: &[f32], sum: &[f32]) -> f32 {
    let length = length(sum);
    let dot: f64 = unit.iter().zip(sum).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    if length > 0.0 { (dot / length) as f32 } else { 0.0 }
}

fn length(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}
