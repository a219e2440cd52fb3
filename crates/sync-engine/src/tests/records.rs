//! Records for tests.

use longhaul_sync::{CircleHeader, CircleId, CircleKey, HostId, RecordId, SealedRecord};

pub(super) fn key() -> CircleKey {
    CircleKey::new([3; 32])
}

pub(super) fn header() -> CircleHeader {
    CircleHeader::new(CircleId::random([1; 16]), &key(), &[2; 24])
}

pub(super) fn host(number: u8) -> HostId {
    HostId::random([number; 16])
}

/// Returns a record of `host` whose id depends on `variant`.
pub(super) fn record(host: HostId, idx: u64, variant: u8) -> SealedRecord {
    let mut random = [variant; 10];
    random[..8].copy_from_slice(&idx.to_be_bytes());
    let payload = format!("payload {idx} {variant} of {host}").into_bytes();
    SealedRecord::new(RecordId::new(1_000 + idx, random), host, idx, 1_000 + idx).with_payload(Some(payload))
}

/// Returns records with consecutive numbers.
pub(super) fn records(host: HostId, numbers: std::ops::RangeInclusive<u64>) -> Vec<SealedRecord> {
    numbers.map(|idx| record(host, idx, 0)).collect()
}
