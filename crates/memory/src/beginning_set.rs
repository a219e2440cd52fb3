//! A set of beginnings of texts, which excludes most texts without comparing them.

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
