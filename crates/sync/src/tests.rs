mod automatic_exchange;
mod encryption;
mod missing_records;
mod projects;
mod records;
mod texts;

use crate::{CircleHeader, CircleId, CircleKey, HostId, KeyRing};

fn key(number: u8) -> CircleKey {
    CircleKey::new([number; 32])
}

fn circle() -> CircleId {
    CircleId::random([7; 16])
}

fn host(number: u8) -> HostId {
    HostId::random([number; 16])
}

fn ring(number: u8) -> KeyRing {
    CircleHeader::new(circle(), &key(number), &[1; 24]).unlock(&key(number)).unwrap()
}
