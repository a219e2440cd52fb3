//! What an exchange needs: what each side lacks, by the highest idx of each host; records on their way, that is what
//! this host sends and what it has fetched; and when one starts by itself: how often at most, and how long it pauses
//! after failures.

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_core::Millis;

use crate::{DecodeError, HostId, KeyRing, OpenError, Record, SEAL_RANDOM, SealedRecord, open, seal};

/// The highest idx of each host. A host without records is absent.
pub type Heads = BTreeMap<HostId, u64>;

/// Records of one host: those behind `after`, up to and including `through`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdxRange {
    /// The host.
    pub host: HostId,
    /// The idx before the first one.
    pub after: u64,
    /// The last idx.
    pub through: u64,
}

impl IdxRange {
    /// Returns how many records it has.
    pub fn len(&self) -> u64 {
        self.through.saturating_sub(self.after)
    }

    /// Returns whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What an exchange has to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExchangePlan {
    /// The own records that the engine lacks.
    pub send: Option<IdxRange>,
    /// The records of other hosts that are not here, in the order of the hosts' ids.
    pub fetch: Vec<IdxRange>,
}

impl ExchangePlan {
    /// Returns whether both sides have the same.
    pub fn is_empty(&self) -> bool {
        self.send.is_none() && self.fetch.is_empty()
    }

    /// Returns how many records are to be fetched.
    pub fn fetch_len(&self) -> u64 {
        // An engine can claim any number.
        self.fetch.iter().map(IdxRange::len).fold(0, u64::saturating_add)
    }
}

/// The engine has records of this host that this host has not written: it is a copy, or was restored from a backup.
///
/// It needs a new id before it may send anything; see `Store::renew_host`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the engine has {remote} records of this host, which has written only {local}: a backup or a copy of it was used"
)]
pub struct OwnRecordsAhead {
    /// The highest own idx here.
    pub local: u64,
    /// The highest own idx in the engine.
    pub remote: u64,
}

/// Whether the engine's own records of a host are those that this host has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnRecords {
    /// They are those that were confirmed, or fewer because the engine was restored: they are sent again.
    Known,
    /// The engine has more than were confirmed: the process ended after sending, or a copy of this host has sent them.
    ///
    /// The ids of these records say which. If one is not in the own log under the same idx, this host is a copy, or was
    /// restored from a backup, and needs a new id.
    Compare(IdxRange),
}

/// Compares how many own records were confirmed with how many the engine has. To be done before own changes are added to the
/// log: they would get numbers that the engine may have already.
pub fn own_records(own: HostId, confirmed: u64, remote: u64) -> OwnRecords {
    if remote <= confirmed {
        return OwnRecords::Known;
    }
    OwnRecords::Compare(IdxRange { host: own, after: confirmed, through: remote })
}

/// Compares the two sides. `own` is the host that asks: only it writes its own records.
///
/// What the engine lacks of other hosts is not sent: each host sends its own.
pub fn plan(local: &Heads, remote: &Heads, own: HostId) -> Result<ExchangePlan, OwnRecordsAhead> {
    let head = |heads: &Heads, host| heads.get(&host).copied().unwrap_or_default();
    let (here, there) = (head(local, own), head(remote, own));
    if there > here {
        return Err(OwnRecordsAhead { local: here, remote: there });
    }
    let send = (here > there).then_some(IdxRange { host: own, after: there, through: here });
    let missing = |(&host, &through): (&HostId, &u64)| {
        let after = head(local, host);
        (host != own && through > after).then_some(IdxRange { host, after, through })
    };
    Ok(ExchangePlan { send, fetch: remote.iter().filter_map(missing).collect() })
}

/// An own record, to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Its header.
    pub header: SealedRecord,
    /// Its content; `None` if it was forgotten, or a newer version of the same entity follows.
    pub content: Option<Record>,
}

impl Outgoing {
    /// Encrypts it. `random` must be fresh for each record.
    pub fn seal(self, ring: &KeyRing, random: &[u8; SEAL_RANDOM]) -> SealedRecord {
        let payload = self.content.map(|content| seal(ring, &self.header, &content.encode(), random));
        self.header.with_payload(payload)
    }
}

/// A record of another host, fetched from the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// As the engine stores it.
    pub sealed: SealedRecord,
    /// Its content.
    pub content: IncomingContent,
}

/// The content of a fetched record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncomingContent {
    /// It could be read.
    Record(Record),
    /// It was forgotten: the engine has only its header.
    Forgotten,
    /// It needs a newer version of the program: it is kept, and tried again later.
    Later,
    /// It needs a key of the circle that is not known here. Nothing of it is kept: it is fetched again when the key is known.
    NoKey,
    /// It is damaged, or was changed by somebody without the key. Nothing of it is kept.
    Damaged,
}

impl Incoming {
    /// Decrypts a fetched record.
    pub fn open(ring: &KeyRing, sealed: SealedRecord) -> Self {
        let content = match open(ring, &sealed) {
            Ok(bytes) => match Record::decode(&bytes) {
                Ok(record) => IncomingContent::Record(record),
                Err(DecodeError::UnknownKind) => IncomingContent::Later,
                Err(DecodeError::Malformed) => IncomingContent::Damaged,
            },
            Err(OpenError::Forgotten) => IncomingContent::Forgotten,
            Err(OpenError::NewerFormat(_)) => IncomingContent::Later,
            Err(OpenError::UnknownEpoch(_)) => IncomingContent::NoKey,
            Err(OpenError::Damaged) => IncomingContent::Damaged,
        };
        Self { sealed, content }
    }
}

/// After a turn, an exchange starts at most once in this time.
pub const AFTER_TURN: Duration = Duration::from_secs(60);

/// At the start of a session, at most once in this time.
pub const AT_SESSION_START: Duration = Duration::from_secs(10 * 60);

/// The pause after the first failure. Each further one doubles it.
const FIRST_PAUSE_MS: u64 = 60_000;

/// The longest pause after a failure.
const LONGEST_PAUSE_MS: u64 = 60 * 60_000;

/// Returns whether an exchange is due that starts at most once in `interval`, if the last one was started at `last`.
pub fn is_due(last: Millis, interval: Duration, now: Millis) -> bool {
    // A clock that was once far ahead must not delay it for years.
    u128::from(last.0.abs_diff(now.0)) >= interval.as_millis()
}

/// Returns the time before which no exchange starts by itself, after one that has failed now and `earlier` ones that have
/// failed in a row before it: the pause doubles, up to the longest one.
pub fn paused_until(now: Millis, earlier: u32) -> Millis {
    Millis(now.0 + FIRST_PAUSE_MS.saturating_mul(1 << earlier.min(16)).min(LONGEST_PAUSE_MS))
}

/// Returns whether a pause until `until` is over.
pub fn is_pause_over(until: Millis, now: Millis) -> bool {
    // A clock that was once far ahead must not delay it for years.
    now >= until || until.since(now) > LONGEST_PAUSE_MS
}
