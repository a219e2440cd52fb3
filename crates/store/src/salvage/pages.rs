//! The pages of a damaged database, with those of its write-ahead log, and the rows on them.
//!
//! SQLite refuses a database whose schema is damaged, and trusts what it can read of one. So the file is read here, as
//! its format is documented (<https://www.sqlite.org/fileformat2.html>): nothing in it is executed, and it is not
//! changed.
//!
//! A page belongs to the table from whose root it is reached. Where a page on that way is damaged, the pointer map
//! still says which page refers to which. Free pages are left out: they may have text that was forgotten.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rusqlite::types::Value;

use crate::foreign::{beside, open_regular};

/// The page size of every database of Longhaul, for a file whose header is damaged.
const PAGE_SIZE: usize = 4096;

/// The bytes that SQLite uses for its locks. The page that has them has no content.
const LOCK_BYTE: u64 = 1 << 30;

const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// What the pointer map says about a page: the page that refers to it, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Root,
    Free,
    /// The first page of the rest of a row, and the page of the row.
    FirstOverflow(u32),
    /// A further page of a rest, and the one before it.
    Overflow(u32),
    /// A page of a tree, and its parent.
    Tree(u32),
}

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
    fn use_of(&self, number: u32) -> Option<Use> {
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
fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

/// Continues a checksum of the log.
fn checksum((mut first, mut second): (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let number = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    };
    for pair in bytes.chunks_exact(8) {
        first = first.wrapping_add(number(&pair[..4])).wrapping_add(second);
        second = second.wrapping_add(number(&pair[4..])).wrapping_add(first);
    }
    (first, second)
}

/// The largest row that is read. What is stored of a text is far shorter.
const MOST_BYTES: usize = 16 << 20;

/// How deep a tree may be. SQLite's own limit.
const DEPTH: usize = 20;

const INDEX_INNER: u8 = 2;
const TABLE_INNER: u8 = 5;
const INDEX_LEAF: u8 = 10;
const TABLE_LEAF: u8 = 13;

/// A row: its number, 0 in a table without numbers, and its values as they are stored.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StoredRow {
    pub(super) number: i64,
    pub(super) values: Vec<Value>,
}

#[derive(Debug, Default)]
pub(super) struct PageRows {
    pub(super) rows: Vec<StoredRow>,
    /// How many are there and cannot be read.
    pub(super) damaged: usize,
}

/// The pages of each tree, by its root.
#[derive(Debug)]
pub(super) struct Trees {
    pages: HashMap<u32, Vec<u32>>,
    /// How many pages of each tree cannot be read.
    damaged: HashMap<u32, usize>,
}

impl Trees {
    /// Finds the tree of every page that has rows.
    pub(super) fn find(file: &Pages) -> Self {
        let mut trees = Self { pages: HashMap::new(), damaged: HashMap::new() };
        let mut seen = HashSet::new();
        // What the pages of the trees themselves say.
        for root in 1..=file.count {
            if file.use_of(root) == Some(Use::Root) {
                trees.walk(file, root, root, &mut seen, 0);
            }
        }
        // What only the pointer map knows.
        for number in 2..=file.count {
            if !seen.contains(&number)
                && let Some(root) = root_of(file, number)
            {
                trees.add(file, root, number);
            }
        }
        trees
    }

    /// Finds the trees of a file whose pointer map cannot be read, or has none, from the roots that its schema names.
    pub(super) fn add_roots(&mut self, file: &Pages, roots: impl IntoIterator<Item = u32>) {
        let mut seen: HashSet<u32> = self.pages.values().flatten().copied().collect();
        for root in roots {
            if !self.pages.contains_key(&root) {
                self.walk(file, root, root, &mut seen, 0);
            }
        }
    }

    fn walk(&mut self, file: &Pages, root: u32, number: u32, seen: &mut HashSet<u32>, depth: usize) {
        if depth > DEPTH || file.use_of(number) == Some(Use::Free) || !seen.insert(number) {
            return;
        }
        self.add(file, root, number);
        for child in file.page(number).map(|page| children(&page, start(number))).unwrap_or_default() {
            // A damaged page may name any other.
            let is_child = file.use_of(child).is_none_or(|found| found == Use::Tree(number));
            if is_child && (2..=file.count).contains(&child) {
                self.walk(file, root, child, seen, depth + 1);
            }
        }
    }

    fn add(&mut self, file: &Pages, root: u32, number: u32) {
        match file.page(number).and_then(|page| page.get(start(number)).copied()) {
            Some(INDEX_INNER | INDEX_LEAF | TABLE_LEAF) => self.pages.entry(root).or_default().push(number),
            Some(TABLE_INNER) => drop(self.pages.entry(root).or_default()),
            _ => *self.damaged.entry(root).or_default() += 1,
        }
    }

    pub(super) fn roots(&self) -> impl Iterator<Item = u32> + '_ {
        self.pages.keys().copied()
    }

    pub(super) fn pages(&self, root: u32) -> &[u32] {
        self.pages.get(&root).map_or(&[], Vec::as_slice)
    }

    pub(super) fn damaged(&self, root: u32) -> usize {
        self.damaged.get(&root).copied().unwrap_or_default()
    }
}

/// Returns the root of a page's tree by the pointer map; `None` if it is in no tree.
fn root_of(file: &Pages, number: u32) -> Option<u32> {
    let mut number = number;
    for _ in 0..DEPTH {
        match file.use_of(number)? {
            Use::Tree(parent) => number = parent,
            Use::Root => return Some(number),
            Use::Free | Use::FirstOverflow(_) | Use::Overflow(_) => return None,
        }
    }
    None
}

/// Returns where the header of a page begins: the first page has that of the file before it.
fn start(number: u32) -> usize {
    if number == 1 { 100 } else { 0 }
}

/// Returns the offsets of the cells of a page.
fn cells(page: &[u8], start: usize) -> Vec<usize> {
    let short = |at: usize| page.get(at..at + 2).map(|two| usize::from(u16::from_be_bytes([two[0], two[1]])));
    let array = start + if matches!(page.get(start), Some(&(INDEX_INNER | TABLE_INNER))) { 12 } else { 8 };
    let count = short(start + 3).unwrap_or_default();
    (0..count).map_while(|index| short(array + 2 * index)).filter(|at| *at >= array).collect()
}

/// Returns the pages below an inner page.
fn children(page: &[u8], start: usize) -> Vec<u32> {
    if !matches!(page.get(start), Some(&(INDEX_INNER | TABLE_INNER))) {
        return Vec::new();
    }
    let mut found: Vec<u32> = cells(page, start).into_iter().map(|at| word(page, at)).collect();
    found.push(word(page, start + 8));
    found
}

pub(super) fn rows_of(file: &Pages, number: u32) -> PageRows {
    let mut found = PageRows::default();
    let Some(page) = file.page(number) else { return found };
    let kind = page.get(start(number)).copied();
    for at in cells(&page, start(number)) {
        let row = match kind {
            Some(TABLE_LEAF) => table_row(file, number, &page, at),
            Some(INDEX_LEAF) => index_row(file, number, &page, at),
            Some(INDEX_INNER) => index_row(file, number, &page, at + 4),
            _ => return found,
        };
        match row {
            Some(row) => found.rows.push(row),
            None => found.damaged += 1,
        }
    }
    found
}

fn table_row(file: &Pages, number: u32, page: &[u8], at: usize) -> Option<StoredRow> {
    let mut bytes = Reader { bytes: page, at };
    let length = usize::try_from(bytes.number()?).ok()?;
    let row = bytes.number()?;
    let payload = payload(file, number, bytes, length, file.usable - 35)?;
    Some(StoredRow { number: row, values: values(&payload)? })
}

fn index_row(file: &Pages, number: u32, page: &[u8], at: usize) -> Option<StoredRow> {
    let mut bytes = Reader { bytes: page, at };
    let length = usize::try_from(bytes.number()?).ok()?;
    let payload = payload(file, number, bytes, length, (file.usable - 12) * 64 / 255 - 23)?;
    Some(StoredRow { number: 0, values: values(&payload)? })
}

/// Returns the content of a row, of which at most `most` bytes are on its page.
fn payload(file: &Pages, number: u32, mut bytes: Reader<'_>, length: usize, most: usize) -> Option<Vec<u8>> {
    if length > MOST_BYTES {
        return None;
    }
    if length <= most {
        return bytes.take(length).map(<[u8]>::to_vec);
    }
    let least = (file.usable - 12) * 32 / 255 - 23;
    let each = file.usable - 4;
    let wanted = least + (length - least) % each;
    let mut content = bytes.take(if wanted <= most { wanted } else { least })?.to_vec();
    let mut next = word(bytes.take(4)?, 0);
    let mut expected = Use::FirstOverflow(number);
    while content.len() < length {
        // A page that has got another use since, or is of another row.
        if file.use_of(next).is_some_and(|found| found != expected) {
            return None;
        }
        let page = file.page(next)?;
        let part = each.min(length - content.len());
        content.extend_from_slice(page.get(4..4 + part)?);
        expected = Use::Overflow(next);
        next = word(&page, 0);
    }
    (next == 0).then_some(content)
}

/// Returns the values of a row; `None` if they are not well-formed.
fn values(payload: &[u8]) -> Option<Vec<Value>> {
    let mut header = Reader { bytes: payload, at: 0 };
    let end = usize::try_from(header.number()?).ok()?;
    let mut body = Reader { bytes: payload, at: end };
    let mut values = Vec::new();
    while header.at < end {
        values.push(match header.number()? {
            0 => Value::Null,
            kind @ 1..=6 => Value::Integer(body.integer([1, 2, 3, 4, 6, 8][kind as usize - 1])?),
            7 => Value::Real(f64::from_bits(body.integer(8)? as u64)),
            kind @ 8..=9 => Value::Integer(kind - 8),
            kind @ 12.. if kind % 2 == 0 => Value::Blob(body.take((kind as usize - 12) / 2)?.to_vec()),
            kind @ 13.. => {
                let text = std::str::from_utf8(body.take((kind as usize - 13) / 2)?).ok()?;
                // No text that was stored has one: the page was overwritten.
                if text.contains('\0') {
                    return None;
                }
                Value::Text(text.to_owned())
            }
            _ => return None,
        });
    }
    (header.at == end && body.at == payload.len()).then_some(values)
}

/// Reads bytes from the front.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(length)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// Reads a number of variable length.
    fn number(&mut self) -> Option<i64> {
        let mut number: u64 = 0;
        for _ in 0..8 {
            let byte = *self.take(1)?.first()?;
            number = number << 7 | u64::from(byte & 0x7f);
            if byte < 0x80 {
                return Some(number as i64);
            }
        }
        Some((number << 8 | u64::from(*self.take(1)?.first()?)) as i64)
    }

    /// Reads an integer with a sign.
    fn integer(&mut self, length: usize) -> Option<i64> {
        let bytes = self.take(length)?;
        let sign = if bytes.first()? & 0x80 == 0 { 0 } else { -1 };
        Some(bytes.iter().fold(sign, |number: i64, byte| number << 8 | i64::from(*byte)))
    }
}
