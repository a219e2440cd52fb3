//! `cargo xtask bench --worker`: the time until the worker answers, and its memory use.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use xtask::run;
use xtask::workspace::{Profile, Workspace};

use super::large::{Library, Words};
use super::report::{Line, Sample, plain_table};
use crate::stage::{check_interrupts, until, watch_interrupts};

const OBSERVATIONS: usize = 100_000;
const REQUESTS: usize = 10_000;
const PAGES: usize = 100;
const STARTS: usize = 20;

/// Limits: the time to the first byte, and the resident memory.
const START_MS: f64 = 100.0;
const RESIDENT_KB: u64 = 20 * 1024;

/// Every request that the viewer makes.
const PATHS: [&str; 8] = [
    "/api/search?q=parse+conf",
    "/api/search?q=zzz&type=observations",
    "/api/observations?limit=20",
    "/api/sessions?limit=20",
    "/api/stats",
    "/api/timeline?id=50000",
    "/api/agents",
    "/api/health",
];

/// Builds the worker as it is shipped, and measures it with an empty and a full database, while it calls a model.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    ensure!(cfg!(target_os = "linux"), "resident memory is read from /proc, which only Linux has");
    watch_interrupts()?;
    let bin = workspace.build_to_ship(Profile::Release, None)?;
    let program = bin.join("longhaul");
    let homes = tempfile::Builder::new().prefix("longhaul-bench-").tempdir()?;
    let model = Model::start()?;
    let empty = starts("start to first byte, nothing stored yet", |n| {
        Worker::start(&program, &homes.path().join(format!("empty-{n}")), &model)
    })?;
    let home = homes.path().join("full");
    fs::create_dir(&home)?;
    writeln!(io::stderr(), "filling a database with {OBSERVATIONS} observations")?;
    let mut store = longhaul_store::Store::open(&home.join("longhaul.db"), Duration::from_secs(5))?;
    Library::fill(&mut store, &Words::new(), OBSERVATIONS)?;
    drop(store);
    let full = starts("start to first byte, 100,000 observations", |_| Worker::start(&program, &home, &model))?;

    let worker = Worker::start(&program, &home, &model)?.0;
    let begun = worker.resident()?;
    worker.ask_around(REQUESTS / 10)?;
    let early = worker.resident()?;
    worker.ask_around(REQUESTS)?;
    let late = worker.resident()?;
    let mut pages = (0..PAGES).map(|_| Page::open(worker.port, &worker.token)).collect::<Result<Vec<_>>>()?;
    pages.iter_mut().try_for_each(Page::greeted)?;
    worker.ask_around(REQUESTS / 10)?;
    let with_pages = worker.resident()?;
    let most = worker.status("VmHWM:")?;
    let asked = model.requests.load(Ordering::Relaxed);
    ensure!(asked > 0, "the model was never called, so the figures mean nothing");
    let resident = [
        ("resident at the start", begun),
        ("resident after 1,000 requests", early),
        ("resident after 11,000 requests", late),
        ("resident with 100 pages open", with_pages),
        ("peak resident memory", most),
    ];
    let mut lines = [&empty, &full].map(|start| Line::p95(start, START_MS)).to_vec();
    lines.extend(resident.map(|(name, kb)| {
        Line::number(name, format!("{kb} kB")).within(format!("≤ {RESIDENT_KB} kB"), kb <= RESIDENT_KB)
    }));
    writeln!(io::stdout(), "{}the model was called {asked} times meanwhile", plain_table(&lines))?;
    Ok(())
}

/// A worker in a home of its own; killed when dropped.
struct Worker {
    child: Child,
    port: u16,
    token: String,
}

impl Worker {
    /// Starts a worker; returns it with the time until it answered.
    fn start(program: &Path, home: &Path, model: &Model) -> Result<(Self, Duration)> {
        fs::create_dir_all(home)?;
        let _ = fs::remove_file(home.join("worker.json"));
        let settings = json!({ "via": "api", "daily_token_budget": 1_000_000_000 });
        let config = json!({ "worker": { "port": 0 }, "memory": { "model": settings } });
        fs::write(home.join("config.json"), config.to_string())?;
        let mut command = run::program(program);
        command.args(["worker", "run"]).env("HOME", home).env("LONGHAUL_HOME", home);
        command.env("ANTHROPIC_API_KEY", "none").env("ANTHROPIC_BASE_URL", model.url());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let began = Instant::now();
        let child = command.spawn().context("cannot start the worker")?;
        let mut worker = Self { child, port: 0, token: String::new() };
        let end = began + Duration::from_secs(10);
        // A short interval, because this is the measurement; `until` polls only every few milliseconds.
        while worker.port == 0 {
            ensure!(Instant::now() < end, "the worker does not start within 10 seconds");
            let file = fs::read(home.join("worker.json")).unwrap_or_default();
            let file: Value = serde_json::from_slice(&file).unwrap_or_default();
            worker.port = file["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or_default();
            worker.token = file["token"].as_str().unwrap_or_default().to_owned();
            std::thread::sleep(Duration::from_micros(200));
        }
        ensure!(
            ask(worker.port, &worker.token, "/api/health")? == 200,
            "the worker does not report that it is healthy"
        );
        Ok((worker, began.elapsed()))
    }

    /// Sends `requests` requests, all paths in turn.
    fn ask_around(&self, requests: usize) -> Result<()> {
        for path in PATHS.iter().cycle().take(requests) {
            check_interrupts()?;
            until("an answer", Duration::from_secs(10), || match ask(self.port, &self.token, path)? {
                200 => Ok(Some(())),
                429 => Ok(None),
                status => bail!("{path}: {status}"),
            })?;
        }
        Ok(())
    }

    fn resident(&self) -> Result<u64> {
        self.status("VmRSS:")
    }

    fn status(&self, name: &str) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line =
            status.lines().find(|line| line.starts_with(name)).with_context(|| format!("/proc has no {name}"))?;
        Ok(line.split_whitespace().nth(1).with_context(|| format!("{name} has no number"))?.parse()?)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn starts(name: &'static str, mut start: impl FnMut(usize) -> Result<(Worker, Duration)>) -> Result<Sample> {
    let mut times = Vec::new();
    for n in 0..=STARTS {
        check_interrupts()?;
        let (worker, took) = start(n)?;
        drop(worker);
        // The first start reads the executable from disk.
        if n > 0 {
            times.push(took);
        }
    }
    Ok(Sample::new(name, times))
}

/// Requests a path and reads the whole answer; returns its status.
fn ask(port: u16, token: &str, path: &str) -> Result<u16> {
    let mut stream = say(port, token, path, "Connection: close\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let head = answer.get(9..12).context("the worker sent no answer")?;
    Ok(std::str::from_utf8(head)?.parse()?)
}

fn say(port: u16, token: &str, path: &str, more: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n{more}\r\n");
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

/// An open event stream, as the viewer has one.
struct Page {
    lines: BufReader<TcpStream>,
}

impl Page {
    fn open(port: u16, token: &str) -> Result<Self> {
        Ok(Self { lines: BufReader::new(say(port, token, "/stream", "")?) })
    }

    /// Waits for the first event.
    fn greeted(&mut self) -> Result<()> {
        let mut line = String::new();
        while self.lines.read_line(&mut line)? > 0 {
            if line.starts_with("event: hello") {
                return Ok(());
            }
            line.clear();
        }
        bail!("the worker refused an event stream")
    }
}

/// The server; its threads end with the process.
struct Model {
    port: u16,
    requests: Arc<AtomicUsize>,
}

impl Model {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let model = Self { port: listener.local_addr()?.port(), requests: Arc::default() };
        let requests = Arc::clone(&model.requests);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A broken connection comes from a worker that was killed; it does not count.
                if answer(stream).is_ok() {
                    requests.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        Ok(model)
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut line, mut length) = (String::new(), 0);
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap_or_default();
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    let words = json!({
        "request": "Something was wanted", "investigated": "", "learned": "", "completed": "It was done",
        "next_steps": "", "observations": [],
    });
    let reply = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "content": [{ "type": "tool_use", "id": "toolu_1", "name": "write_memory", "input": words }],
        "usage": { "input_tokens": 900, "output_tokens": 100 },
    })
    .to_string();
    // The response time of a fast model.
    thread::sleep(std::time::Duration::from_millis(100));
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n", reply.len());
    (&stream).write_all(format!("{head}Connection: close\r\n\r\n{reply}").as_bytes())
}
