mod keys;
mod layouts;
mod rows;

use longhaul_core::Status;

use crate::{RowId, SessionRow};

fn id(session: &str) -> RowId {
    RowId { host: None, session: session.to_owned() }
}

fn row(session: &str, status: Status, changed_at: u64) -> SessionRow {
    SessionRow::new(id(session), status, format!("project-{session}"), changed_at)
}
