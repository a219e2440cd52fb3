//! Token counts of a request.

/// The tokens of one or more requests, by the price that they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tokens {
    /// Input that was neither read from the cache nor written to it.
    pub input: u64,
    /// Output, thinking included.
    pub output: u64,
    /// Input that was read from the cache.
    pub cache_read: u64,
    /// Input that was written to the cache for five minutes.
    pub cache_write_5m: u64,
    /// Input that was written to the cache for an hour.
    pub cache_write_1h: u64,
}

impl Tokens {
    /// Returns a count of tokens without any in the cache.
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, ..Self::default() }
    }

    /// Returns the number of tokens written to the cache, for whatever time.
    pub fn cache_write(&self) -> u64 {
        self.cache_write_5m.saturating_add(self.cache_write_1h)
    }

    /// Returns the length of the prompt: every token but the output.
    pub fn prompt(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write())
    }

    /// Returns the number of all tokens.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Adds other tokens. A sum that is too large stays at the largest number.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write_5m = self.cache_write_5m.saturating_add(other.cache_write_5m);
        self.cache_write_1h = self.cache_write_1h.saturating_add(other.cache_write_1h);
    }
}
