//! The exchange: compares what is here with what the engine has, fetches, applies, sends and erases.
//!
//! It may end anywhere, and be repeated: a page is one statement there and small transactions here.
//!
//! It first checks two things. Whether the records under the id of this host are this host's own: a copy of its memory
//! has the same id. And whether the engine still has the records of other hosts that were fetched from it before: after
//! a backup of the engine was restored, it has fewer of them, and if the database of the host that wrote them was
//! restored too, the host writes other records under the same numbers.

mod fetching;

use longhaul_core::Millis;
use longhaul_runtime::files::{self, RandomBytes};
use longhaul_runtime::waiting_times;
use longhaul_store::{OwnCheck, Scan, Store, SyncSelf};
use longhaul_sync::{
    CircleError, CircleKey, HostId, IdxRange, KeyRing, MAX_PAYLOAD, OwnRecords, OwnRecordsAhead, RecordId,
    SealedRecord, open_host_name, own_records, plan, seal_host_name,
};

use crate::{Engine, EngineError, EngineHost, Overview, PageLimit, RecordPlace};

/// A smaller difference between two clocks is the time that a request takes.
const CLOCK_TOLERANCE_MS: u64 = 5_000;

/// How many records are read or erased at once.
const AT_ONCE: usize = 500;

/// How many payloads one exchange erases at most.
const MAX_ERASED: usize = 20_000;

/// From how many records on the database is prepared for many writes.
const MANY: u64 = 500;

/// How often an exchange begins again because this host got a new id.
const ATTEMPTS: usize = 3;

/// What an exchange needs to know of this machine.
#[derive(Debug)]
pub struct Participant<'a> {
    /// The database.
    pub store: &'a Store,
    pub key: &'a CircleKey,
    pub machine: String,
    pub name: String,
    /// The time, and whether raw tool text is sent.
    pub scan: Scan,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exchanged {
    pub sent: u64,
    pub fetched: u64,
    /// Of these, the records that have changed the memory.
    pub applied: u64,
    /// Entities that were forgotten because another host has forgotten them.
    pub forgotten: u64,
    /// Payloads that were erased in the engine, or by their owner before.
    pub erased: u64,
    /// What the user should know.
    pub remarks: Vec<String>,
    /// Records of which the engine returned none, although it has them by its own account.
    pub incomplete: Vec<IdxRange>,
}

/// How far the fetching is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub fetched: u64,
    /// Records to fetch.
    pub total: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("this machine has no circle: `longhaul sync init` makes one, `longhaul sync join CODE` joins one")]
    NoCircle,
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Store(#[from] longhaul_store::StoreError),
    #[error(transparent)]
    File(#[from] longhaul_runtime::Error),
    #[error(
        "this machine got a new id {ATTEMPTS} times: another machine seems to use a copy of its memory at the same time"
    )]
    TooManyCopies,
}

impl From<CircleError> for ExchangeError {
    fn from(error: CircleError) -> Self {
        Self::Engine(error.into())
    }
}

/// Exchanges records with the engine until both sides have the same.
pub fn exchange(
    engine: &mut dyn Engine,
    participant: &Participant<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Exchanged, ExchangeError> {
    let mut exchanged = Exchanged::default();
    let mut random = RandomBytes::open()?;
    for _ in 0..ATTEMPTS {
        let mut run = Run {
            engine,
            participant,
            progress,
            random: &mut random,
            exchanged: &mut exchanged,
            has_clock: false,
            is_large: false,
        };
        let done = run.once();
        run.settle();
        match done {
            Ok(()) => return Ok(exchanged),
            // Another copy of this host has written meanwhile.
            Err(Interruption::SameId) => renew_id(participant, &mut exchanged)?,
            Err(Interruption::Failed(error)) => return Err(error),
        }
    }
    Err(ExchangeError::TooManyCopies)
}

/// Opens a circle with its key. Fails if it is another circle than `expected`.
pub fn unlock(overview: &Overview, expected: longhaul_sync::CircleId, key: &CircleKey) -> Result<KeyRing, CircleError> {
    if overview.header.circle != expected {
        return Err(CircleError::OtherCircle);
    }
    overview.header.unlock(key)
}

/// Why an exchange does not go on.
enum Interruption {
    /// The engine has records under the id of this host that are not of this host.
    SameId,
    Failed(ExchangeError),
}

impl<E: Into<ExchangeError>> From<E> for Interruption {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// One attempt.
struct Run<'a, 'b> {
    engine: &'a mut dyn Engine,
    participant: &'a Participant<'b>,
    progress: &'a mut dyn FnMut(Progress),
    random: &'a mut RandomBytes,
    exchanged: &'a mut Exchanged,
    has_clock: bool,
    /// Whether the database was prepared for many writes.
    is_large: bool,
}

impl Run<'_, '_> {
    fn once(&mut self) -> Result<(), Interruption> {
        let own = self.participant.store.sync_self()?.ok_or(ExchangeError::NoCircle)?;
        // Before the heads are read: what is removed is missing then, and is sent again.
        if self.is_sight_due(&own)? {
            let removed = self.engine.remove_damaged(own.host)?;
            if removed > 0 {
                self.exchanged
                    .remarks
                    .push(format!("Damaged files with records of this machine: {removed}. They are written again."));
            }
        }
        let overview = self.engine.overview()?;
        let overview = overview.ok_or_else(|| EngineError::NoCircle(self.engine.shown_address()))?;
        let ring = unlock(&overview, own.circle, self.participant.key)?;
        self.check_epoch(&own, &ring)?;
        check_id(self.engine, self.participant, &own, &overview)?;
        let ahead = self.clock_ahead(&own, &overview);
        self.has_clock = overview.time_ms.is_some();
        if ahead != own.clock_ahead || own.name != self.participant.name {
            self.participant.store.note_host(own.host, &self.participant.name, None, Some(ahead))?;
        }
        if self.is_sight_due(&own)? {
            self.write_erased_again(&ring, &own)?;
        }
        self.expect_writes(self.participant.store.rows_to_log()?)?;
        let random = &mut *self.random;
        self.participant.store.log_changes(self.participant.scan, &mut || Ok(random.take()?))?;
        let planned = plan(&self.participant.store.sync_heads()?, &overview.heads, own.host);
        let planned = planned.map_err(|OwnRecordsAhead { .. }| Interruption::SameId)?;
        let is_due = self.is_sight_due(&own)?;
        if is_due || !planned.fetch.is_empty() {
            self.note_hosts(&ring, &own)?;
        }
        self.exchanged.remarks.extend(missing_in_engine(self.participant.store, &overview)?);
        // Fetching first: it works where nothing can be written.
        let total = planned.fetch_len();
        self.expect_writes(total)?;
        for range in &planned.fetch {
            let range = behind_common_record(self.engine, self.participant.store, *range)?;
            self.fetch(&ring, range, total)?;
        }
        self.fetch_damaged(&ring)?;
        self.apply_waiting(&ring)?;
        if is_due || planned.send.is_some() || own.name != self.participant.name {
            self.show_host(&ring, &own)?;
        }
        if let Some(range) = planned.send {
            self.send(&ring, range)?;
        }
        self.erase()
    }

    /// Writes own records again whose payload is gone in the engine although this machine has not erased it: whoever may write to a
    /// folder can remove payloads without the key, and the others take that for forgotten.
    fn write_erased_again(&mut self, ring: &KeyRing, own: &SyncSelf) -> Result<(), Interruption> {
        let store = self.participant.store;
        let mut lost = Vec::new();
        for idx in self.engine.erased(own.host)?.into_iter().filter(|idx| (1..=own.confirmed).contains(idx)) {
            let range = IdxRange { host: own.host, after: idx - 1, through: idx };
            for outgoing in store.records_to_send(range, 1, self.participant.scan)? {
                let mut sealed = [outgoing.seal(ring, &self.random.take()?)];
                // One that is too large was sent without its payload.
                leave_out_large(&mut sealed);
                lost.extend(sealed.iter().filter(|record| record.payload.is_some()).map(|record| record.idx));
            }
        }
        if !lost.is_empty() {
            store.write_again(&lost)?;
            let count = lost.len();
            self.exchanged.remarks.push(format!(
                "Records of this machine that somebody has erased in the engine without the key: {count}. They are written again."
            ));
        }
        Ok(())
    }

    fn now(&self) -> Millis {
        self.participant.scan.now
    }

    /// Fails if the engine has an older key than before; otherwise remembers its number.
    ///
    /// Records that are encrypted with an older key could be read by whoever has left the circle.
    fn check_epoch(&self, own: &SyncSelf, ring: &KeyRing) -> Result<(), Interruption> {
        let (found, _) = ring.newest();
        if found < own.epoch {
            return Err(CircleError::OlderKey { found, known: own.epoch }.into());
        }
        if found > own.epoch {
            self.participant.store.note_epoch(found)?;
        }
        Ok(())
    }

    /// Prepares the database for so many records.
    fn expect_writes(&mut self, records: u64) -> Result<(), Interruption> {
        if records > MANY && !self.is_large {
            self.participant.store.expect_many_writes()?;
            self.is_large = true;
        }
        Ok(())
    }

    /// Overwrites what was forgotten, and copies many writes back. An error only delays both.
    fn settle(&self) {
        let store = self.participant.store;
        if self.exchanged.forgotten > 0 {
            let _ = store.overwrite_forgotten();
        }
        if self.is_large {
            let _ = store.settle_writes();
        }
    }

    /// Returns how far the clock of this host is ahead of the engine's.
    fn clock_ahead(&self, own: &SyncSelf, overview: &Overview) -> i64 {
        let Some(time) = overview.time_ms else { return own.clock_ahead };
        let ahead = i64::try_from(self.now().0).unwrap_or_default() - i64::try_from(time).unwrap_or_default();
        let ahead = if ahead.unsigned_abs() < CLOCK_TOLERANCE_MS { 0 } else { ahead };
        if ahead.abs_diff(own.clock_ahead) < CLOCK_TOLERANCE_MS { own.clock_ahead } else { ahead }
    }

    /// Returns whether the engine's last sight of this host is too old.
    fn is_sight_due(&self, own: &SyncSelf) -> Result<bool, Interruption> {
        let hosts = self.participant.store.sync_hosts()?;
        let seen = hosts.iter().find(|host| host.host == own.host).and_then(|host| host.seen_at);
        let longest = waiting_times::HOST_REPORTS_ITSELF.as_millis() as u64;
        // At joining, the time is recorded here only.
        Ok(seen.is_none_or(|seen| seen == own.joined_at || seen.0.abs_diff(self.now().0) >= longest))
    }

    /// Stores the names of the other hosts.
    fn note_hosts(&mut self, ring: &KeyRing, own: &SyncSelf) -> Result<(), Interruption> {
        for host in self.engine.hosts()?.into_iter().filter(|host| host.host != own.host) {
            // A name that cannot be read is not worth an error.
            let name = open_host_name(ring, host.host, &host.name).unwrap_or_default();
            let seen = Some(Millis(host.seen_ms));
            let is_right = host.clock_ahead_ms.unsigned_abs() < CLOCK_TOLERANCE_MS;
            let ahead = if is_right { 0 } else { host.clock_ahead_ms };
            // Without a clock of the engine, the records show how far a clock is ahead.
            let ahead = self.has_clock.then_some(ahead);
            self.participant.store.note_host(host.host, &name, seen, ahead)?;
        }
        Ok(())
    }

    fn show_host(&mut self, ring: &KeyRing, own: &SyncSelf) -> Result<(), Interruption> {
        let name = &self.participant.name;
        let sealed = seal_host_name(ring, own.host, name, &self.random.take()?);
        let entry = EngineHost { host: own.host, name: sealed, seen_ms: self.now().0, clock_ahead_ms: 0 };
        match self.engine.put_host(&entry) {
            // The address has another user than before.
            Err(EngineError::HostOfAnotherUser { .. }) => return Err(Interruption::SameId),
            put => put?,
        }
        self.participant.store.note_host(own.host, name, Some(self.now()), None)?;
        Ok(())
    }

    fn send(&mut self, ring: &KeyRing, mut range: IdxRange) -> Result<(), Interruption> {
        while !range.is_empty() {
            let most = PageLimit::EXCHANGE.records;
            let page = self.participant.store.records_to_send(range, most, self.participant.scan)?;
            if page.is_empty() {
                return Ok(());
            }
            let mut sealed = Vec::with_capacity(page.len());
            for outgoing in page {
                sealed.push(outgoing.seal(ring, &self.random.take()?));
            }
            self.exchanged.remarks.extend(leave_out_large(&mut sealed));
            for page in pages(&sealed, PageLimit::EXCHANGE) {
                match self.engine.insert(page) {
                    Err(EngineError::Clash { .. }) => return Err(Interruption::SameId),
                    inserted => inserted?,
                }
                range.after = page.last().map_or(range.through, |last| last.idx);
                self.participant.store.confirm_sent(range.after)?;
                self.exchanged.sent += page.len() as u64;
            }
        }
        Ok(())
    }

    /// Removes the payloads of forgotten records from the engine, as far as this user may.
    ///
    /// What another user has added, that user or the owner erases. Until then it is tried again in each exchange.
    fn erase(&mut self) -> Result<(), Interruption> {
        let records = self.participant.store.records_to_erase(MAX_ERASED)?;
        let place = |record: &SealedRecord| RecordPlace { host: record.host, idx: record.idx, id: record.id };
        for page in records.chunks(AT_ONCE) {
            let erased = self.engine.erase(&page.iter().map(place).collect::<Vec<_>>())?;
            self.exchanged.erased += erased.len() as u64;
            self.participant.store.note_erased(&erased)?;
        }
        Ok(())
    }
}

fn pages(records: &[SealedRecord], limit: PageLimit) -> impl Iterator<Item = &[SealedRecord]> {
    let mut rest = records;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let length = rest.iter().take(limit.records).take_while(|record| {
            bytes += record.payload.as_ref().map_or(0, Vec::len);
            bytes <= limit.bytes
        });
        // A record that is larger than a page is a page.
        let length = length.count().max(1).min(rest.len());
        let (page, after) = rest.split_at(length);
        rest = after;
        (!page.is_empty()).then_some(page)
    })
}

/// Returns a remark for each host of which the engine has fewer records than this machine.
fn missing_in_engine(store: &Store, overview: &Overview) -> Result<Vec<String>, ExchangeError> {
    let mut remarks = Vec::new();
    for host in store.sync_hosts()?.iter().filter(|host| !host.is_own) {
        let remote = overview.heads.get(&host.host).copied().unwrap_or_default();
        if remote < host.head {
            let (name, here) = (shown(&host.name), host.head);
            remarks.push(format!(
                "The engine has {remote} records of {name}, this machine has {here}: an older state of the engine was \
                 restored. {name} sends the others when it exchanges."
            ));
        }
    }
    Ok(remarks)
}

/// Returns the part of `range` behind the last record that the engine and this machine have in common.
///
/// If the engine has other records under numbers that are known here, those are to be fetched too.
fn behind_common_record(engine: &mut dyn Engine, store: &Store, range: IdxRange) -> Result<IdxRange, Interruption> {
    if is_common(engine, store, range.host, range.after)? {
        return Ok(range);
    }
    // The first different number is behind `common`, and not behind `different`.
    let (mut common, mut different) = (0, range.after);
    while different - common > 1 {
        let middle = common + (different - common) / 2;
        if is_common(engine, store, range.host, middle)? { common = middle } else { different = middle }
    }
    store.rewind_host(range.host, common)?;
    Ok(IdxRange { after: common, ..range })
}

/// Returns whether both have the same record under a number. Where the engine has none, nothing is known to differ.
fn is_common(engine: &mut dyn Engine, store: &Store, host: HostId, idx: u64) -> Result<bool, Interruption> {
    if idx == 0 {
        return Ok(true);
    }
    let range = IdxRange { host, after: idx - 1, through: idx };
    let page = engine.fetch(range, PageLimit { records: 1, bytes: 1 })?;
    page.first().map_or(Ok(true), |record| Ok(store.has_record(record)?))
}

fn name_of(store: &Store, host: HostId) -> Result<String, ExchangeError> {
    let hosts = store.sync_hosts()?;
    Ok(shown(hosts.iter().find(|known| known.host == host).map_or("", |known| &known.name)))
}

fn shown(name: &str) -> String {
    if name.is_empty() { "another machine".to_owned() } else { longhaul_store::from_host(name) }
}

/// Fails if this host needs a new id: the database was copied to another machine or restored from a backup, or the engine has
/// records under this id that another copy has written.
fn check_id(
    engine: &mut dyn Engine,
    participant: &Participant<'_>,
    own: &SyncSelf,
    overview: &Overview,
) -> Result<(), Interruption> {
    if own.machine != participant.machine {
        return Err(Interruption::SameId);
    }
    if let Some(double) = engine.first_double(own.host)? {
        // From there on, other machines may have fetched either copy: everything is written again, under the new id.
        participant.store.confirm_sent(own.confirmed.min(double - 1))?;
        return Err(Interruption::SameId);
    }
    let remote = overview.heads.get(&own.host).copied().unwrap_or_default();
    let OwnRecords::Compare(mut range) = own_records(own.host, own.confirmed, remote) else { return Ok(()) };
    while !range.is_empty() {
        let page = engine.fetch(range, PageLimit::EXCHANGE)?;
        let Some(last) = page.last() else { break };
        range.after = last.idx;
        let ids: Vec<(u64, RecordId)> = page.iter().map(|record| (record.idx, record.id)).collect();
        match participant.store.check_own_records(&ids)? {
            OwnCheck::Same => participant.store.confirm_sent(range.after)?,
            OwnCheck::Other => return Err(Interruption::SameId),
        }
    }
    Ok(())
}

/// Gives this host a new id.
fn renew_id(participant: &Participant<'_>, exchanged: &mut Exchanged) -> Result<(), ExchangeError> {
    let host = HostId::random(files::random()?);
    participant.store.renew_host(host, &participant.machine, participant.scan.now)?;
    exchanged.remarks.push(
        "This memory is a copy of another machine's, was restored from a backup, or exchanges as another user of the \
         database: it got a new id. Nothing is lost."
            .to_owned(),
    );
    Ok(())
}

/// Removes the payloads that no host would read and an engine may refuse. Returns a remark for each.
fn leave_out_large(page: &mut [SealedRecord]) -> Vec<String> {
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
