//! Finds which of many words a text has at a position. Whole replies are read, and there are a hundred words.

/// Words, each with what it stands for.
pub(crate) struct CueTable<K> {
    /// Ordered by their texts.
    cues: Vec<(&'static [u8], K)>,
    /// For each first byte, the range of the cues that begin with it.
    ranges: [(u8, u8); 256],
}

impl<K: Copy> CueTable<K> {
    /// Returns a table of at most 254 cues, none of which is empty.
    pub(crate) fn new(cues: impl IntoIterator<Item = (&'static str, K)>) -> Self {
        let mut cues: Vec<(&'static [u8], K)> = cues.into_iter().map(|(cue, kind)| (cue.as_bytes(), kind)).collect();
        assert!(cues.len() < usize::from(u8::MAX), "a place in the table is a byte");
        cues.sort_unstable_by_key(|(cue, _)| *cue);
        let mut ranges = [(0, 0); 256];
        for (place, (cue, _)) in cues.iter().enumerate() {
            let (first, end) = &mut ranges[usize::from(cue[0])];
            *first = if *end == 0 { place as u8 } else { *first };
            *end = place as u8 + 1;
        }
        Self { cues, ranges }
    }

    /// Returns what the cues stand for that begin at a position of a text.
    pub(crate) fn at<'t>(&'t self, text: &'t [u8], at: usize) -> impl Iterator<Item = K> + 't {
        let (first, end) = self.ranges[usize::from(text[at])];
        // The second byte excludes nearly all of them, and is compared faster than a text.
        let second = text.get(at + 1);
        self.cues[usize::from(first)..usize::from(end)]
            .iter()
            .filter(move |(cue, _)| cue.get(1) == second && text[at..].starts_with(cue))
            .map(|(_, kind)| *kind)
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
