//! Finds which of many words a text has at a position. Whole replies are read, and there are a hundred words.

/// Words, each with what it stands for.
pub(crate) struct CueTable<K> {
    /// Ordered by their texts.
    cues: Vec<(&'static [u8], K)>,
    /// For each first byte, the range of the cues that begin with it.
    ranges: [(u8, u8); 256],
    /// A bit for each pair of first bytes. Nearly every word of a text is excluded by it.
    pairs: Box<[u64; 1024]>,
}

impl<K: Copy> CueTable<K> {
    /// Returns a table of at most 254 cues of at least two bytes each.
    pub(crate) fn new(cues: impl IntoIterator<Item = (&'static str, K)>) -> Self {
        let mut cues: Vec<(&'static [u8], K)> = cues.into_iter().map(|(cue, kind)| (cue.as_bytes(), kind)).collect();
        assert!(cues.len() < usize::from(u8::MAX), "a place in the table is a byte");
        cues.sort_unstable_by_key(|(cue, _)| *cue);
        let (mut ranges, mut pairs) = ([(0, 0); 256], Box::new([0; 1024]));
        for (place, (cue, _)) in cues.iter().enumerate() {
            let pair = pair(cue[0], cue[1]);
            pairs[pair / 64] |= 1 << (pair % 64);
            let (first, end) = &mut ranges[usize::from(cue[0])];
            *first = if *end == 0 { place as u8 } else { *first };
            *end = place as u8 + 1;
        }
        Self { cues, ranges, pairs }
    }

    /// Returns what the cues stand for that begin at a position of a text.
    pub(crate) fn at<'t>(&'t self, text: &'t [u8], at: usize) -> impl Iterator<Item = K> + 't {
        let pair = text.get(at + 1).map_or(0, |second| pair(text[at], *second));
        let (first, end) = match self.pairs[pair / 64] >> (pair % 64) & 1 {
            0 => (0, 0),
            _ => self.ranges[usize::from(text[at])],
        };
        self.cues[usize::from(first)..usize::from(end)]
            .iter()
            .filter(move |(cue, _)| text[at..].starts_with(cue))
            .map(|(_, kind)| *kind)
    }
}

/// Returns the number of a pair of bytes.
fn pair(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
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
