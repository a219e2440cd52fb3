//! A vocabulary with the frequencies of natural language: few words are common, most are rare.

/// Size of the vocabulary.
const WORDS: usize = 40_000;

/// A vocabulary, the most common word first.
pub(crate) struct Words {
    words: Vec<String>,
}

impl Words {
    /// Builds the words from syllables; the result is always the same.
    pub(crate) fn new() -> Self {
        const ONSETS: [&str; 16] = ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
        const RIMES: [&str; 20] = [
            "a", "e", "i", "o", "u", "an", "er", "in", "or", "us", "ar", "en", "ist", "ock", "um", "ad", "el", "ig",
            "ont", "ut",
        ];
        let syllable = |n: usize| format!("{}{}", ONSETS[n % 16], RIMES[n / 16 % 20]);
        // Three syllables each, so that every word is long enough for a search for a part of it.
        let word = |n: usize| {
            let mixed = n * 7_919 % 32_768_000;
            [mixed % 320, mixed / 320 % 320, mixed / 102_400].map(syllable).concat()
        };
        Self { words: (0..WORDS).map(word).collect() }
    }

    /// Returns the number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the word at a rank, from 0.
    pub(crate) fn ranked(&self, rank: usize) -> &str {
        &self.words[rank % self.words.len()]
    }

    /// Returns a random word; a word of rank n is about n times less likely than the first.
    pub(crate) fn any(&self, dice: &mut Dice) -> &str {
        self.ranked(dice.log_uniform(1, WORDS) - 1)
    }

    /// Returns `count` random words, separated by spaces.
    pub(crate) fn sentence(&self, dice: &mut Dice, count: usize) -> String {
        (0..count).map(|_| self.any(dice)).collect::<Vec<_>>().join(" ")
    }
}

/// A pseudo-random generator (xorshift) with a fixed seed, so that every run uses the same data.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `most`.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// Returns a log-uniform random number: every order of magnitude is equally likely.
    pub(crate) fn log_uniform(&mut self, least: usize, most: usize) -> usize {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        let (least, most) = (least as f64, most as f64);
        ((least * (most / least).powf(share)) as usize).max(1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}
