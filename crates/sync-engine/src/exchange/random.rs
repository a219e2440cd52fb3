//! Random bytes for many records.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use longhaul_runtime::Error;

const SOURCE: &str = "/dev/urandom";

/// Random bytes of the system, read in larger pieces than a record needs.
#[derive(Debug)]
pub(super) struct RandomBytes(BufReader<File>);

impl RandomBytes {
    pub(super) fn open() -> Result<Self, Error> {
        let file = File::open(SOURCE).map_err(|source| Error::Read { path: Path::new(SOURCE).to_owned(), source })?;
        Ok(Self(BufReader::new(file)))
    }

    /// Returns bytes that no other call returns.
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        let read = self.0.read_exact(&mut bytes);
        read.map_err(|source| Error::Read { path: Path::new(SOURCE).to_owned(), source })?;
        Ok(bytes)
    }

    /// As [`Self::bytes`], where no error can be returned.
    pub(super) fn known_to_work<const N: usize>(&mut self) -> [u8; N] {
        self.bytes().expect("/dev/urandom can be read")
    }
}
