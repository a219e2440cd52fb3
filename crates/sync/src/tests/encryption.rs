use super::{circle, host, key, ring};
use crate::{
    CircleError, CircleHeader, CircleId, KeyRing, OpenError, RECORD_SCHEMA, RecordId, SealedRecord, open,
    open_host_name, seal, seal_host_name,
};

fn record() -> SealedRecord {
    SealedRecord::new(RecordId::new(1_000, [5; 10]), host(1), 3, 1_000)
}

fn sealed(ring: &KeyRing, text: &str) -> SealedRecord {
    let record = record();
    let payload = seal(ring, &record, text.as_bytes(), &[9; 80]);
    record.with_payload(Some(payload))
}

#[test]
fn a_sealed_record_opens_with_the_same_key_and_shows_nothing_of_its_text() {
    let record = sealed(&ring(1), "the quick brown fox");
    let payload = record.payload.clone().unwrap();
    assert!(!payload.windows(5).any(|window| window == b"quick"));
    assert_eq!(open(&ring(1), &record).as_deref(), Ok(b"the quick brown fox".as_slice()));
    assert_eq!(open(&ring(2), &record), Err(OpenError::Damaged));
    assert_eq!(open(&ring(1), &record.with_payload(None)), Err(OpenError::Forgotten));
}

#[test]
fn every_field_of_the_header_is_authenticated() {
    let good = sealed(&ring(1), "text");
    let mut changed = vec![good.clone(); 4];
    changed[0].id = RecordId::new(1_000, [6; 10]);
    changed[1].host = host(2);
    changed[2].idx += 1;
    changed[3].time_ms += 1;
    for record in changed {
        assert_eq!(open(&ring(1), &record), Err(OpenError::Damaged), "{record:?}");
    }
    let other = CircleHeader::new(CircleId::random([8; 16]), &key(1), &[1; 24]).unlock(&key(1)).unwrap();
    assert_eq!(open(&other, &good), Err(OpenError::Damaged), "the circle is authenticated");
}

#[test]
fn no_byte_of_a_payload_can_be_changed_or_removed() {
    let good = sealed(&ring(1), "text");
    let payload = good.payload.clone().unwrap();
    for at in 0..payload.len() {
        let mut bytes = payload.clone();
        bytes[at] ^= 1;
        let changed = good.clone().with_payload(Some(bytes));
        assert_eq!(open(&ring(1), &changed), Err(OpenError::Damaged), "byte {at}");
        let cut = good.clone().with_payload(Some(payload[..at].to_vec()));
        assert_eq!(open(&ring(1), &cut), Err(OpenError::Damaged), "length {at}");
    }
    let mut newer = payload;
    newer[0] = 2;
    assert_eq!(open(&ring(1), &good.with_payload(Some(newer))), Err(OpenError::NewerFormat(2)));
}

#[test]
fn a_wrong_key_is_noticed_before_anything_is_written() {
    let header = CircleHeader::new(circle(), &key(1), &[1; 24]);
    assert_eq!(header.unlock(&key(2)), Err(CircleError::WrongKey));
    assert_eq!(CircleHeader::from_bytes(&header.to_bytes()), Ok(header));
    assert_eq!(CircleHeader::from_bytes(b"{}"), Err(CircleError::Damaged));
}

#[test]
fn a_header_opens_only_for_the_circle_and_the_epochs_that_it_was_made_for() {
    let second = CircleHeader::rotated(&ring(1), &key(2), || [2; 24]).unlock(&key(2)).unwrap();
    let good = CircleHeader::rotated(&second, &key(3), || [3; 24]);
    let mut changed = vec![good.clone(); 2];
    changed[0].circle = CircleId::random([8; 16]);
    changed[1].epoch += 1;
    for header in changed {
        assert_eq!(header.unlock(&key(3)), Err(CircleError::WrongKey), "{header:?}");
    }
    let mut json: serde_json::Value = serde_json::from_slice(&good.to_bytes()).unwrap();
    let first = json["older_keys"]["1"].take();
    json["older_keys"]["1"] = json["older_keys"]["2"].take();
    json["older_keys"]["2"] = first;
    let swapped = CircleHeader::from_bytes(json.to_string().as_bytes()).unwrap();
    assert_eq!(swapped.unlock(&key(3)), Err(CircleError::Damaged));
}

#[test]
fn a_newer_schema_is_refused_and_named() {
    let mut header = CircleHeader::new(circle(), &key(1), &[1; 24]);
    header.schema += 1;
    let read = CircleHeader::from_bytes(&header.to_bytes()).unwrap();
    let refused = CircleError::NewerSchema { found: RECORD_SCHEMA + 1, known: RECORD_SCHEMA };
    assert_eq!(read.unlock(&key(1)), Err(refused));
}

#[test]
fn the_newest_key_alone_opens_records_of_every_epoch() {
    let first = ring(1);
    let second = CircleHeader::rotated(&first, &key(2), || [2; 24]).unlock(&key(2)).unwrap();
    let header = CircleHeader::rotated(&second, &key(3), || [3; 24]);
    assert_eq!(header.unlock(&key(2)), Err(CircleError::WrongKey), "an older key opens nothing new");
    let third = CircleHeader::from_bytes(&header.to_bytes()).unwrap().unlock(&key(3)).unwrap();
    assert_eq!(third.newest().0, 3);
    for (epoch, ring) in [&first, &second, &third].into_iter().enumerate() {
        assert_eq!(open(&third, &sealed(ring, "text")).as_deref(), Ok(b"text".as_slice()), "epoch {}", epoch + 1);
    }
    assert_eq!(open(&first, &sealed(&third, "text")), Err(OpenError::UnknownEpoch(3)));
    let mut cut = sealed(&third, "");
    assert_eq!(open(&first, &cut), Err(OpenError::UnknownEpoch(3)), "an empty text");
    cut.payload.as_mut().unwrap().pop();
    assert_eq!(open(&first, &cut), Err(OpenError::Damaged), "no key opens what is too short");
    let mut damaged = sealed(&first, "text");
    damaged.payload.as_mut().unwrap()[1] = 1;
    assert_eq!(open(&first, &damaged), Err(OpenError::Damaged), "a circle has not so many keys");
}

#[test]
fn a_host_name_is_encrypted_and_bound_to_its_host() {
    let sealed = seal_host_name(&ring(1), host(1), "Anna's laptop\n", &[4; 24]);
    assert!(!sealed.windows(4).any(|window| window == b"Anna"));
    assert_eq!(open_host_name(&ring(1), host(1), &sealed).as_deref(), Ok("anna-s-laptop"));
    assert_eq!(open_host_name(&ring(1), host(2), &sealed), Err(OpenError::Damaged));
    assert_eq!(open_host_name(&ring(1), host(1), &sealed[..2]), Err(OpenError::Damaged));
}

#[test]
fn a_key_is_not_printed_by_debug() {
    assert_eq!(format!("{:?}", key(65)), "CircleKey(…)");
}
