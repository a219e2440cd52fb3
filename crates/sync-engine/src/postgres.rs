//! The engine for a team: a PostgreSQL database, or one that speaks its protocol. Here is also which error of the
//! engine (`engine.rs`, with the texts) an error of the server or the connection is.

mod address;
mod schema;
mod tls;

use std::future::Future;
use std::path::Path;
use std::pin::pin;

use futures_util::TryStreamExt;
use longhaul_runtime::waiting_times;
use longhaul_sync::{CircleHeader, Heads, HostId, IdxRange, RecordId, SealedRecord};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};
use uuid::Uuid;

use self::address::chain;
use crate::{Engine, EngineError, EngineHost, Overview, PageLimit, RecordPlace};

pub use self::address::{PostgresAddress, TlsMode};

/// The most bytes that are read of one answer. The largest, a page of records, has a little more than 8 MB.
const MAX_ANSWER: usize = 32 << 20;

/// What a row takes apart from its values.
const ROW_BYTES: usize = 200;

/// A connection to a PostgreSQL database.
pub struct Postgres {
    runtime: Runtime,
    client: Client,
    shown: String,
}

impl Postgres {
    pub fn connect(address: &PostgresAddress, password_file: Option<&Path>) -> Result<Self, EngineError> {
        let shown = address.shown();
        let other = |problem: String| EngineError::Other { engine: shown.clone(), problem };
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(|error| other(error.to_string()))?;
        let mut config = address.config.clone();
        if let Some(file) = password_file {
            address::apply_password_file(&mut config, file);
        }
        let mode = address.tls.as_str();
        let connector = tls::connector(address);
        let connector = connector.map_err(|problem| EngineError::Tls { engine: shown.clone(), mode, problem })?;
        let connected = runtime
            .block_on(async { tokio::time::timeout(waiting_times::POSTGRES_REQUEST, config.connect(connector)).await });
        let seconds = waiting_times::POSTGRES_REQUEST.as_secs();
        let connected = connected.map_err(|_| EngineError::TimedOut { engine: shown.clone(), seconds })?;
        let (client, connection) = connected.map_err(|error| connecting_failed(&shown, mode, &error))?;
        // It ends with the client. Its errors reach the client's requests.
        runtime.spawn(async { drop(connection.await) });
        Ok(Self { runtime, client, shown })
    }

    fn wait<T>(&self, request: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, EngineError> {
        let answer =
            self.runtime.block_on(async { tokio::time::timeout(waiting_times::POSTGRES_REQUEST, request).await });
        let seconds = waiting_times::POSTGRES_REQUEST.as_secs();
        let answer = answer.map_err(|_| EngineError::TimedOut { engine: self.shown.clone(), seconds })?;
        answer.map_err(|error| request_failed(&self.shown, &error))
    }

    fn query(&self, sql: &str, parameters: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>, EngineError> {
        let rows = self.wait(async {
            let parameters = parameters.iter().map(|(value, kind)| (*value, kind.clone()));
            let mut answer = pin!(self.client.query_typed_raw(sql, parameters).await?);
            let (mut rows, mut bytes) = (Vec::new(), 0);
            while let Some(row) = answer.try_next().await? {
                bytes += ROW_BYTES + row.raw_size_bytes();
                if bytes > MAX_ANSWER {
                    return Ok(None);
                }
                rows.push(row);
            }
            Ok(Some(rows))
        })?;
        // A server, or a member who has filled a table, decides how much there is: it must not fill the memory here.
        let problem = || format!("an answer has more than {} MB", MAX_ANSWER >> 20);
        rows.ok_or_else(|| EngineError::Other { engine: self.shown.clone(), problem: problem() })
    }

    fn execute(&self, sql: &str, parameters: &[(&(dyn ToSql + Sync), Type)]) -> Result<u64, EngineError> {
        self.wait(self.client.execute_typed(sql, parameters))
    }

    /// Returns the version of the tables; `None` if there are none.
    fn schema(&self) -> Result<Option<i64>, EngineError> {
        let rows = self.runtime.block_on(async {
            let request = self.client.query_typed("SELECT max(version) FROM longhaul.schema", &[]);
            tokio::time::timeout(waiting_times::POSTGRES_REQUEST, request).await
        });
        match rows {
            Ok(Err(error)) if is_missing_table(&error) => Ok(None),
            Ok(Err(error)) => Err(request_failed(&self.shown, &error)),
            Ok(Ok(rows)) => Ok(rows.first().and_then(|row| row.get(0))),
            Err(_) => Err(EngineError::TimedOut {
                engine: self.shown.clone(),
                seconds: waiting_times::POSTGRES_REQUEST.as_secs(),
            }),
        }
    }

    /// Brings tables of an older version up to date, if this user may. Members use them as they are until the owner exchanges.
    fn update_schema(&mut self) -> Result<(), EngineError> {
        let update = async {
            tokio::time::timeout(waiting_times::POSTGRES_REQUEST, schema::bring_up_to_date(&mut self.client)).await
        };
        match self.runtime.block_on(update) {
            Ok(Err(error)) if !is_refused(&error) => Err(request_failed(&self.shown, &error)),
            Ok(_) => Ok(()),
            Err(_) => Err(EngineError::TimedOut {
                engine: self.shown.clone(),
                seconds: waiting_times::POSTGRES_REQUEST.as_secs(),
            }),
        }
    }

    /// Fails if a newer version has changed the tables.
    fn check_schema(&self, found: Option<i64>) -> Result<(), EngineError> {
        let known = schema::newest();
        match found {
            Some(found) if found > known => Err(EngineError::NewerSchema { engine: self.shown.clone(), found, known }),
            Some(_) | None => Ok(()),
        }
    }
}

impl Engine for Postgres {
    fn shown_address(&self) -> String {
        self.shown.clone()
    }

    fn overview(&mut self) -> Result<Option<Overview>, EngineError> {
        let rows = match self.query(schema::OVERVIEW, &[]) {
            Ok(rows) => rows,
            // A newer version may have changed the tables so that the statement fails.
            Err(error) => {
                let found = self.schema()?;
                self.check_schema(found)?;
                return if found.is_none() { Ok(None) } else { Err(error) };
            }
        };
        let Some(first) = rows.first() else { return Ok(None) };
        let found: Option<i64> = first.get(0);
        self.check_schema(found)?;
        if found.is_some_and(|found| found < schema::newest()) {
            self.update_schema()?;
        }
        let Some(header) = first.get::<_, Option<Vec<u8>>>(1) else { return Ok(None) };
        let head = |row: &Row| Some((host_id(row.get::<_, Option<Uuid>>(2)?), row.get::<_, Option<i64>>(3)?));
        let heads: Heads = rows.iter().filter_map(head).map(|(host, idx)| (host, idx.unsigned_abs())).collect();
        let time_ms = first.get::<_, Option<i64>>(4).map(i64::unsigned_abs);
        Ok(Some(Overview { header: CircleHeader::from_bytes(&header)?, heads, time_ms }))
    }

    fn create(&mut self, header: &CircleHeader) -> Result<Vec<String>, EngineError> {
        let found = self.schema()?;
        self.check_schema(found)?;
        let shown = self.shown.clone();
        let prepared = self.runtime.block_on(async {
            schema::bring_up_to_date(&mut self.client).await?;
            schema::grant_rights(&mut self.client).await
        });
        let remark = prepared.map_err(|error| request_failed(&shown, &error))?;
        let (epoch, bytes) = (i64::from(header.epoch), header.to_bytes());
        let insert = "INSERT INTO longhaul.circle (epoch, header) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        match self.execute(insert, &[(&epoch, Type::INT8), (&bytes, Type::BYTEA)])? {
            0 => Err(EngineError::CircleExists(shown)),
            _ => Ok(remark.into_iter().collect()),
        }
    }

    fn replace_header(&mut self, header: &CircleHeader) -> Result<(), EngineError> {
        let (epoch, bytes) = (i64::from(header.epoch), header.to_bytes());
        let update = "UPDATE longhaul.circle SET epoch = $1, header = $2 WHERE epoch = $1 - 1";
        match self.execute(update, &[(&epoch, Type::INT8), (&bytes, Type::BYTEA)])? {
            0 => Err(EngineError::HeaderChanged),
            _ => Ok(()),
        }
    }

    fn insert(&mut self, page: &[SealedRecord]) -> Result<(), EngineError> {
        let Some(first) = page.first() else { return Ok(()) };
        let host = Uuid::from_bytes(*first.host.as_bytes());
        let idxs: Vec<i64> = page.iter().map(|record| record.idx as i64).collect();
        let ids: Vec<Uuid> = page.iter().map(|record| Uuid::from_bytes(*record.id.as_bytes())).collect();
        let times: Vec<i64> = page.iter().map(|record| record.time_ms as i64).collect();
        let payloads: Vec<Option<&[u8]>> = page.iter().map(|record| record.payload.as_deref()).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 5] = [
            (&host, Type::UUID),
            (&idxs, Type::INT8_ARRAY),
            (&ids, Type::UUID_ARRAY),
            (&times, Type::INT8_ARRAY),
            (&payloads, Type::BYTEA_ARRAY),
        ];
        // If another process has stored some of them meanwhile, the second attempt shows whether they are the same.
        for _ in 0..2 {
            let rows = self.query(schema::INSERT, &parameters)?;
            let (clash, added) =
                rows.first().map_or((None, 0), |row| (row.get::<_, Option<i64>>(0), row.get::<_, i64>(1)));
            if let Some(idx) = clash {
                return Err(EngineError::Clash { host: first.host, idx: idx.unsigned_abs() });
            }
            if added.unsigned_abs() == page.len() as u64 {
                break;
            }
        }
        Ok(())
    }

    fn fetch(&mut self, range: IdxRange, limit: PageLimit) -> Result<Vec<SealedRecord>, EngineError> {
        let host = Uuid::from_bytes(*range.host.as_bytes());
        let (after, through) = (range.after as i64, range.through as i64);
        let (records, bytes) = (limit.records as i64, limit.bytes as i64);
        let parameters: [(&(dyn ToSql + Sync), Type); 5] = [
            (&host, Type::UUID),
            (&after, Type::INT8),
            (&through, Type::INT8),
            (&records, Type::INT8),
            (&bytes, Type::INT8),
        ];
        let rows = self.query(schema::FETCH, &parameters)?;
        let record = |row: &Row| {
            let id = RecordId::from_bytes(*row.get::<_, Uuid>(0).as_bytes());
            let (idx, time_ms) = (row.get::<_, i64>(1).unsigned_abs(), row.get::<_, i64>(2).unsigned_abs());
            SealedRecord::new(id, range.host, idx, time_ms).with_payload(row.get(3))
        };
        let numbered = rows.iter().map(record).zip(range.after + 1..);
        // Records behind a gap are fetched when the gap is closed.
        Ok(numbered.take_while(|(record, idx)| record.idx == *idx).map(|(record, _)| record).collect())
    }

    fn erase(&mut self, places: &[RecordPlace]) -> Result<Vec<RecordId>, EngineError> {
        if places.is_empty() {
            return Ok(Vec::new());
        }
        let hosts: Vec<Uuid> = places.iter().map(|place| Uuid::from_bytes(*place.host.as_bytes())).collect();
        let idxs: Vec<i64> = places.iter().map(|place| place.idx as i64).collect();
        let ids: Vec<Uuid> = places.iter().map(|place| Uuid::from_bytes(*place.id.as_bytes())).collect();
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&hosts, Type::UUID_ARRAY), (&idxs, Type::INT8_ARRAY), (&ids, Type::UUID_ARRAY)];
        self.execute(schema::ERASE, &parameters)?;
        let rows = self.query(schema::ERASED, &parameters)?;
        Ok(rows.iter().map(|row| RecordId::from_bytes(*row.get::<_, Uuid>(0).as_bytes())).collect())
    }

    fn put_host(&mut self, host: &EngineHost) -> Result<(), EngineError> {
        let (id, seen) = (Uuid::from_bytes(*host.host.as_bytes()), host.seen_ms as i64);
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&id, Type::UUID), (&host.name, Type::BYTEA), (&seen, Type::INT8)];
        match self.execute(schema::PUT_HOST, &parameters)? {
            0 => Err(EngineError::HostOfAnotherUser { engine: self.shown.clone(), host: host.host }),
            _ => Ok(()),
        }
    }

    fn hosts(&mut self) -> Result<Vec<EngineHost>, EngineError> {
        let rows = self.query(schema::HOSTS, &[])?;
        let host = |row: &Row| EngineHost {
            host: host_id(row.get(0)),
            name: row.get(1),
            seen_ms: row.get::<_, i64>(2).unsigned_abs(),
            clock_ahead_ms: row.get(3),
        };
        Ok(rows.iter().map(host).collect())
    }

    fn remove_host(&mut self, host: HostId) -> Result<(), EngineError> {
        let id = Uuid::from_bytes(*host.as_bytes());
        self.execute("DELETE FROM longhaul.hosts WHERE host = $1", &[(&id, Type::UUID)]).map(drop)
    }
}

fn host_id(uuid: Uuid) -> HostId {
    HostId::from_bytes(*uuid.as_bytes())
}

/// How the library begins the message about a failed TLS handshake. It has no other way to recognise one.
const TLS_FAILED: &str = "error performing TLS handshake";

/// How much of a message of the server is shown, in characters.
const MESSAGE: usize = 500;

/// Returns whether a statement failed because a table or the schema does not exist.
fn is_missing_table(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME))
}

/// Returns whether a statement failed because this user may not do it, or because nothing can be written at all.
fn is_refused(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE | &SqlState::READ_ONLY_SQL_TRANSACTION))
}

/// Returns what an error while connecting means. `mode` is the value of `sslmode`.
fn connecting_failed(engine: &str, mode: &'static str, error: &Error) -> EngineError {
    let engine = engine.to_owned();
    if error.to_string().starts_with(TLS_FAILED) {
        return EngineError::Tls { engine, mode, problem: chain(error) };
    }
    match error.code() {
        Some(_) => request_failed(&engine, error),
        // Such as a missing password, which the library finds out.
        None if error.to_string().starts_with("invalid configuration") => {
            let problem = format!("{}: set it in the address, in PGPASSFILE or by a command in sync.url", chain(error));
            EngineError::Login { engine, problem }
        }
        None if error.to_string().starts_with("authentication") => EngineError::Login { engine, problem: chain(error) },
        None => EngineError::Unreachable { engine, problem: chain(error) },
    }
}

fn request_failed(engine: &str, error: &Error) -> EngineError {
    let engine = engine.to_owned();
    let Some(server) = error.as_db_error() else {
        return EngineError::Unreachable { engine, problem: chain(error) };
    };
    let message = server.message().chars().take(MESSAGE);
    let problem: String = message.map(|c| if c.is_control() { ' ' } else { c }).collect();
    match server.code() {
        &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            EngineError::Login { engine, problem }
        }
        &SqlState::INSUFFICIENT_PRIVILEGE => {
            let problem = format!("{problem}; a member of the team needs the role {}", schema::MEMBER);
            EngineError::NoPermission { engine, problem }
        }
        &SqlState::READ_ONLY_SQL_TRANSACTION => EngineError::NoPermission { engine, problem },
        &SqlState::DISK_FULL => EngineError::Full { engine, problem },
        &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW => {
            EngineError::Unreachable { engine, problem }
        }
        _ => EngineError::Other { engine, problem },
    }
}
