//! A hook asks the search process. It does not wait before it needs the answer.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use longhaul_core::{Env, SessionId};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::ProcessFiles;
use super::messages::{Answer, Request, read};
use crate::memory::recalled_text::RecalledText;
use crate::{Home, utc_offset_seconds, waiting_times};

/// A search that another process does.
#[derive(Debug)]
pub(crate) struct PendingSearch(UnixStream);

/// Asks what is recalled for a prompt of `session`; `None` if no process listens.
pub(crate) fn ask(env: &Env, home: &Home, session: &SessionId, text: &str) -> Option<PendingSearch> {
    let mut stream = connected(&ProcessFiles::of(env, home)?.socket()).ok()?;
    let (session, text) = (session.as_str().to_owned(), text.to_owned());
    let request = Request { session, text, utc_offset_seconds: utc_offset_seconds(env.now) };
    stream.write_all(&serde_json::to_vec(&request).ok()?).ok()?;
    stream.shutdown(Shutdown::Write).ok()?;
    Some(PendingSearch(stream))
}

/// Returns whether a search process accepts connections.
pub(crate) fn listens(env: &Env, home: &Home) -> bool {
    ProcessFiles::of(env, home).is_some_and(|own| connected(&own.socket()).is_ok())
}

impl PendingSearch {
    /// Returns the answer; `None` if the process has failed or needs too much time.
    pub(crate) fn answer(self) -> Option<RecalledText> {
        let answer: Answer = serde_json::from_slice(&read(&self.0).ok()?).ok()?;
        answer.into_recalled()
    }
}

/// Connects without waiting. `UnixStream::connect` would wait for a process that is stopped and whose queue is full.
fn connected(path: &Path) -> io::Result<UnixStream> {
    // A process of another user must not get a prompt.
    if std::fs::symlink_metadata(path)?.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let address = SocketAddrUnix::new(path)?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    rustix::io::ioctl_fioclex(&socket)?;
    let stream = UnixStream::from(socket);
    // Before anything is sent: macOS refuses it when both ends have finished.
    stream.set_write_timeout(Some(waiting_times::SEARCH_PROCESS))?;
    stream.set_read_timeout(Some(waiting_times::SEARCH_PROCESS))?;
    stream.set_nonblocking(true)?;
    connect(&stream, &address)?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}
