//! What an embeddings endpoint is sent, and what becomes of texts that it refuses.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

use super::lying_endpoint::{Reply, endpoint_that_reads, vectors, wait_for_log};
use super::served::Served;
use crate::past::Past;
use crate::poll::{DEADLINE, becomes_true, wait_until};
use crate::sandbox::Sandbox;

/// How long nothing happens where nothing may: a few rounds of the worker.
const A_WHILE: Duration = Duration::from_secs(5);

/// All texts that an endpoint was sent.
type Sent = Arc<Mutex<Vec<String>>>;

/// An endpoint on loopback that keeps every text. `refuses` says which texts it answers with a status other than 200.
fn endpoint(refuses: impl Fn(&str) -> Option<u16> + Send + 'static) -> (String, Sent) {
    let sent = Sent::default();
    let kept = Arc::clone(&sent);
    let (address, _) = endpoint_that_reads(move |_, texts| {
        kept.lock().unwrap().extend(texts.iter().cloned());
        Some(match texts.iter().find_map(|text| refuses(text)) {
            Some(status) => Reply::new(status, "input is too large to process"),
            None => Reply::new(200, vectors(texts.len(), 3)),
        })
    });
    (address, sent)
}

fn configure(sandbox: &Sandbox, address: &str, exclude: &[&str]) {
    let embeddings = format!("{address}#tiny");
    let memory = json!({ "embeddings": embeddings, "exclude": exclude });
    sandbox.write_config(&json!({ "worker": { "port": 0 }, "memory": memory }).to_string());
}

fn import(sandbox: &Sandbox) {
    let imported = sandbox.longhaul(&["memory", "import", "--quiet"]);
    assert_eq!((imported.status, imported.stderr.as_str()), (Some(0), ""), "{imported:?}");
}

/// Returns the prompts that have a vector, in order.
fn with_vectors(sandbox: &Sandbox) -> Vec<String> {
    let database = sandbox.database();
    let sql = "SELECT DISTINCT p.prompt FROM vector_slots s JOIN prompts p ON p.id = s.record_id WHERE s.what = 0 AND s.part >= 0
               ORDER BY p.prompt";
    let mut statement = database.prepare(sql).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn problems(sandbox: &Sandbox) -> Vec<Value> {
    let stats = sandbox.longhaul(&["memory", "stats", "--json"]);
    stats.json()["vector_problems"].as_array().unwrap().clone()
}

#[test]
fn texts_of_an_excluded_project_are_not_sent() {
    let sandbox = Sandbox::new();
    let (address, sent) = endpoint(|_| None);
    let private = sandbox.path("private/ledger");
    fs::create_dir_all(&private).unwrap();
    Past::new(&sandbox, "aaaa-1111").prompt("why does the importer stall?").reply("The rates hold the lock.");
    Past::within(&sandbox, "bbbb-2222", &private).prompt("the xylophone ledger").reply("xylophone again");
    // It was not excluded yet.
    configure(&sandbox, &address, &[]);
    import(&sandbox);
    configure(&sandbox, &address, &["*/private/*"]);
    let _served = Served::new(&sandbox);
    wait_until(DEADLINE, "the vectors", || !with_vectors(&sandbox).is_empty());
    assert!(!becomes_true(A_WHILE, || sent.lock().unwrap().iter().any(|text| text.contains("xylophone"))));
    assert_eq!(with_vectors(&sandbox), ["why does the importer stall?"]);
    assert_eq!(sandbox.error_log(), "");
}

#[test]
fn a_refused_text_keeps_no_other_from_its_vector_and_is_not_sent_again() {
    let sandbox = Sandbox::new();
    let (address, sent) = endpoint(|text| text.contains("poison").then_some(500));
    configure(&sandbox, &address, &[]);
    let mut past = Past::new(&sandbox, "aaaa-1111");
    for prompt in ["first", "a poison text", "second", "third"] {
        past.prompt(prompt).reply("Noted.");
    }
    import(&sandbox);
    let _served = Served::new(&sandbox);
    wait_until(DEADLINE, "the other vectors", || with_vectors(&sandbox) == ["first", "second", "third"]);
    wait_for_log(&sandbox, "no vector for 1 text that was refused");
    assert!(sandbox.error_log().contains("answered 500"), "{}", sandbox.error_log());
    let poisoned = || sent.lock().unwrap().iter().filter(|text| text.contains("a poison text\n")).count();
    let before = poisoned();
    assert!((2..=3).contains(&before), "{before}");
    assert!(!becomes_true(A_WHILE, || poisoned() > before), "it is sent again and again");
    assert_eq!(problems(&sandbox), [Value::Null; 0], "a refused text is no failure of the endpoint");
}

#[test]
fn an_endpoint_without_its_model_refuses_no_text_for_good_and_is_reported() {
    let sandbox = Sandbox::new();
    let is_gone = Arc::new(AtomicBool::new(true));
    let gone = Arc::clone(&is_gone);
    let (address, _) = endpoint_that_reads(move |number, texts| {
        // The first request asks for the dimensions.
        Some(match number > 0 && gone.load(Ordering::SeqCst) {
            true => Reply::new(404, "model not found"),
            false => Reply::new(200, vectors(texts.len(), 3)),
        })
    });
    configure(&sandbox, &address, &[]);
    Past::new(&sandbox, "aaaa-1111").prompt("why does the importer stall?").reply("The rates hold the lock.");
    import(&sandbox);
    let _served = Served::new(&sandbox);
    wait_until(DEADLINE, "the problem", || !problems(&sandbox).is_empty());
    let found = problems(&sandbox);
    assert!(found[0].as_str().unwrap().contains("answered 404: model not found"), "{found:?}");
    let upkeep = sandbox.longhaul(&["memory", "upkeep"]);
    assert!(upkeep.stderr.contains("the embeddings endpoint fails: "), "{upkeep:?}");
    let stats = sandbox.longhaul(&["memory", "stats"]);
    assert!(stats.stdout.contains("the embeddings endpoint fails: "), "{stats:?}");
    assert_eq!(with_vectors(&sandbox), [""; 0]);
    is_gone.store(false, Ordering::SeqCst);
    wait_until(DEADLINE, "the vectors", || with_vectors(&sandbox) == ["why does the importer stall?"]);
    wait_until(DEADLINE, "no problem", || problems(&sandbox).is_empty());
}

#[test]
fn texts_do_not_follow_a_redirection() {
    let sandbox = Sandbox::new();
    let (elsewhere, sent) = endpoint(|_| None);
    let (address, _) = endpoint_that_reads(move |_, _| {
        Some(Reply { headers: format!("Location: {elsewhere}/v1/embeddings\r\n"), ..Reply::new(307, "") })
    });
    configure(&sandbox, &address, &[]);
    Past::new(&sandbox, "aaaa-1111").prompt("why does the importer stall?").reply("The rates hold the lock.");
    import(&sandbox);
    let _served = Served::new(&sandbox);
    wait_for_log(&sandbox, "answered 307");
    assert_eq!(*sent.lock().unwrap(), [""; 0]);
}

#[test]
fn a_prompt_that_is_forgotten_while_the_endpoint_computes_gets_no_vector() {
    let sandbox = Sandbox::new();
    let (release, held) = mpsc::channel::<()>();
    let (address, requests) = endpoint_that_reads(move |number, texts| {
        // The first request asks for the dimensions.
        if number == 1 {
            let _ = held.recv();
        }
        Some(Reply::new(200, vectors(texts.len(), 3)))
    });
    configure(&sandbox, &address, &[]);
    Past::new(&sandbox, "aaaa-1111").prompt("forget me").reply("Noted.").prompt("keep me").reply("Noted.");
    import(&sandbox);
    let _served = Served::new(&sandbox);
    wait_until(DEADLINE, "the texts", || requests.load(Ordering::SeqCst) > 1);
    let forgotten = sandbox.longhaul(&["memory", "forget", "P1", "--yes"]);
    assert_eq!(forgotten.status, Some(0), "{forgotten:?}");
    release.send(()).unwrap();
    wait_until(DEADLINE, "the vector", || with_vectors(&sandbox) == ["keep me"]);
    let database = sandbox.database();
    let sql = "SELECT count(slot) FROM vector_slots WHERE what = 0 AND record_id = 1";
    assert_eq!(database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}
