//! What an engine does: it stores sealed records, and understands none of them. Also the size of a page of records, and the
//! texts of its errors.

use longhaul_sync::{CircleError, CircleHeader, Heads, HostId, IdxRange, RecordId, SealedRecord};

/// How much one page of records holds at most. It has at least one record, however large that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    pub records: usize,
    pub bytes: usize,
}

impl PageLimit {
    /// The page of an exchange: large enough that the round trips do not count, small enough for little memory.
    pub const EXCHANGE: Self = Self { records: 1000, bytes: 4 << 20 };
}

/// What one request says about a circle: enough to know whether there is anything to exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    pub header: CircleHeader,
    /// The highest idx of each host.
    pub heads: Heads,
    /// The time of the engine's clock, in milliseconds; `None` if it has none.
    pub time_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineHost {
    pub host: HostId,
    pub name: Vec<u8>,
    /// When it was last seen, in milliseconds, by its own clock.
    pub seen_ms: u64,
    /// How far its clock was ahead of the engine's then, in milliseconds. The engine computes it.
    pub clock_ahead_ms: i64,
}

/// Where a record is, for erasing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordPlace {
    pub host: HostId,
    /// Its number among the records of its host.
    pub idx: u64,
    pub id: RecordId,
}

/// Storage for the records of one circle. Every call is one request, and may be repeated.
pub trait Engine {
    /// Returns the address without any secret, for messages.
    fn shown_address(&self) -> String;

    /// Returns the header of the circle and the highest idx of each host; `None` if there is no circle yet.
    fn overview(&mut self) -> Result<Option<Overview>, EngineError>;

    /// Creates the circle. Returns remarks for the user. Fails if there is one already.
    fn create(&mut self, header: &CircleHeader) -> Result<Vec<String>, EngineError>;

    /// Replaces the header of the circle, which must have the epoch before that of `header`.
    fn replace_header(&mut self, header: &CircleHeader) -> Result<(), EngineError>;

    /// Stores records of one host, in the order of their idx. Those that are stored already are skipped.
    ///
    /// Fails with [`EngineError::Clash`] if another record has the number of one of them, and stores nothing then.
    fn insert(&mut self, page: &[SealedRecord]) -> Result<(), EngineError>;

    /// Returns the first records of `range`, in the order of their idx.
    fn fetch(&mut self, range: IdxRange, limit: PageLimit) -> Result<Vec<SealedRecord>, EngineError>;

    /// Removes the payloads of records. Returns the records that have no payload any more.
    ///
    /// A record that this user may not erase keeps its payload, and is not returned.
    fn erase(&mut self, places: &[RecordPlace]) -> Result<Vec<RecordId>, EngineError>;

    /// Returns the lowest number that two different records of a host have; `None` if there is none.
    ///
    /// Only an engine that several machines write to without seeing each other can have such numbers.
    fn first_double(&mut self, _host: HostId) -> Result<Option<u64>, EngineError> {
        Ok(None)
    }

    /// Removes what is damaged of the records of this host, so that they are sent again. Returns how many files that were.
    fn remove_damaged(&mut self, _host: HostId) -> Result<u64, EngineError> {
        Ok(0)
    }

    /// Returns the numbers of the records of a host that have no payload, where others could have removed it without the key.
    fn erased(&mut self, _host: HostId) -> Result<Vec<u64>, EngineError> {
        Ok(Vec::new())
    }

    /// Stores the name and the last sight of this host.
    ///
    /// Fails with [`EngineError::HostOfAnotherUser`] if another user has added it: only that user adds records of it.
    fn put_host(&mut self, host: &EngineHost) -> Result<(), EngineError>;

    fn hosts(&mut self) -> Result<Vec<EngineHost>, EngineError>;

    /// Removes a host from the list of hosts. Its records stay.
    fn remove_host(&mut self, host: HostId) -> Result<(), EngineError>;
}

/// Why an engine cannot do what it should. No message contains a password.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error("cannot use the address of the engine: {0}")]
    Address(String),
    #[error("cannot reach {engine}: {problem}")]
    Unreachable {
        /// Its address.
        engine: String,
        /// What went wrong.
        problem: String,
    },
    #[error("{engine} refused the login: {problem}")]
    Login {
        /// Its address.
        engine: String,
        /// What the server says.
        problem: String,
    },
    #[error("no TLS connection to {engine} as sslmode={mode} requires: {problem}")]
    Tls {
        /// Its address.
        engine: String,
        mode: &'static str,
        /// What went wrong.
        problem: String,
    },
    #[error("{engine} did not answer within {seconds} s")]
    TimedOut {
        /// Its address.
        engine: String,
        /// The limit.
        seconds: u64,
    },
    #[error("{0} holds no circle: `longhaul sync init` makes one")]
    NoCircle(String),
    #[error(
        "{0} holds a circle already: `longhaul sync join CODE` joins it; `longhaul sync code` on one of its machines prints the code"
    )]
    CircleExists(String),
    #[error("{engine} was set up by a newer version (schema {found}, this version knows {known}): update longhaul")]
    NewerSchema {
        /// Its address.
        engine: String,
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    #[error("the circle was changed by another machine at the same time: try again")]
    HeaderChanged,
    #[error("{engine}: no permission: {problem}")]
    NoPermission {
        /// Its address.
        engine: String,
        /// What the server or the system says.
        problem: String,
    },
    #[error("{engine}: no space left: {problem}")]
    Full {
        /// Its address.
        engine: String,
        /// What the server or the system says.
        problem: String,
    },
    #[error("another machine has written record {idx} of host {host}: this machine is a copy of it")]
    Clash {
        host: HostId,
        /// The number.
        idx: u64,
    },
    #[error("{engine}: another user has added host {host}")]
    HostOfAnotherUser {
        /// Its address.
        engine: String,
        host: HostId,
    },
    #[error("{engine}: {problem}")]
    Other {
        /// Its address.
        engine: String,
        /// What went wrong.
        problem: String,
    },
    #[error(transparent)]
    Circle(#[from] CircleError),
}
