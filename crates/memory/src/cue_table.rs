//! Finds which of many words a text has at a position. Whole replies are read, and there are a hundred words, so a set
//! of their beginnings excludes most texts without comparing them.

/// Words, each with what it stands for.
pub(crate) struct CueTable<K> {
    /// Ordered by their texts.
    cues: Vec<(&'static [u8], K)>,
    /// For each first byte, the range of the cues that begin with it.
    ranges: [(u8, u8); 256],
    /// The first two bytes of each cue, which exclude nearly every word of a text.
    beginnings: Beginnings,
}

impl<K: Copy> CueTable<K> {
    /// Returns a table of at most 254 cues of at least two bytes each.
    pub(crate) fn new(cues: impl IntoIterator<Item = (&'static str, K)>) -> Self {
        let mut cues: Vec<(&'static [u8], K)> = cues.into_iter().map(|(cue, kind)| (cue.as_bytes(), kind)).collect();
        assert!(cues.len() < usize::from(u8::MAX), "a place in the table is a byte");
        cues.sort_unstable_by_key(|(cue, _)| *cue);
        let (mut ranges, mut beginnings) = ([(0, 0); 256], Beginnings::default());
        for (place, (cue, _)) in cues.iter().enumerate() {
            beginnings.insert(u16::from_be_bytes([cue[0], cue[1]]));
            let (first, end) = &mut ranges[usize::from(cue[0])];
            *first = if *end == 0 { place as u8 } else { *first };
            *end = place as u8 + 1;
        }
        Self { cues, ranges, beginnings }
    }

    /// Returns what the cues stand for that begin at a position of a text.
    pub(crate) fn at<'t>(&'t self, text: &'t [u8], at: usize) -> impl Iterator<Item = K> + 't {
        let beginning = text[at..].first_chunk().map(|first| u16::from_be_bytes(*first));
        let (first, end) = match beginning.is_some_and(|beginning| self.beginnings.contains(beginning)) {
            true => self.ranges[usize::from(text[at])],
            false => (0, 0),
        };
        self.cues[usize::from(first)..usize::from(end)]
            .iter()
            .filter(move |(cue, _)| text[at..].starts_with(cue))
            .map(|(_, kind)| *kind)
    }
}

/// A set of 16-bit numbers, with a bit for each.
#[derive(Debug, Clone)]
pub(crate) struct Beginnings(Box<[u64; 1024]>);

impl Default for Beginnings {
    fn default() -> Self {
        Self(Box::new([0; 1024]))
    }
}

impl Beginnings {
    pub(crate) fn insert(&mut self, number: u16) {
        self.0[usize::from(number / 64)] |= 1 << (number % 64);
    }

    pub(crate) fn contains(&self, number: u16) -> bool {
        self.0[usize::from(number / 64)] & 1 << (number % 64) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::CueTable;

    #[test]
    fn all_cues_that_begin_at_a_position_are_found() {
        let table = CueTable::new([("we", 1), ("we use", 2), ("wide", 3), ("use", 4)]);
        let at = |text: &str, at: usize| table.at(text.as_bytes(), at).collect::<Vec<i32>>();
        assert_eq!(at("we use it", 0), [1, 2]);
        assert_eq!(at("we use it", 3), [4]);
        assert_eq!(at("we use it", 1), [0; 0]);
        assert_eq!(at("we", 0), [1]);
        assert_eq!(at("w", 0), [0; 0], "the end of the text cuts it");
    }
}
