//! What two sides of an exchange lack, by the highest idx of each host.

use std::collections::BTreeMap;

use crate::HostId;

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
