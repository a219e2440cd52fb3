//! Sentence vectors from a static model: a table of token vectors, which are averaged. Two texts that mean the same in
//! different words get similar vectors, in microseconds and without another process.
//!
//! The model is a file of about 4 MB, with one byte per dimension, which `cargo xtask model` trains with a model of the
//! kind that model2vec distils. Its bytes are an argument.
//!
//! How close a whole text is to a question is compared sentence by sentence: the mean over a longer text, which is what
//! is stored of it, says little about each of its sentences.

use std::collections::HashMap;
use std::iter;
use std::sync::{Arc, Mutex, PoisonError};

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

#[cfg(test)]
mod tests;

/// The largest scale of a token's vector. With it, the sum over the most tokens that a text can have is still finite.
const MAX_SCALE: f32 = 1e30;

/// What texts have between white space, with the number and the sum of its tokens. The texts may be anybody's: the hashes are random.
type Parts = HashMap<Box<str>, (usize, Mean)>;

/// The most parts of texts that are kept: of ordinary text about 12 MB, of text without spaces 60 MB.
const MAX_PARTS: usize = 20_000;

/// A model file, for many texts.
#[derive(Debug)]
pub struct Model {
    vocabulary: Vocabulary,
    /// The parts of the texts that were compared with questions: those of one project repeat them.
    parts: Mutex<Parts>,
}

impl Model {
    /// Takes the bytes of a model file.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let vocabulary = Vocabulary::parse(bytes)?;
        if vocabulary.bytes().len() != vocabulary.shape().total_bytes() {
            return Err(FormatError::Damaged("the vectors end early, or something follows them"));
        }
        let model = Self { vocabulary, parts: Mutex::default() };
        // Such a scale gives no vector, and the records of the token would count as processed.
        let are_usable = (0..model.vocabulary.shape().tokens).all(|token| model.scale(token).abs() <= MAX_SCALE);
        if !are_usable {
            return Err(FormatError::Damaged("the scale of a vector is not a number, or is too large"));
        }
        Ok(model)
    }

    /// Returns the model's id.
    pub fn id(&self) -> &str {
        self.vocabulary.id()
    }

    /// Returns the dimensions of its vectors.
    pub fn dims(&self) -> usize {
        self.vocabulary.shape().dims
    }

    /// Returns the vector of a text; `None` where it has no known token.
    pub fn embed(&self, text: &str) -> Option<Vector> {
        self.sum(text).1.finish()
    }

    /// Returns how many tokens a text has, and the sum of their vectors.
    fn sum(&self, text: &str) -> (usize, Mean) {
        let (shape, bytes) = (self.vocabulary.shape(), self.vocabulary.bytes());
        let tokens = self.vocabulary.tokens(text);
        let mut sum = Mean::new(shape.dims);
        for token in &tokens {
            sum.add(&bytes[shape.row_offset(*token)..shape.row_offset(token + 1)], self.scale(*token));
        }
        (tokens.len(), sum)
    }

    fn scale(&self, token: usize) -> f32 {
        let offset = self.vocabulary.shape().scale_offset(token);
        self.vocabulary.bytes()[offset..].first_chunk().map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
    }
}

/// The most tokens of a text that count. A longer text says what it is about at its beginning.
pub const MAX_TOKENS: usize = 512;

/// A word with more characters is no word of a language, and has no meaning here.
const MAX_WORD_CHARS: usize = 100;

/// What a piece inside a word begins with.
const INSIDE: &[u8] = b"##";

/// The head of a model file: its id, its sizes and its tokens.
///
/// Tokens are found by binary search in the file's own bytes: nothing is built when it is loaded.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    bytes: Vec<u8>,
    shape: Shape,
}

impl Vocabulary {
    /// Takes the head of a model file, or the whole of it.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, FormatError> {
        let shape = Shape::parse(&bytes)?;
        if bytes.len() < shape.head_bytes() {
            return Err(FormatError::Damaged("the vocabulary ends early"));
        }
        let vocabulary = Self { bytes, shape };
        if vocabulary.offset(shape.tokens) != shape.text_bytes {
            return Err(FormatError::Damaged("the vocabulary's text has another length"));
        }
        if std::str::from_utf8(vocabulary.id_bytes()).is_err() {
            return Err(FormatError::Damaged("the id is not UTF-8"));
        }
        Ok(vocabulary)
    }

    /// Returns the model's id: two models with the same id compute the same vectors.
    pub fn id(&self) -> &str {
        std::str::from_utf8(self.id_bytes()).unwrap_or_default()
    }

    /// Returns the sizes of the file's parts.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Returns the numbers of a text's tokens, in order, at most [`MAX_TOKENS`]. Words that are not in the vocabulary
    /// are left out.
    pub fn tokens(&self, text: &str) -> Vec<usize> {
        let mut tokens = Vec::new();
        let mut piece = Vec::new();
        for word in words(text) {
            if tokens.len() >= MAX_TOKENS {
                break;
            }
            self.split(&word, &mut piece, &mut tokens);
        }
        tokens.truncate(MAX_TOKENS);
        tokens
    }

    /// Returns whether any word of a text is a token as a whole. A single character or sign says nothing and does not count,
    /// except in Chinese, where it is a word.
    ///
    /// A text of which only pieces of words are known still has a vector, but one of letters, which means nothing.
    pub fn knows_any_word(&self, text: &str) -> bool {
        words(text).any(|word| {
            let is_word = word.chars().nth(1).is_some() || word.chars().all(|c| c.is_alphabetic() && !c.is_ascii());
            is_word && self.find(word.as_bytes()).is_some()
        })
    }

    /// Splits a word into the longest pieces there are, from its beginning; one that cannot be split so has none.
    fn split(&self, word: &str, piece: &mut Vec<u8>, tokens: &mut Vec<usize>) {
        if word.chars().count() > MAX_WORD_CHARS {
            return;
        }
        let before = tokens.len();
        let mut rest = word.as_bytes();
        while !rest.is_empty() {
            let mark = if rest.len() < word.len() { INSIDE } else { &[] };
            piece.clear();
            piece.extend_from_slice(mark);
            piece.extend_from_slice(rest);
            let Some(token) = self.longest(piece, mark.len()) else {
                tokens.truncate(before);
                return;
            };
            tokens.push(token);
            rest = &rest[self.token(token).len() - mark.len()..];
        }
    }

    fn find(&self, piece: &[u8]) -> Option<usize> {
        let after = self.after(piece, self.shape.tokens);
        after.checked_sub(1).filter(|token| self.token(*token) == piece)
    }

    /// Returns the longest token that a piece begins with and that has more than `least` bytes.
    fn longest(&self, mut piece: &[u8], least: usize) -> Option<usize> {
        let mut high = self.shape.tokens;
        while piece.len() > least {
            high = self.after(piece, high);
            let token = high.checked_sub(1)?;
            let found = self.token(token);
            if piece.starts_with(found) {
                return (found.len() > least).then_some(token);
            }
            // Whatever the piece begins with comes before this token, and is no longer than what both have in common.
            let common = piece.iter().zip(found).take_while(|(a, b)| a == b).count();
            piece = &piece[..common];
        }
        None
    }

    /// Returns the number of tokens, of the first `high`, up to and including a piece.
    fn after(&self, piece: &[u8], mut high: usize) -> usize {
        let mut low = 0;
        while low < high {
            let middle = low.midpoint(high);
            if self.token(middle) <= piece { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn token(&self, number: usize) -> &[u8] {
        let text = &self.bytes[self.shape.text_start()..self.shape.head_bytes()];
        text.get(self.offset(number)..self.offset(number + 1)).unwrap_or_default()
    }

    fn offset(&self, number: usize) -> usize {
        read_u32(&self.bytes, self.shape.offsets_start() + 4 * number).unwrap_or_default()
    }

    fn id_bytes(&self) -> &[u8] {
        &self.bytes[self.shape.id_start()..self.shape.offsets_start()]
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The most characters of a text that are looked at: more than [`MAX_TOKENS`] tokens of ordinary text have.
const MAX_CHARS: usize = 8_192;

/// Returns the words of a text. Every punctuation character, symbol and Chinese character is a word of its own.
///
/// The reference implementation keeps symbols that are not ASCII inside their word. A vocabulary has few such words:
/// taken apart, `a→b` still counts as `a` and `b`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let beginning = text.char_indices().nth(MAX_CHARS).map_or(text, |(end, _)| &text[..end]);
    let text: String = if beginning.is_ascii() {
        beginning.to_ascii_lowercase()
    } else {
        beginning.chars().flat_map(char::to_lowercase).nfd().filter(|c| !is_combining_mark(*c)).collect()
    };
    let mut at = 0;
    iter::from_fn(move || {
        let mut word = String::new();
        while let Some(c) = text[at..].chars().next() {
            let is_over = match kind(c) {
                Kind::Nothing => false,
                Kind::Space => !word.is_empty(),
                // Comes next, alone.
                Kind::Alone if !word.is_empty() => return Some(word),
                Kind::Alone | Kind::Letter => {
                    word.push(c);
                    matches!(kind(c), Kind::Alone)
                }
            };
            at += c.len_utf8();
            if is_over {
                return Some(word);
            }
        }
        (!word.is_empty()).then_some(word)
    })
}

enum Kind {
    Letter,
    Space,
    Alone,
    Nothing,
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' | '0'..='9' => Kind::Letter,
        _ if c.is_whitespace() => Kind::Space,
        '\u{fffd}' => Kind::Nothing,
        _ if c.is_control() || is_invisible(c) => Kind::Nothing,
        _ if is_chinese(c) => Kind::Alone,
        _ if c.is_alphanumeric() => Kind::Letter,
        _ => Kind::Alone,
    }
}

/// Characters that only format: they are no part of a word, and do not end one either.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2ebef}')
}

// The layout of a model file.
//
// All numbers are little-endian.
//
// | Part | Bytes |
// |---|---|
// | `LHVEC`, then the format's version, 1, as three bytes `0 0 1` | 8 |
// | dimensions of a vector | u32 |
// | number of tokens | u32 |
// | length of the model's id | u32 |
// | length of all tokens together | u32 |
// | the model's id, UTF-8 | as given above |
// | where each token begins in the text of all tokens, and where the last one ends | u32 × (tokens + 1) |
// | the text of all tokens, sorted by their bytes; a piece inside a word begins with `##` | as given above |
// | the scale of each token's vector, a finite number | f32 × tokens |
// | the vectors, in the order of the tokens; times its scale, a row is the token's vector | i8 × dimensions × tokens |
//
// Everything before the scales is the head. A process that needs one vector reads the head and a few rows.

/// The first bytes of every model file.
const MAGIC: [u8; 8] = *b"LHVEC\0\0\x01";

/// The longest file that is read.
pub const MAX_BYTES: u64 = 64 << 20;

const MAX_DIMS: usize = 4096;
const MAX_VOCABULARY: usize = 1 << 20;

/// Why bytes are no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// It begins with something else.
    #[error("this is not a Longhaul model file of version 1")]
    NotAModel,
    /// Its parts do not fit together.
    #[error("the model file is damaged: {0}")]
    Damaged(&'static str),
}

/// How large the parts of a model file are, read from its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Dimensions of a vector.
    pub dims: usize,
    /// Number of tokens.
    pub tokens: usize,
    id_bytes: usize,
    text_bytes: usize,
}

impl Shape {
    /// How many bytes [`Shape::parse`] needs.
    pub const BYTES: usize = 24;

    /// Reads the beginning of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, FormatError> {
        let Some((magic, rest)) = bytes.split_at_checked(MAGIC.len()) else { return Err(FormatError::NotAModel) };
        if magic != MAGIC {
            return Err(FormatError::NotAModel);
        }
        let number = |at: usize| read_u32(rest, at).ok_or(FormatError::Damaged("the first bytes are missing"));
        let shape = Self { dims: number(0)?, tokens: number(4)?, id_bytes: number(8)?, text_bytes: number(12)? };
        let is_sound = (1..=MAX_DIMS).contains(&shape.dims)
            && (1..=MAX_VOCABULARY).contains(&shape.tokens)
            && (1..=200).contains(&shape.id_bytes)
            && shape.total_bytes() as u64 <= MAX_BYTES;
        if is_sound { Ok(shape) } else { Err(FormatError::Damaged("impossible sizes")) }
    }

    /// Returns the bytes of everything before the scales.
    pub fn head_bytes(&self) -> usize {
        self.text_start() + self.text_bytes
    }

    /// Returns the bytes of the whole file.
    pub fn total_bytes(&self) -> usize {
        self.row_offset(self.tokens)
    }

    /// Returns where the scale of a token's vector stands in the file.
    pub fn scale_offset(&self, token: usize) -> usize {
        self.head_bytes() + 4 * token
    }

    /// Returns where a token's vector stands in the file.
    pub fn row_offset(&self, token: usize) -> usize {
        self.scale_offset(self.tokens) + self.dims * token
    }

    fn id_start(&self) -> usize {
        Self::BYTES
    }

    fn offsets_start(&self) -> usize {
        self.id_start() + self.id_bytes
    }

    pub(crate) fn text_start(&self) -> usize {
        self.offsets_start() + 4 * (self.tokens + 1)
    }
}

/// Reads a number; `None` where the bytes end before.
fn read_u32(bytes: &[u8], at: usize) -> Option<usize> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    usize::try_from(u32::from_le_bytes(*four)).ok()
}

/// Values that are multiplied at once.
const LANES: usize = 32;

/// A vector of length 1, rounded to one byte per dimension.
///
/// Vectors of the same model compare by [`similarity`], with no division per vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vector(Vec<i8>);

impl Vector {
    /// Rounds a vector of any length other than zero; `None` where it has none, or is not finite.
    pub fn new(values: &[f32]) -> Option<Self> {
        let length = values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        if !length.is_finite() || length == 0.0 {
            return None;
        }
        let scale = f64::from(scale(values.len())) / length;
        Some(Self(values.iter().map(|value| (f64::from(*value) * scale).round() as i8).collect()))
    }

    /// Takes a vector that was stored.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().map(|byte| *byte as i8).collect())
    }

    /// Returns it as it is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().map(|value| *value as u8).collect()
    }

    /// Returns the number of dimensions.
    pub fn dims(&self) -> usize {
        self.0.len()
    }

    /// Returns how similar two vectors of the same model are: 1 the same, 0 unrelated.
    pub fn similarity(&self, other: &Self) -> f32 {
        similarity(dot(self, &other.to_bytes()), self.dims())
    }
}

/// Returns the dot product with a stored vector.
pub fn dot(vector: &Vector, stored: &[u8]) -> i32 {
    let length = vector.0.len().min(stored.len());
    let (values, last_values) = vector.0[..length].as_chunks::<LANES>();
    let (bytes, last_bytes) = stored[..length].as_chunks::<LANES>();
    let mut sum = 0;
    for (values, bytes) in values.iter().zip(bytes) {
        // Compilers make vector instructions of exactly this: first widened to 16 bits, then multiplied and added in pairs.
        // By position: in a build without link-time optimisation, `map` of an array was a call for every value.
        let (mut left, mut right) = ([0_i16; LANES], [0_i16; LANES]);
        for at in 0..LANES {
            left[at] = i16::from(values[at]);
            right[at] = i16::from(bytes[at] as i8);
        }
        for at in 0..LANES {
            sum += i32::from(left[at]) * i32::from(right[at]);
        }
    }
    for (value, byte) in last_values.iter().zip(last_bytes) {
        sum += i32::from(*value) * i32::from(*byte as i8);
    }
    sum
}

/// Returns the similarity that a dot product of vectors with so many dimensions stands for.
pub fn similarity(dot: i32, dims: usize) -> f32 {
    dot as f32 / scale(dims).powi(2)
}

/// Returns what 1 is in a vector with so many dimensions.
///
/// Values are small where there are many dimensions, so that they would use few of a byte's values. The few that are
/// too large for a byte are cut.
fn scale(dims: usize) -> f32 {
    (127.0 * (dims as f32).sqrt() / 6.0).max(127.0)
}

/// The mean of token vectors.
#[derive(Debug, Clone)]
pub struct Mean(Vec<f32>);

impl Mean {
    /// Returns the mean of nothing.
    pub fn new(dims: usize) -> Self {
        Self(vec![0.0; dims])
    }

    /// Adds a token's vector, as the model file has it.
    pub fn add(&mut self, row: &[u8], scale: f32) {
        for (sum, value) in self.0.iter_mut().zip(row) {
            *sum += f32::from(*value as i8) * scale;
        }
    }

    fn add_sum(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, value)| *sum += value);
    }

    /// Returns the mean, at length 1; `None` where nothing was added.
    pub fn finish(&self) -> Option<Vector> {
        Vector::new(&self.0)
    }
}

/// How many sentences in a row are compared as one, at most.
const SENTENCES: usize = 3;

/// A sentence with fewer tokens is no sentence.
const FEW_TOKENS: usize = 3;

/// A question that texts are compared with.
#[derive(Debug)]
pub struct Question {
    model: Arc<Model>,
    /// Its vector, of length 1.
    unit: Vec<f32>,
}

/// How similar the meaning of a text is to that of a question: 1 the same, 0 unrelated.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Likeness {
    /// That of the whole text.
    pub whole: f32,
    /// That of the sentences in a row that are closest.
    pub closest: f32,
}

impl Likeness {
    /// Returns the likeness of texts of which only the vectors were compared.
    pub fn of_vectors(similarity: f32) -> Self {
        Self { whole: similarity, closest: similarity }
    }
}

impl Question {
    /// Begins with the question's text; `None` where it has no known token.
    pub fn new(model: Arc<Model>, text: &str) -> Option<Self> {
        let (_, Mean(sum)) = model.sum(text);
        let length = length(&sum);
        let is_usable = length > 0.0 && length.is_finite();
        is_usable.then(|| Self { model, unit: sum.iter().map(|value| (f64::from(*value) / length) as f32).collect() })
    }

    /// Compares a text with it.
    pub fn compare(&self, text: &str) -> Likeness {
        let sentences: Vec<Sentence> = sentences(text).map(|sentence| self.sentence(sentence)).collect();
        let mut sum = Mean::new(self.model.dims());
        sentences.iter().for_each(|sentence| sum.add_sum(&sentence.sum));
        let whole = ratio(product(&self.unit, &sum.0), product(&sum.0, &sum.0));
        let mut closest = whole;
        let long: Vec<&Sentence> = sentences.iter().filter(|sentence| sentence.tokens >= FEW_TOKENS).collect();
        for first in 0..long.len() {
            let (mut like, mut square) = (0.0, 0.0);
            for last in first..long.len().min(first + SENTENCES) {
                let Sentence { sum, like: of_last, square: own, .. } = long[last];
                // The square of a sum has the product of each two parts twice.
                let pairs: f32 = long[first..last].iter().map(|other| product(&other.sum.0, &sum.0)).sum();
                (like, square) = (like + of_last, square + own + 2.0 * pairs);
                closest = closest.max(ratio(like, square));
            }
        }
        Likeness { whole, closest }
    }

    fn sentence(&self, text: &str) -> Sentence {
        let mut known = self.model.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() > MAX_PARTS {
            known.clear();
        }
        let (mut tokens, mut sum) = (0, Mean::new(self.model.dims()));
        let mut add = |(count, part): &(usize, Mean)| {
            tokens += count;
            sum.add_sum(part);
        };
        for part in text.split_whitespace() {
            match known.get(part) {
                Some(part) => add(part),
                None => add(known.entry(part.into()).or_insert(self.model.sum(part))),
            }
        }
        Sentence { tokens, like: product(&self.unit, &sum.0), square: product(&sum.0, &sum.0), sum }
    }
}

/// A sentence, as the sum of the vectors of its tokens.
struct Sentence {
    tokens: usize,
    sum: Mean,
    /// The product with the question.
    like: f32,
    /// The product with itself.
    square: f32,
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

/// Returns the similarity of a sum to a vector of length 1, from its products with that and with itself.
fn ratio(like: f32, square: f32) -> f32 {
    let similarity = like / square.sqrt();
    if similarity.is_finite() { similarity } else { 0.0 }
}

/// Returns the product of two vectors, by eight sums side by side.
fn product(first: &[f32], other: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    for (first, other) in first.chunks(8).zip(other.chunks(8)) {
        sums.iter_mut().zip(first).zip(other).for_each(|((sum, first), other)| *sum += first * other);
    }
    sums.iter().sum()
}

fn length(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}
