//! What an engine does: it stores sealed records, and understands none of them. Also the size of a page of records, and the
//! texts of its errors.

use longhaul_sync::{CircleError, CircleHeader, Heads, HostId, IdxRange, RecordId, SealedRecord};

/// How much one page of records holds at most. It has at least one record, however large that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    /// Number of records.
    pub records: usize,
    /// Bytes of payload.
    pub bytes: usize,
}

impl PageLimit {
    /// The page of an exchange: large enough that the round trips do not count, small enough for little memory.
    pub const EXCHANGE: Self = Self { records: 1000, bytes: 4 << 20 };
}

/// What one request says about a circle: enough to know whether there is anything to exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    /// The header of the circle.
    pub header: CircleHeader,
    /// The highest idx of each host.
    pub heads: Heads,
    /// The time of the engine's clock, in milliseconds; `None` if it has none.
    pub time_ms: Option<u64>,
}

/// A host as the engine stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineHost {
    /// Its id.
    pub host: HostId,
    /// Its encrypted name.
    pub name: Vec<u8>,
    /// When it was last seen, in milliseconds, by its own clock.
    pub seen_ms: u64,
    /// How far its clock was ahead of the engine's then, in milliseconds. The engine computes it.
    pub clock_ahead_ms: i64,
}

/// Where a record is, for erasing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordPlace {
    /// The host that wrote it.
    pub host: HostId,
    /// Its number among the records of its host.
    pub idx: u64,
    /// Its id.
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

    /// Returns all hosts.
    fn hosts(&mut self) -> Result<Vec<EngineHost>, EngineError>;

    /// Removes a host from the list of hosts. Its records stay.
    fn remove_host(&mut self, host: HostId) -> Result<(), EngineError>;
}

/// Why an engine cannot do what it should. No message contains a password.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The address cannot be used.
    #[error("cannot use the address of the engine: {0}")]
    Address(String),
    /// The engine cannot be reached.
    #[error("cannot reach {engine}: {problem}")]
    Unreachable {
        /// Its address.
        engine: String,
        /// What went wrong.
        problem: String,
    },
    /// The server does not accept the user or the password.
    #[error("{engine} refused the login: {problem}")]
    Login {
        /// Its address.
        engine: String,
        /// What the server says.
        problem: String,
    },
    /// The connection cannot be encrypted as `sslmode` requires.
    #[error("no TLS connection to {engine} as sslmode={mode} requires: {problem}")]
    Tls {
        /// Its address.
        engine: String,
        /// The mode.
        mode: &'static str,
        /// What went wrong.
        problem: String,
    },
    /// An answer took too long.
    #[error("{engine} did not answer within {seconds} s")]
    TimedOut {
        /// Its address.
        engine: String,
        /// The limit.
        seconds: u64,
    },
    /// There is no circle.
    #[error("{0} holds no circle: `longhaul sync init` makes one")]
    NoCircle(String),
    /// There is a circle already.
    #[error(
        "{0} holds a circle already: `longhaul sync join CODE` joins it; `longhaul sync code` on one of its machines prints the code"
    )]
    CircleExists(String),
    /// A newer version has changed the tables or files.
    #[error("{engine} was set up by a newer version (schema {found}, this version knows {known}): update longhaul")]
    NewerSchema {
        /// Its address.
        engine: String,
        /// The schema found.
        found: i64,
        /// The newest schema that this version knows.
        known: i64,
    },
    /// The key was changed at the same time by another machine.
    #[error("the circle was changed by another machine at the same time: try again")]
    HeaderChanged,
    /// The user has not the right to do this.
    #[error("{engine}: no permission: {problem}")]
    NoPermission {
        /// Its address.
        engine: String,
        /// What the server or the system says.
        problem: String,
    },
    /// There is no space left.
    #[error("{engine}: no space left: {problem}")]
    Full {
        /// Its address.
        engine: String,
        /// What the server or the system says.
        problem: String,
    },
    /// Another host writes with the same id.
    #[error("another machine has written record {idx} of host {host}: this machine is a copy of it")]
    Clash {
        /// The host.
        host: HostId,
        /// The number.
        idx: u64,
    },
    /// Another user of the database has added this host.
    #[error("{engine}: another user has added host {host}")]
    HostOfAnotherUser {
        /// Its address.
        engine: String,
        /// The host.
        host: HostId,
    },
    /// Anything else.
    #[error("{engine}: {problem}")]
    Other {
        /// Its address.
        engine: String,
        /// What went wrong.
        problem: String,
    },
    /// The header cannot be used.
    #[error(transparent)]
    Circle(#[from] CircleError),
}
