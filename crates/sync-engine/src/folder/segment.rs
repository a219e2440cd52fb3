//! A file with records of one host: immutable but for erased payloads, and recognised as incomplete while it is copied.

use longhaul_sync::{HostId, RecordId, SealedRecord};
use sha2::{Digest, Sha256};

/// What a file begins with: the name and the version of the format.
const MAGIC: &[u8; 8] = b"LHSYNC01";

/// What stands for the length of a payload that was erased.
const ERASED: u32 = u32::MAX;

/// The length of the checksum at the end.
const CHECKSUM: usize = 32;

/// Returns the content of a file with these records.
pub(super) fn encode(records: &[SealedRecord]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for record in records {
        bytes.extend(record.id.as_bytes());
        bytes.extend(record.host.as_bytes());
        bytes.extend(record.idx.to_be_bytes());
        bytes.extend(record.time_ms.to_be_bytes());
        match &record.payload {
            Some(payload) => {
                bytes.extend((payload.len() as u32).to_be_bytes());
                bytes.extend(payload);
            }
            None => bytes.extend(ERASED.to_be_bytes()),
        }
    }
    let sum = Sha256::digest(&bytes);
    bytes.extend(sum);
    bytes
}

/// Returns the records of a file; `None` if it is incomplete or damaged.
pub(super) fn decode(bytes: &[u8]) -> Option<Vec<SealedRecord>> {
    let (content, sum) = bytes.split_at(bytes.len().checked_sub(CHECKSUM)?);
    if Sha256::digest(content).as_slice() != sum {
        return None;
    }
    let mut rest = content.strip_prefix(MAGIC)?;
    let mut records = Vec::new();
    while !rest.is_empty() {
        let id = RecordId::from_bytes(*take(&mut rest)?);
        let host = HostId::from_bytes(*take(&mut rest)?);
        let idx = u64::from_be_bytes(*take(&mut rest)?);
        let time_ms = u64::from_be_bytes(*take(&mut rest)?);
        let length = u32::from_be_bytes(*take(&mut rest)?);
        let payload = if length == ERASED {
            None
        } else {
            let (payload, after) = rest.split_at_checked(length as usize)?;
            rest = after;
            Some(payload.to_vec())
        };
        records.push(SealedRecord::new(id, host, idx, time_ms).with_payload(payload));
    }
    Some(records)
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(first)
}

#[cfg(test)]
mod tests {
    use longhaul_sync::{HostId, RecordId, SealedRecord};

    use super::{decode, encode};

    #[test]
    fn a_file_is_read_only_if_it_is_complete() {
        let host = HostId::random([7; 16]);
        let record =
            |idx, payload| SealedRecord::new(RecordId::new(5, [idx as u8; 10]), host, idx, 5).with_payload(payload);
        let records = vec![record(1, Some(b"abc".to_vec())), record(2, None), record(3, Some(Vec::new()))];
        let bytes = encode(&records);
        assert_eq!(decode(&bytes), Some(records));
        for length in 0..bytes.len() {
            assert_eq!(decode(&bytes[..length]), None, "{length}");
        }
        let mut changed = bytes;
        changed[20] ^= 1;
        assert_eq!(decode(&changed), None);
        assert_eq!(decode(&encode(&[])), Some(Vec::new()));
    }
}
