//! A stream of numbers that is the same in every run.

/// Dice that fall alike for the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// Returns a number below `below`, which is not 0.
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// Returns a place in something of that length, which is not 0.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        self.roll(length as u64) as usize
    }

    /// Returns one of `these`, which are some.
    pub(crate) fn pick<'a, T: ?Sized>(&mut self, these: &[&'a T]) -> &'a T {
        these[self.index(these.len())]
    }
}
