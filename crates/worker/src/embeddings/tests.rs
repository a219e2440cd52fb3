use longhaul_memory::embedding::Vector;

use super::{Computed, EmbedError, PROBE, embed_all, host_of, is_refusal, read};

/// Asks an endpoint that refuses texts with `long` in them, and breaks at `crash`. Returns the sizes of the requests too.
fn ask(texts: &[&str], batch: usize, accepts: impl Fn(&str) -> bool) -> (Computed, Vec<usize>) {
    let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let mut requests = Vec::new();
    let computed = embed_all(&texts, batch, |texts| {
        requests.push(texts.len());
        if texts.iter().any(|text| text.contains("crash")) {
            return Err(EmbedError::Failed("gone".to_owned()));
        }
        if !texts.iter().all(|text| accepts(text)) {
            return Err(EmbedError::Refused("too long".to_owned()));
        }
        Ok(texts.iter().map(|_| Vector::new(&[1.0, 0.0])).collect())
    });
    (computed, requests)
}

fn has(computed: &Computed) -> Vec<bool> {
    computed.vectors.iter().map(Option::is_some).collect()
}

fn failure(computed: &Computed) -> Option<String> {
    computed.failure.as_ref().map(ToString::to_string)
}

fn is_short(text: &str) -> bool {
    !text.contains("long")
}

#[test]
fn a_refused_text_has_no_vector_and_the_others_have_theirs() {
    let (computed, requests) = ask(&["a", "long", "b", "c", "d"], 3, is_short);
    assert_eq!(has(&computed), [true, false, true, true, true]);
    assert_eq!((computed.refusals.as_slice(), computed.failure), (&["too long".to_owned()][..], None));
    assert_eq!(requests, [3, 1, 1, 1, 2]);
}

#[test]
fn a_batch_of_refused_texts_is_refused_where_the_endpoint_accepts_another() {
    let (computed, requests) = ask(&["long 1", "long 2", "a"], 2, is_short);
    assert_eq!(has(&computed), [false, false, true]);
    assert_eq!((computed.refusals.len(), computed.failure), (2, None));
    assert_eq!(requests, [2, 1, 1, 1, 1], "after two refusals a text that is accepted");
}

#[test]
fn an_endpoint_that_accepts_nothing_has_failed() {
    for accepts in [|_: &str| false, |text: &str| text == "nothing of this"] {
        let (computed, _) = ask(&["a", "b", "c"], 2, accepts);
        assert_eq!(has(&computed), [false; 0]);
        assert_eq!(failure(&computed), Some("too long".to_owned()));
    }
    let (computed, _) = ask(&["a", "long"], 1, |text| text == "a");
    assert_eq!((has(&computed), failure(&computed)), (vec![true], Some("too long".to_owned())), "{PROBE} is refused");
}

#[test]
fn what_was_computed_before_a_failure_is_kept() {
    let (computed, requests) = ask(&["a", "b", "crash", "c"], 2, is_short);
    assert_eq!((has(&computed), failure(&computed)), (vec![true, true], Some("gone".to_owned())));
    assert_eq!(requests, [2, 2], "a failure is not tried text by text");
}

#[test]
fn messages_name_the_host_and_nothing_else_of_the_address() {
    for (url, host) in [
        ("http://127.0.0.1:11434/v1/embeddings", "127.0.0.1:11434"),
        ("https://ann:secret@example.org/v1/embeddings?key=secret", "example.org"),
        ("https://ann:se@cret@example.org:8443", "example.org:8443"),
        ("http://[::1]:80/x", "[::1]:80"),
        ("example.org/secret", "example.org"),
        ("", ""),
    ] {
        assert_eq!(host_of(url), host, "{url}");
    }
}

#[test]
fn vectors_are_put_in_the_order_of_the_texts() {
    let reply = r#"{"data":[{"index":1,"embedding":[0.0,2.0]},{"index":0,"embedding":[3.0,0]}]}"#;
    let vectors = read(reply, 2).unwrap();
    let first: Vec<u8> = vectors[0].as_ref().unwrap().to_bytes();
    assert_eq!(first, [127, 0]);
    assert_eq!(vectors[1].as_ref().unwrap().to_bytes(), [0, 127]);
}

#[test]
fn a_vector_that_is_not_finite_is_none_and_the_others_are_read() {
    for numbers in ["null, 1", "1e999, 1", "0, 0"] {
        let reply = format!(r#"{{"data":[{{"embedding":[{numbers}]}},{{"embedding":[0.0,2.0]}}]}}"#);
        let Some(vectors) = read(&reply, 2) else {
            assert_eq!(numbers, "1e999, 1", "JSON has no such number");
            continue;
        };
        assert!(vectors[0].is_none() && vectors[1].is_some(), "{numbers}");
    }
}

#[test]
fn a_status_is_a_refusal_where_a_text_may_be_the_cause() {
    let refusals: Vec<u16> = (200..600).filter(|status| is_refusal(*status)).collect();
    for status in [400, 404, 413, 422, 500] {
        assert!(refusals.contains(&status), "{status}");
    }
    for status in [301, 401, 403, 408, 429, 502, 503, 504] {
        assert!(!refusals.contains(&status), "{status}");
    }
}

#[test]
fn a_reply_that_does_not_fit_is_refused() {
    for reply in [
        "",
        "{}",
        r#"{"data":[]}"#,
        r#"{"data":[{"embedding":[1]}]}"#,
        r#"{"data":[{"embedding":[1]},{"embedding":"base64"}]}"#,
        r#"{"data":[{"embedding":[1]},{"embedding":[]}]}"#,
        r#"{"data":[{"index":7,"embedding":[1]},{"embedding":[1]}]}"#,
    ] {
        assert_eq!(read(reply, 2), None, "{reply}");
    }
}
