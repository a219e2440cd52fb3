//! Records that are too large to be read anywhere.

use longhaul_sync::{MAX_PAYLOAD, SealedRecord};

/// Removes the payloads that no host would read and an engine may refuse. Returns a remark for each.
pub(super) fn leave_out_large(page: &mut [SealedRecord]) -> Vec<String> {
    let is_large = |record: &&mut SealedRecord| record.payload.as_ref().is_some_and(|it| it.len() > MAX_PAYLOAD);
    let remark = |record: &mut SealedRecord| {
        record.payload = None;
        format!("Record {} is larger than {} MB, and was not sent.", record.idx, MAX_PAYLOAD >> 20)
    };
    page.iter_mut().filter(is_large).map(remark).collect()
}

#[cfg(test)]
mod tests {
    use longhaul_sync::{HostId, MAX_PAYLOAD, RecordId, SealedRecord};

    use super::leave_out_large;

    #[test]
    fn a_record_that_no_host_could_read_is_sent_without_its_payload() {
        let record = |idx: u64, length: usize| {
            let id = RecordId::new(5, [idx as u8; 10]);
            SealedRecord::new(id, HostId::random([1; 16]), idx, 5).with_payload(Some(vec![1; length]))
        };
        let mut page = [record(1, 10), record(2, MAX_PAYLOAD + 1), record(3, MAX_PAYLOAD)];
        assert_eq!(leave_out_large(&mut page), ["Record 2 is larger than 4 MB, and was not sent."]);
        assert_eq!(page.map(|record| record.payload.is_some()), [true, false, true]);
    }
}
