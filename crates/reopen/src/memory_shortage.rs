//! Whether the machine has memory for another client. How much one needs is a setting (`reopen` in `core/src/config.rs`).

/// The share of time, in percent, in which everything waits for memory, from which no further client is started.
const STALLED_PERCENT: f64 = 10.0;

/// The memory of the machine. What the system does not report is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MemoryState {
    /// Memory that programs can get without swapping, in MB.
    pub available_mb: Option<u64>,
    /// The share of the last ten seconds in which all programs waited for memory, in percent.
    pub stalled_percent: Option<f64>,
}

/// Why no further client is started.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Shortage {
    /// There is too little memory.
    #[error("only {available_mb} MB of memory are available, and {wanted_mb} MB are wanted for each session")]
    Available {
        /// How much there is.
        available_mb: u64,
        /// How much is wanted.
        wanted_mb: u64,
    },
    /// Programs wait for memory.
    #[error("the machine has waited for memory {percent:.0} % of the last ten seconds")]
    Stalled {
        /// The share of time.
        percent: f64,
    },
}

/// Returns why no further client should be started now; `None` if it may.
pub fn shortage(memory: MemoryState, wanted_mb: u64) -> Option<Shortage> {
    if let Some(available_mb) = memory.available_mb.filter(|available| *available < wanted_mb) {
        return Some(Shortage::Available { available_mb, wanted_mb });
    }
    let stalled = memory.stalled_percent.filter(|percent| *percent >= STALLED_PERCENT);
    stalled.map(|percent| Shortage::Stalled { percent })
}
