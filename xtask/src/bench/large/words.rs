//! Words as people use them: few of them often, most of them hardly ever.

/// How many words there are.
const WORDS: usize = 40_000;

/// A vocabulary, the most common word first.
pub(crate) struct Words {
    words: Vec<String>,
}

impl Words {
    /// Makes words out of syllables; the same ones every time.
    pub(crate) fn new() -> Self {
        const ONSETS: [&str; 16] = ["b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
        const RIMES: [&str; 20] = [
            "a", "e", "i", "o", "u", "an", "er", "in", "or", "us", "ar", "en", "ist", "ock", "um", "ad", "el", "ig",
            "ont", "ut",
        ];
        let syllable = |n: usize| format!("{}{}", ONSETS[n % 16], RIMES[n / 16 % 20]);
        // Three syllables each, so that no word is too short for a part of it to be looked for.
        let word = |n: usize| {
            let mixed = n * 7_919 % 32_768_000;
            [mixed % 320, mixed / 320 % 320, mixed / 102_400].map(syllable).concat()
        };
        Self { words: (0..WORDS).map(word).collect() }
    }

    /// Returns how many there are.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns the word of a rank, counted from 0.
    pub(crate) fn ranked(&self, rank: usize) -> &str {
        &self.words[rank % self.words.len()]
    }

    /// Returns any word, one of rank n about n times more rarely than the first.
    pub(crate) fn any(&self, dice: &mut Dice) -> &str {
        self.ranked(dice.log_uniform(1, WORDS) - 1)
    }

    /// Returns so many words in a row.
    pub(crate) fn sentence(&self, dice: &mut Dice, count: usize) -> String {
        (0..count).map(|_| self.any(dice)).collect::<Vec<_>>().join(" ")
    }
}

/// Chance that is the same every time.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `most`.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    /// Returns a number of which each order of magnitude is as likely as the next.
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
