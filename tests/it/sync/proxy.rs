//! A proxy between a machine and PostgreSQL's socket, which delays or cuts the connection.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

/// What the proxy does with a connection.
#[derive(Clone, Copy)]
pub(super) enum Trouble {
    /// It passes everything on.
    None,
    /// It waits before it passes on each answer.
    Delay(Duration),
    /// It ends the connection after so many bytes in both directions together.
    CutAfter(usize),
}

/// A proxy. It ends with the test.
pub(super) struct Proxy {
    dir: TempDir,
    trouble: Arc<Mutex<Trouble>>,
}

impl Proxy {
    /// Starts a proxy to a socket.
    pub(super) fn start(to: &Path) -> Self {
        let dir = tempfile::Builder::new().prefix("lh-px-").tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(".s.PGSQL.5432")).unwrap();
        let trouble = Arc::new(Mutex::new(Trouble::None));
        let (to, shared) = (to.to_owned(), Arc::clone(&trouble));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (to, trouble) = (to.clone(), *shared.lock().unwrap());
                thread::spawn(move || drop(pass_on(&client, &to, trouble)));
            }
        });
        Self { dir, trouble }
    }

    /// Returns the folder of its socket.
    pub(super) fn dir(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Sets what it does with connections from now on.
    pub(super) fn set(&self, trouble: Trouble) {
        *self.trouble.lock().unwrap() = trouble;
    }
}

fn pass_on(client: &UnixStream, to: &Path, trouble: Trouble) -> io::Result<()> {
    let server = UnixStream::connect(to)?;
    let left = Arc::new(Mutex::new(match trouble {
        Trouble::CutAfter(bytes) => bytes,
        Trouble::None | Trouble::Delay(_) => usize::MAX,
    }));
    let delay = match trouble {
        Trouble::Delay(delay) => delay,
        Trouble::None | Trouble::CutAfter(_) => Duration::ZERO,
    };
    let (from, into, shared) = (client.try_clone()?, server.try_clone()?, Arc::clone(&left));
    thread::spawn(move || drop(copy(&from, &into, &shared, Duration::ZERO)));
    copy(&server, client, &left, delay)
}

/// Copies one direction until its end, or until the bytes of the connection are used up.
fn copy(mut from: &UnixStream, mut to: &UnixStream, left: &Mutex<usize>, delay: Duration) -> io::Result<()> {
    let mut buffer = [0; 4096];
    loop {
        let read = from.read(&mut buffer)?;
        thread::sleep(delay);
        let passed = {
            let mut left = left.lock().unwrap();
            let passed = read.min(*left);
            *left -= passed;
            passed
        };
        to.write_all(&buffer[..passed])?;
        if passed < read || read == 0 {
            let _ = from.shutdown(Shutdown::Both);
            return to.shutdown(Shutdown::Both);
        }
    }
}
