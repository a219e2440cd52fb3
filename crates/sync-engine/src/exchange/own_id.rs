//! Whether the records under the id of this host are this host's own: a copy of its memory has the same id.

use longhaul_runtime::files;
use longhaul_store::{OwnCheck, SyncSelf};
use longhaul_sync::{HostId, OwnRecords, RecordId, own_records};

use super::{ExchangeError, Exchanged, Interruption, Participant};
use crate::{Engine, Overview, PageLimit};

/// Fails if this host needs a new id: the database was copied to another machine or restored from a backup, or the engine has
/// records under this id that another copy has written.
pub(super) fn check(
    engine: &mut dyn Engine,
    participant: &Participant<'_>,
    own: &SyncSelf,
    overview: &Overview,
) -> Result<(), Interruption> {
    if own.machine != participant.machine {
        return Err(Interruption::SameId);
    }
    if let Some(double) = engine.first_double(own.host)? {
        // From there on, other machines may have fetched either copy: everything is written again, under the new id.
        participant.store.confirm_sent(own.confirmed.min(double - 1))?;
        return Err(Interruption::SameId);
    }
    let remote = overview.heads.get(&own.host).copied().unwrap_or_default();
    let OwnRecords::Compare(mut range) = own_records(own.host, own.confirmed, remote) else { return Ok(()) };
    while !range.is_empty() {
        let page = engine.fetch(range, PageLimit::EXCHANGE)?;
        let Some(last) = page.last() else { break };
        range.after = last.idx;
        let ids: Vec<(u64, RecordId)> = page.iter().map(|record| (record.idx, record.id)).collect();
        match participant.store.check_own_records(&ids)? {
            OwnCheck::Same => participant.store.confirm_sent(range.after)?,
            OwnCheck::Other => return Err(Interruption::SameId),
        }
    }
    Ok(())
}

/// Gives this host a new id.
pub(super) fn renew(participant: &Participant<'_>, exchanged: &mut Exchanged) -> Result<(), ExchangeError> {
    let host = HostId::random(files::random()?);
    participant.store.renew_host(host, &participant.machine, participant.scan.now)?;
    exchanged.remarks.push(
        "This memory is a copy of another machine's, was restored from a backup, or exchanges as another user of the \
         database: it got a new id. Nothing is lost."
            .to_owned(),
    );
    Ok(())
}
