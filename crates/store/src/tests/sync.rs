mod copies;
mod exchanging;
mod foreign_records;
mod foreign_texts;
mod forgetting;
mod indexes;
mod interleavings;
mod keys;
mod origin;
mod sharing;
mod short_locks;

use std::collections::BTreeMap;

use longhaul_core::Millis;
use longhaul_memory::{Kind, MadeBy, Observation, Summary};
use longhaul_sync::{
    CircleHeader, CircleId, CircleKey, Heads, HostId, Incoming, KeyRing, Outgoing, OwnRecords, ProjectId, Record,
    RecordId, SealedRecord, own_records, plan,
};
use tempfile::TempDir;

use super::memory::indexes::assert_consistent;
use super::{empty, new_call, new_session, open};
use crate::{NewBookmark, NewNote, NewObservation, NewSession, OwnCheck, Scan, Store, StoreError};

/// Records in one page: few, so that an exchange has many steps.
const PAGE: usize = 3;

fn ring() -> KeyRing {
    let key = CircleKey::new([1; 32]);
    CircleHeader::new(CircleId::random([2; 16]), &key, &[3; 24]).unlock(&key).unwrap()
}

fn project() -> ProjectId {
    ProjectId::of_name("p")
}

/// An engine in memory, with what every engine does: insert-or-ignore, pages, erasing.
#[derive(Default, Clone)]
struct Engine {
    records: BTreeMap<(HostId, u64), SealedRecord>,
}

impl Engine {
    fn heads(&self) -> Heads {
        self.records.keys().copied().collect()
    }

    fn insert(&mut self, page: Vec<SealedRecord>) {
        for record in page {
            self.records.entry((record.host, record.idx)).or_insert(record);
        }
    }

    fn fetch(&self, host: HostId, after: u64, most: usize) -> Vec<SealedRecord> {
        self.records.range((host, after + 1)..=(host, u64::MAX)).take(most).map(|(_, record)| record.clone()).collect()
    }

    /// Fetches records and opens them, as every member of the circle can.
    fn incoming(&self, host: HostId, after: u64, most: usize) -> Vec<Incoming> {
        self.fetch(host, after, most).into_iter().map(|record| Incoming::open(&ring(), record)).collect()
    }

    fn erase(&mut self, ids: &[RecordId]) {
        for record in self.records.values_mut().filter(|record| ids.contains(&record.id)) {
            record.payload = None;
        }
    }

    /// Stores a record as the next one of a host, as any member of the circle can who may write to the engine.
    fn forge(&mut self, host: HostId, content: Record) {
        self.forge_with(&ring(), host, content);
    }

    fn forge_with(&mut self, ring: &KeyRing, host: HostId, content: Record) {
        let idx = self.heads().get(&host).copied().unwrap_or_default() + 1;
        let header = SealedRecord::new(RecordId::new(5_000_000_000 + idx, [idx as u8; 10]), host, idx, 1_000);
        self.insert(vec![Outgoing { header, content: Some(content) }.seal(ring, &[idx as u8; 80])]);
    }

    /// Returns how many records have a payload.
    fn payloads(&self) -> usize {
        self.records.values().filter(|record| record.payload.is_some()).count()
    }
}

/// How many steps an exchange may do before it is killed.
struct Budget(usize);

impl Budget {
    /// Returns `Err` if the exchange is killed here.
    fn step(&mut self) -> Result<(), Killed> {
        self.0 = self.0.checked_sub(1).ok_or(Killed)?;
        Ok(())
    }
}

#[derive(Debug)]
struct Killed;

impl From<StoreError> for Killed {
    fn from(error: StoreError) -> Self {
        panic!("{error}")
    }
}

/// A host with its own database.
struct Machine {
    folder: TempDir,
    store: Store,
    name: &'static str,
    /// Makes every random byte and every id different.
    made: u64,
    now: u64,
}

impl Drop for Machine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_consistent(&self.store);
        }
    }
}

impl Machine {
    fn new(name: &'static str) -> Self {
        let (folder, store) = empty();
        let mut machine = Self { folder, store, name, made: 0, now: 1_000_000_000 };
        let host = machine.new_host();
        machine.store.join_circle(ring().circle(), host, name, name, Millis(machine.now)).unwrap();
        machine
    }

    /// Returns a member of the circle that shares the project `/p`.
    fn sharing(name: &'static str) -> Self {
        let machine = Self::new(name);
        machine.share();
        machine
    }

    fn share(&self) {
        self.store.share_project(project(), "p", "/p", "p", Millis(0)).unwrap();
    }

    fn new_host(&mut self) -> HostId {
        let bytes: [u8; 10] = self.random();
        let mut id = [0; 16];
        id[..10].copy_from_slice(&bytes);
        HostId::random(id)
    }

    fn host(&self) -> HostId {
        self.store.sync_self().unwrap().unwrap().host
    }

    /// Returns bytes that no other call on any machine returns.
    fn random<const N: usize>(&mut self) -> [u8; N] {
        self.made += 1;
        let mut bytes = [0; N];
        for (at, byte) in self.made.to_be_bytes().iter().rev().chain(self.name.as_bytes()).take(N).enumerate() {
            bytes[at] = *byte;
        }
        bytes
    }

    fn tick(&mut self) -> Millis {
        self.now += 1_000;
        Millis(self.now)
    }

    fn session(&self, session: &str) {
        self.store.register_session(&NewSession { at: Millis(self.now), ..new_session(session) }).unwrap();
    }

    /// Stores a prompt with a reply.
    fn prompt(&mut self, session: &str, text: &str, reply: &str) {
        self.session(session);
        let at = self.tick();
        let id = format!("{}-{}", self.name, self.now);
        self.store.remember_prompt(session, Some(&id), text, at).unwrap();
        if !reply.is_empty() {
            self.store.keep_reply(session, &format!("hook:{id}"), Some(text), reply, Millis(at.0 + 10)).unwrap();
        }
    }

    fn call(&mut self, session: &str, title: &str) {
        self.session(session);
        let at = self.tick();
        let id = format!("call-{}-{}", self.name, self.now);
        let mut observation = Observation::new(Kind::Command, "Bash", title);
        observation.narrative = format!("narrative of {title}");
        observation.facts = vec!["exit status 0".to_owned()];
        let call = NewObservation { prompt_number: Some(1), ..new_call(&id, observation, at.0) };
        self.store.take_in(session, &[call], None).unwrap();
    }

    fn summary(&mut self, session: &str, text: &str) {
        self.session(session);
        let at = self.tick();
        let mut summary = Summary::new(text);
        summary.learned = format!("learned {text}");
        self.store.write_summary(session, 1, &summary, MadeBy::Rule, at).unwrap();
    }

    fn note(&mut self, text: &str) {
        let at = self.tick();
        let note = NewNote { session: None, project_key: "/p", project: "p", title: text, text, at };
        self.store.save_note(&note).unwrap();
    }

    fn bookmark(&mut self, session: &str, note: &str) {
        self.session(session);
        let created_at = self.tick().0;
        self.store.add_bookmark(&NewBookmark { session, created_at, note: Some(note), ..Default::default() }).unwrap();
    }

    fn scan(&self) -> Scan {
        Scan { now: Millis(self.now), raw: false }
    }

    /// Exchanges with the engine, as `longhaul-sync` does.
    fn exchange(&mut self, engine: &mut Engine) {
        self.exchange_up_to(engine, &mut Budget(usize::MAX)).unwrap();
    }

    /// Exchanges until it is done or killed: between any two steps, each of which is one transaction.
    fn exchange_up_to(&mut self, engine: &mut Engine, budget: &mut Budget) -> Result<(), Killed> {
        budget.step()?;
        self.check_identity(engine)?;
        budget.step()?;
        let scan = self.scan();
        let (mut made, name) = (self.made, self.name);
        let logged = self.store.log_changes(scan, &mut || {
            made += 1;
            let mut bytes = [7; 10];
            bytes[..8].copy_from_slice(&made.to_be_bytes());
            bytes[8] = name.as_bytes()[0];
            Ok(bytes)
        });
        self.made = made;
        logged?;
        let todo = plan(&self.store.sync_heads()?, &engine.heads(), self.host()).unwrap();
        if let Some(range) = todo.send {
            self.send(engine, range, budget)?;
        }
        let mut forgotten = 0;
        for range in todo.fetch {
            let mut after = range.after;
            while after < range.through {
                budget.step()?;
                let page = engine.incoming(range.host, after, PAGE);
                after = page.last().unwrap().sealed.idx;
                forgotten += self.store.take_in_records(&page, Millis(self.now))?.forgotten;
            }
        }
        for range in self.store.damaged_ranges(Millis(self.now), PAGE)? {
            budget.step()?;
            let page = engine.incoming(range.host, range.after, (range.through - range.after) as usize);
            self.store.take_in_waiting(&page, Millis(self.now))?;
        }
        self.take_in_waiting(budget)?;
        if forgotten > 0 {
            self.store.overwrite_forgotten()?;
        }
        loop {
            let ids: Vec<_> = self.store.records_to_erase(PAGE)?.iter().map(|record| record.id).collect();
            if ids.is_empty() {
                return Ok(());
            }
            budget.step()?;
            engine.erase(&ids);
            budget.step()?;
            self.store.note_erased(&ids)?;
        }
    }

    fn send(&mut self, engine: &mut Engine, range: longhaul_sync::IdxRange, budget: &mut Budget) -> Result<(), Killed> {
        let mut range = range;
        while !range.is_empty() {
            budget.step()?;
            let page = self.store.records_to_send(range, PAGE, self.scan())?;
            range.after = page.last().unwrap().header.idx;
            let page: Vec<SealedRecord> =
                page.into_iter().map(|outgoing| outgoing.seal(&ring(), &self.random())).collect();
            engine.insert(page);
            budget.step()?;
            self.store.confirm_sent(range.after)?;
        }
        Ok(())
    }

    fn take_in_waiting(&mut self, budget: &mut Budget) -> Result<(), Killed> {
        loop {
            budget.step()?;
            let page = self.store.records_that_wait(PAGE)?;
            if page.is_empty() {
                return Ok(());
            }
            let page: Vec<Incoming> = page.into_iter().map(|record| Incoming::open(&ring(), record)).collect();
            assert!(
                self.store.take_in_waiting(&page, Millis(self.now))?.records > 0,
                "nothing is tried again and again"
            );
        }
    }

    /// Notices that the engine has own records that this database did not send, and takes a new id. Returns whether it did.
    fn check_identity(&mut self, engine: &Engine) -> Result<bool, Killed> {
        let own = self.store.sync_self()?.unwrap();
        let remote = engine.heads().get(&own.host).copied().unwrap_or_default();
        let OwnRecords::Compare(range) = own_records(own.host, own.confirmed, remote) else { return Ok(false) };
        let found = engine.fetch(range.host, range.after, usize::MAX);
        let ids: Vec<(u64, RecordId)> = found.iter().map(|record| (record.idx, record.id)).collect();
        match self.store.check_own_records(&ids)? {
            OwnCheck::Same => self.store.confirm_sent(remote)?,
            OwnCheck::Other => {
                let host = self.new_host();
                self.store.renew_host(host, "renewed", Millis(self.now))?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns every record of the memory with all of its content, in an order that does not depend on the host.
    fn dump(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut add = |sql: &str| {
            let mut statement = self.store.connection.prepare(sql).unwrap();
            let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            lines.extend(rows.map(Result::unwrap));
        };
        add("SELECT 'prompt ' || s.session_id || ' ' || u.prompt_number || ' ' || u.prompt || ' ' || u.created_at || ' → '
                    || coalesce((SELECT group_concat(t.reply) FROM turns t WHERE t.passage = u.id), '')
             FROM prompts u JOIN sessions s ON s.id = u.session_id");
        add("SELECT 'observation ' || coalesce(s.session_id, '') || coalesce(o.tool_use_id, '') || o.prompt_number || o.kind
                    || o.title || o.narrative || o.facts || o.made_by || o.created_at
             FROM observations o LEFT JOIN sessions s ON s.id = o.session_id");
        add("SELECT 'summary ' || s.session_id || t.prompt_number || t.request || t.learned || t.made_by || t.created_at
             FROM session_summaries t JOIN sessions s ON s.id = t.session_id");
        add("SELECT 'bookmark ' || session_id || created_at || coalesce(note, '') FROM bookmarks");
        lines.sort();
        lines
    }

    fn count(&self, sql: &str) -> i64 {
        self.store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// Exchanges until nothing changes any more, then checks that all have the same.
///
/// One forgetting can cause another: a host that deletes a call also deletes the summary that was made of it, and sends that in
/// the next round.
#[track_caller]
fn settle(machines: &mut [&mut Machine], engine: &mut Engine) {
    const MOST: usize = 6;
    let is_quiet = (0..MOST).any(|_| {
        let before = engine.records.clone();
        // What a host does because of one round is sent in the next.
        for _ in 0..2 {
            machines.iter_mut().for_each(|machine| machine.exchange(engine));
        }
        engine.records == before
    });
    assert!(is_quiet, "records are still sent");
    let first = machines[0].dump();
    for machine in &machines[1..] {
        assert_eq!(machine.dump(), first, "{} and {}", machines[0].name, machine.name);
    }
    for machine in machines {
        assert_eq!(machine.store.integrity_check().unwrap(), [""; 0]);
    }
}
