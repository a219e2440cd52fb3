//! The files with the records of one host: each is immutable but for erased payloads, and recognised as incomplete
//! while it is copied.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use longhaul_runtime::{bounded_read, files};
use longhaul_sync::{HostId, IdxRange, RecordId, SealedRecord};
use sha2::{Digest, Sha256};

use super::{UNFINISHED, checked, open_lock, with_checksum, write_durably};
use crate::{PageLimit, RecordPlace};

/// A file with fewer records is replaced by a larger one when its host writes the next records.
const SMALL_FILE: u64 = 500;

/// The largest file that is read: a page with the largest payload that there may be.
const MAX_FILE: u64 = 64 << 20;

/// How often a folder is listed again because another process has replaced a file meanwhile.
const ATTEMPTS: usize = 5;

/// How often a lock that another process holds is tried again.
const PAUSE: Duration = Duration::from_millis(10);

const EXTENSION: &str = ".lhs";

/// The files with the records of one host.
#[derive(Debug)]
pub(super) struct RecordFiles {
    dir: PathBuf,
    host: HostId,
    lock_limit: Duration,
}

/// A file by its name. Its content may be damaged all the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct NamedFile {
    first: u64,
    last: u64,
    name: String,
}

impl RecordFiles {
    /// `lock_limit` is how long another process may hold the lock.
    pub(super) fn new(dir: PathBuf, host: HostId, lock_limit: Duration) -> Self {
        Self { dir, host, lock_limit }
    }

    /// Returns the highest idx up to which no file is missing or incomplete.
    pub(super) fn head(&self) -> io::Result<u64> {
        let mut head = 0;
        for file in self.list()? {
            if file.first > head + 1 {
                break;
            }
            head = head.max(file.last);
        }
        Ok(head)
    }

    /// Returns the lowest number that has different records in two files: two copies of the host have written it.
    pub(super) fn first_double(&self) -> io::Result<Option<u64>> {
        let files = self.list()?;
        let mut groups: Vec<Vec<&NamedFile>> = Vec::new();
        let mut reach = 0;
        for file in &files {
            match groups.last_mut() {
                Some(group) if file.first <= reach => group.push(file),
                _ => groups.push(vec![file]),
            }
            reach = reach.max(file.last);
        }
        for group in groups.iter().filter(|group| group.len() > 1) {
            let mut ids: BTreeMap<u64, RecordId> = BTreeMap::new();
            let mut doubles = Vec::new();
            for file in group {
                let records = self.read(file)?.unwrap_or_default();
                let is_other = |record: &&SealedRecord| *ids.entry(record.idx).or_insert(record.id) != record.id;
                doubles.extend(records.iter().filter(is_other).map(|record| record.idx));
            }
            if let Some(first) = doubles.into_iter().min() {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    /// Returns the files that have their full length, in the order of their first record.
    fn list(&self) -> io::Result<Vec<NamedFile>> {
        self.refuse_link()?;
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            let Some((file, bytes)) = entry.file_name().to_str().and_then(parse_name) else { continue };
            if entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == bytes) {
                found.push(file);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the records of a file; `None` if it is damaged. That another process has removed it is an error.
    fn read(&self, file: &NamedFile) -> io::Result<Option<Vec<SealedRecord>>> {
        let records = decode(&bounded_read::bytes(&self.dir.join(&file.name), MAX_FILE)?);
        let is_expected = |records: &Vec<SealedRecord>| {
            let numbers = records.iter().map(|record| record.idx);
            records.iter().all(|record| record.host == self.host) && numbers.eq(file.first..=file.last)
        };
        Ok(records.filter(is_expected))
    }

    /// Writes records, which must have consecutive numbers, to one file.
    fn write(&self, records: &[SealedRecord]) -> io::Result<String> {
        let content = encode(records);
        let (first, last) = (records[0].idx, records[records.len() - 1].idx);
        let sum = Sha256::digest(&content);
        let sum: String = sum.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{first:012}-{last:012}-{}-{sum}{EXTENSION}", content.len());
        write_durably(&self.dir.join(&name), &content)?;
        Ok(name)
    }

    /// Returns records from `range.after` on, without a gap, up to the first file that is damaged.
    pub(super) fn fetch(&self, range: IdxRange, limit: PageLimit) -> io::Result<Vec<SealedRecord>> {
        for _ in 1..ATTEMPTS {
            match self.fetch_once(range, limit) {
                // Another process has replaced a file by a larger one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                fetched => return fetched,
            }
        }
        self.fetch_once(range, limit)
    }

    fn fetch_once(&self, range: IdxRange, limit: PageLimit) -> io::Result<Vec<SealedRecord>> {
        let mut page: Vec<SealedRecord> = Vec::new();
        let mut bytes = 0;
        let mut next = range.after + 1;
        for file in self.list()?.iter().filter(|file| file.last > range.after && file.first <= range.through) {
            // An overlap: the same records again, perhaps erased in this file.
            if file.last < next {
                merge_erased(&mut page, &self.read(file)?.unwrap_or_default());
                continue;
            }
            if file.first > next {
                break;
            }
            let Some(records) = self.read(file)? else { continue };
            merge_erased(&mut page, &records);
            let first = next;
            for record in records.into_iter().filter(|record| (first..=range.through).contains(&record.idx)) {
                let size = record.payload.as_ref().map_or(0, Vec::len);
                if !page.is_empty() && (page.len() >= limit.records || bytes + size > limit.bytes) {
                    return Ok(page);
                }
                bytes += size;
                next = record.idx + 1;
                page.push(record);
            }
        }
        Ok(page)
    }

    /// Stores records. Returns the number of the first one that another record has already.
    pub(super) fn insert(&self, page: &[SealedRecord]) -> io::Result<Option<u64>> {
        let (first, last) = (page[0].idx, page[page.len() - 1].idx);
        let _lock = self.lock()?;
        let known = self.list()?;
        let mut records: BTreeMap<u64, SealedRecord> = page.iter().map(|record| (record.idx, record.clone())).collect();
        let mut replaced = Vec::new();
        for file in &known {
            let overlaps = file.first <= last && file.last >= first;
            let is_small_neighbour = file.last + 1 == first && file.last - file.first + 1 < SMALL_FILE;
            if !overlaps && !is_small_neighbour {
                continue;
            }
            let Some(stored) = self.read(file)? else { continue };
            for record in stored {
                match records.get(&record.idx) {
                    Some(other) if other.id != record.id => return Ok(Some(record.idx)),
                    // An erased payload stays erased.
                    Some(_) if record.payload.is_some() => {}
                    Some(_) | None => drop(records.insert(record.idx, record)),
                }
            }
            replaced.push(file.name.clone());
        }
        let records: Vec<SealedRecord> = records.into_values().collect();
        let written = self.write(&records)?;
        self.remove(&replaced, &written)?;
        Ok(None)
    }

    /// Removes payloads from all files that contain them. Returns the records that have none now.
    pub(super) fn erase(&self, places: &[RecordPlace]) -> io::Result<Vec<RecordId>> {
        if !self.dir.is_dir() {
            return Ok(Vec::new());
        }
        let _lock = self.lock()?;
        let mut erased = Vec::new();
        for file in self.list()? {
            let here = |place: &&RecordPlace| (file.first..=file.last).contains(&place.idx);
            let ids: Vec<RecordId> = places.iter().filter(here).map(|place| place.id).collect();
            if ids.is_empty() {
                continue;
            }
            let Some(mut records) = self.read(&file)? else { continue };
            let mut has_changed = false;
            for record in records.iter_mut().filter(|record| ids.contains(&record.id)) {
                has_changed |= record.payload.take().is_some();
                erased.push(record.id);
            }
            if has_changed {
                let written = self.write(&records)?;
                self.remove(&[file.name], &written)?;
            }
        }
        erased.sort_unstable();
        erased.dedup();
        Ok(erased)
    }

    /// Removes files whose content is not what was written. Returns how many. Only the host itself may do that: for others, a
    /// file may not be complete yet.
    pub(super) fn remove_damaged(&self) -> io::Result<u64> {
        if self.list()?.is_empty() {
            return Ok(0);
        }
        let _lock = self.lock()?;
        let mut removed = 0;
        for file in self.list()? {
            if self.read(&file)?.is_none() {
                fs::remove_file(self.dir.join(&file.name))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Returns the numbers of the records without a payload.
    pub(super) fn erased(&self) -> io::Result<Vec<u64>> {
        let mut erased = Vec::new();
        for file in self.list()? {
            let records = self.read(&file)?.unwrap_or_default().into_iter();
            erased.extend(records.filter(|record| record.payload.is_none()).map(|record| record.idx));
        }
        erased.sort_unstable();
        erased.dedup();
        Ok(erased)
    }

    /// Fails if the folder is a link: another user who may write to the circle would choose where this host writes.
    fn refuse_link(&self) -> io::Result<()> {
        if self.dir.is_symlink() {
            let problem = format!("{} is a link, which is not followed: remove it", self.dir.display());
            return Err(io::Error::other(problem));
        }
        Ok(())
    }

    /// Removes files whose records are in the file `instead`, and what interrupted writes have left.
    fn remove(&self, names: &[String], instead: &str) -> io::Result<()> {
        for name in names.iter().filter(|name| *name != instead) {
            match fs::remove_file(self.dir.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        // The lock is held: no process on this machine is writing one of these.
        for entry in fs::read_dir(&self.dir)?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// Waits until no other process changes files of this host. Between machines, each changes only its own records,
    /// unless both erase; then both leave a file, which readers merge.
    fn lock(&self) -> io::Result<fs::File> {
        self.refuse_link()?;
        fs::create_dir_all(&self.dir)?;
        let lock = open_lock(&self.dir.join(".lock"))?;
        match files::lock_within(&lock, self.lock_limit, PAUSE) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let problem = format!("another process locks {} for too long", self.dir.display());
                Err(io::Error::new(io::ErrorKind::TimedOut, problem))
            }
            // A file system without locks.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(lock),
            locked => locked.map(|()| lock),
        }
    }
}

/// Removes from `page` the payloads that `others` do not have any more.
fn merge_erased(page: &mut [SealedRecord], others: &[SealedRecord]) {
    for other in others.iter().filter(|other| other.payload.is_none()) {
        if let Some(record) = page.iter_mut().find(|record| record.idx == other.idx && record.id == other.id) {
            record.payload = None;
        }
    }
}

/// Returns the file with this name, and the length that it has when it is complete.
fn parse_name(name: &str) -> Option<(NamedFile, u64)> {
    let mut parts = name.strip_suffix(EXTENSION)?.split('-');
    let mut number = || parts.next()?.parse::<u64>().ok();
    let (first, last, bytes) = (number()?, number()?, number()?);
    // Larger numbers cannot be stored.
    let is_range = first > 0 && first <= last && i64::try_from(last).is_ok();
    is_range.then(|| (NamedFile { first, last, name: name.to_owned() }, bytes))
}

/// What a file begins with: the name and the version of the format.
const MAGIC: &[u8; 8] = b"LHSYNC01";

/// What stands for the length of a payload that was erased.
const ERASED: u32 = u32::MAX;

/// Returns the content of a file with these records.
fn encode(records: &[SealedRecord]) -> Vec<u8> {
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
    with_checksum(bytes)
}

/// Returns the records of a file; `None` if it is incomplete or damaged.
fn decode(bytes: &[u8]) -> Option<Vec<SealedRecord>> {
    let mut rest = checked(bytes)?.strip_prefix(MAGIC)?;
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
