//! The file of a host: its encrypted name and when it was last seen.

use longhaul_sync::HostId;
use sha2::{Digest, Sha256};

use crate::EngineHost;

/// The length of the checksum at the end.
const CHECKSUM: usize = 32;

pub(super) fn encode(host: &EngineHost) -> Vec<u8> {
    let mut bytes = host.seen_ms.to_be_bytes().to_vec();
    bytes.extend(&host.name);
    let sum = Sha256::digest(&bytes);
    bytes.extend(sum);
    bytes
}

/// Returns `None` for a file that is incomplete or damaged.
pub(super) fn decode(host: HostId, bytes: &[u8]) -> Option<EngineHost> {
    let (content, sum) = bytes.split_at(bytes.len().checked_sub(CHECKSUM)?);
    let (seen, name) = content.split_first_chunk::<8>()?;
    let is_complete = Sha256::digest(content).as_slice() == sum;
    let seen_ms = u64::from_be_bytes(*seen);
    // A folder has no clock of its own.
    is_complete.then(|| EngineHost { host, name: name.to_vec(), seen_ms, clock_ahead_ms: 0 })
}
