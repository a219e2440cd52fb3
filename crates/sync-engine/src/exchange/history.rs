//! Whether the engine still has the records of other hosts that were fetched from it before.
//!
//! After a backup of the engine was restored, it has fewer of them. If the database of the host that wrote them was restored
//! too, the host writes other records under the same numbers.

use longhaul_store::Store;
use longhaul_sync::{HostId, IdxRange};

use super::{ExchangeError, Interruption};
use crate::{Engine, Overview, PageLimit};

/// Returns a remark for each host of which the engine has fewer records than this machine.
pub(super) fn missing_in_engine(store: &Store, overview: &Overview) -> Result<Vec<String>, ExchangeError> {
    let mut remarks = Vec::new();
    for host in store.sync_hosts()?.iter().filter(|host| !host.is_own) {
        let remote = overview.heads.get(&host.host).copied().unwrap_or_default();
        if remote < host.head {
            let (name, here) = (shown(&host.name), host.head);
            remarks.push(format!(
                "The engine has {remote} records of {name}, this machine has {here}: an older state of the engine was \
                 restored. {name} sends the others when it exchanges."
            ));
        }
    }
    Ok(remarks)
}

/// Returns the part of `range` behind the last record that the engine and this machine have in common.
///
/// If the engine has other records under numbers that are known here, those are to be fetched too.
pub(super) fn behind_common_record(
    engine: &mut dyn Engine,
    store: &Store,
    range: IdxRange,
) -> Result<IdxRange, Interruption> {
    if is_common(engine, store, range.host, range.after)? {
        return Ok(range);
    }
    // The first different number is behind `common`, and not behind `different`.
    let (mut common, mut different) = (0, range.after);
    while different - common > 1 {
        let middle = common + (different - common) / 2;
        if is_common(engine, store, range.host, middle)? { common = middle } else { different = middle }
    }
    store.rewind_host(range.host, common)?;
    Ok(IdxRange { after: common, ..range })
}

/// Returns whether both have the same record under a number. Where the engine has none, nothing is known to differ.
fn is_common(engine: &mut dyn Engine, store: &Store, host: HostId, idx: u64) -> Result<bool, Interruption> {
    if idx == 0 {
        return Ok(true);
    }
    let range = IdxRange { host, after: idx - 1, through: idx };
    let page = engine.fetch(range, PageLimit { records: 1, bytes: 1 })?;
    page.first().map_or(Ok(true), |record| Ok(store.has_record(record)?))
}

/// Returns the name of a host as it is shown.
pub(super) fn name_of(store: &Store, host: HostId) -> Result<String, ExchangeError> {
    let hosts = store.sync_hosts()?;
    Ok(shown(hosts.iter().find(|known| known.host == host).map_or("", |known| &known.name)))
}

fn shown(name: &str) -> String {
    if name.is_empty() { "another machine".to_owned() } else { longhaul_store::from_host(name) }
}
