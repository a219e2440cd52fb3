//! The pages of a damaged database, with those of its write-ahead log.
//!
//! SQLite refuses a database whose schema is damaged, and trusts what it can read of one. So the file is read here, as its
//! format is documented (<https://www.sqlite.org/fileformat2.html>): nothing in it is executed, and it is not changed.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::foreign::open::{beside, open_regular};

/// The page size of every database of Longhaul, for a file whose header is damaged.
const PAGE_SIZE: usize = 4096;

/// The bytes that SQLite uses for its locks. The page that has them has no content.
const LOCK_BYTE: u64 = 1 << 30;

const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// What the pointer map says about a page: the page that refers to it, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Root,
    Free,
    /// The first page of the rest of a row, and the page of the row.
    FirstOverflow(u32),
    /// A further page of a rest, and the one before it.
    Overflow(u32),
    /// A page of a tree, and its parent.
    Tree(u32),
}

/// The pages of a file.
#[derive(Debug)]
pub(super) struct Pages {
    file: File,
    log: Option<File>,
    /// Where the log has the newest content of a page.
    logged: HashMap<u32, u64>,
    pub(super) page_size: usize,
    /// The bytes of a page that SQLite uses.
    pub(super) usable: usize,
    pub(super) count: u32,
    /// The pages of the pointer map that are sound. Of one that is damaged, nothing is believed.
    maps: HashSet<u32>,
}

impl Pages {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = open_regular(path)?;
        let mut header = [0; 100];
        let length = file.metadata()?.len();
        let is_whole = length >= header.len() as u64;
        if is_whole {
            file.read_exact_at(&mut header, 0)?;
        }
        let is_sound = header.starts_with(b"SQLite format 3\0");
        let size = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 65_536,
            size if is_sound && size >= 512 && size.is_power_of_two() => usize::from(size),
            _ => PAGE_SIZE,
        };
        let reserved = if is_sound { usize::from(header[20]).min(32) } else { 0 };
        let mut pages = Self {
            log: open_regular(&beside(path, "-wal")).ok(),
            logged: HashMap::new(),
            page_size: size,
            usable: size - reserved,
            count: u32::try_from(length / size as u64).unwrap_or(u32::MAX - 1),
            maps: HashSet::new(),
            file,
        };
        pages.read_log()?;
        // A file has a pointer map if its header says so.
        if !is_sound || header[52..56] != [0; 4] {
            pages.check_maps();
        }
        Ok(pages)
    }

    /// Returns the content of a page, the first of which has the number 1.
    pub(super) fn page(&self, number: u32) -> Option<Vec<u8>> {
        if number == 0 || number > self.count {
            return None;
        }
        let mut content = vec![0; self.page_size];
        let read = match (self.logged.get(&number), &self.log) {
            (Some(at), Some(log)) => log.read_exact_at(&mut content, *at),
            _ => self.file.read_exact_at(&mut content, u64::from(number - 1) * self.page_size as u64),
        };
        read.ok().map(|()| content)
    }

    /// Returns what a page is used for; `None` where that cannot be read.
    pub(super) fn use_of(&self, number: u32) -> Option<Use> {
        if number == 1 {
            return Some(Use::Root);
        }
        let map = self.map_of(number)?;
        if !self.maps.contains(&map) {
            return None;
        }
        self.entry(&self.page(map)?, map, number)
    }

    /// Returns the entry of a page in the page `map` of the pointer map.
    fn entry(&self, content: &[u8], map: u32, number: u32) -> Option<Use> {
        let at = 5 * (number.checked_sub(map + 1)? as usize);
        let entry: [u8; 5] = content.get(at..at + 5)?.try_into().ok()?;
        let parent = u32::from_be_bytes([entry[1], entry[2], entry[3], entry[4]]);
        match entry[0] {
            1 => Some(Use::Root),
            2 => Some(Use::Free),
            3 => Some(Use::FirstOverflow(parent)),
            4 => Some(Use::Overflow(parent)),
            5 => Some(Use::Tree(parent)),
            _ => None,
        }
    }

    /// Returns the page of the pointer map that has the entry of a page.
    fn map_of(&self, number: u32) -> Option<u32> {
        if number < 2 {
            return None;
        }
        let each = (self.usable / 5) as u32 + 1;
        let map = (number - 2) / each * each + 2;
        Some(if map == self.lock_page() { map + 1 } else { map })
    }

    fn lock_page(&self) -> u32 {
        (LOCK_BYTE / self.page_size as u64) as u32 + 1
    }

    /// Finds the pages of the pointer map in which every entry is one.
    fn check_maps(&mut self) {
        let mut number = 3;
        while let Some(map) = self.map_of(number).filter(|_| number <= self.count) {
            let last = (map + (self.usable / 5) as u32).min(self.count);
            let content = self.page(map).unwrap_or_default();
            let mut covered = (map + 1..=last).filter(|number| *number != self.lock_page());
            if covered.all(|number| self.entry(&content, map, number).is_some()) {
                self.maps.insert(map);
            }
            number = last + 2;
        }
    }

    /// Finds the pages of the log that were committed. As for SQLite, the log ends where a checksum is wrong.
    fn read_log(&mut self) -> io::Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut header = [0; WAL_HEADER];
        if log.read_exact_at(&mut header, 0).is_err() {
            return Ok(());
        }
        let is_big_endian = match word(&header, 0) {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return Ok(()),
        };
        let mut sum = checksum((0, 0), &header[..24], is_big_endian);
        if sum != (word(&header, 24), word(&header, 28)) || word(&header, 8) as usize != self.page_size {
            return Ok(());
        }
        let mut frame = vec![0; FRAME_HEADER + self.page_size];
        let mut pending = Vec::new();
        let mut at = WAL_HEADER as u64;
        while log.read_exact_at(&mut frame, at).is_ok() {
            sum = checksum(sum, &frame[..8], is_big_endian);
            sum = checksum(sum, &frame[FRAME_HEADER..], is_big_endian);
            if frame[8..16] != header[16..24] || sum != (word(&frame, 16), word(&frame, 20)) {
                break;
            }
            pending.push((word(&frame, 0), at + FRAME_HEADER as u64));
            let pages = word(&frame, 4);
            if pages > 0 {
                self.logged.extend(pending.drain(..));
                self.count = pages;
            }
            at += frame.len() as u64;
        }
        Ok(())
    }
}

/// Returns the four bytes at an offset as a number; 0 behind the end.
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Continues a checksum of the log.
fn checksum((mut one, mut two): (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let number = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        one = one.wrapping_add(number(&pair[..4])).wrapping_add(two);
        two = two.wrapping_add(number(&pair[4..])).wrapping_add(one);
    }
    (one, two)
}
