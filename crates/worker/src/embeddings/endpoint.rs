//! An endpoint that answers like OpenAI's `/v1/embeddings`.

use std::time::Duration;

use longhaul_core::{Config, may_receive_secret};
use longhaul_embedding::Vector;
use longhaul_runtime::ModelAccess;
use longhaul_runtime::memory::meaning::endpoint_model;
use serde_json::{Value, json};

/// The most dimensions of a vector.
const MAX_DIMS: usize = 4_096;

/// The bytes that a number of a vector may take in a reply.
const NUMBER_BYTES: usize = 32;

/// The bytes that a reply may have besides its numbers, and those that no reply may exceed.
const OTHER_BYTES: usize = 64 * 1024;
const MAX_REPLY: usize = 64 * 1024 * 1024;

/// Why an endpoint has computed no vectors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EmbedError {
    /// It does not accept the request. The cause may be one of the texts, such as one that is too long for its model.
    #[error("{0}")]
    Refused(String),
    /// It could not be called, or its answer cannot be used. The cause is not one of the texts.
    #[error("{0}")]
    Failed(String),
}

/// Where texts are sent, and which model answers.
pub(crate) struct Endpoint {
    url: String,
    model: String,
    name: String,
    key: Option<String>,
    limit: Duration,
}

impl Endpoint {
    /// Returns the endpoint that the user has set; `None` where there is none.
    pub(crate) fn of(config: &Config) -> Option<Self> {
        let embeddings = &config.memory.embeddings;
        let base = embeddings.endpoint.get()?.trim_end_matches('/');
        let model = embeddings.model.get()?;
        if !config.memory.enabled || !embeddings.enabled {
            return None;
        }
        let url = if base.ends_with("/embeddings") {
            base.to_owned()
        } else if base.ends_with("/v1") {
            format!("{base}/embeddings")
        } else {
            format!("{base}/v1/embeddings")
        };
        let limit_ms = embeddings.timeout_seconds.as_millis().clamp(1_000, 3_600_000);
        Some(Self {
            // A key goes over TLS, or to this machine, and nowhere else.
            key: ModelAccess::read().embeddings_key.filter(|_| may_receive_secret(&url)),
            url,
            model: model.to_owned(),
            name: endpoint_model(model),
            limit: Duration::from_millis(limit_ms),
        })
    }

    /// Returns the same endpoint, asked for at most `limit`.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self { limit: self.limit.min(limit), ..self }
    }

    /// Returns the host and port that texts are sent to, for messages.
    ///
    /// The rest of the address may hold a user name, a password or a key, and messages are written to the log.
    pub(crate) fn host(&self) -> &str {
        host_of(&self.url)
    }

    /// Returns the name under which its vectors are stored.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Asks how many dimensions its vectors have.
    pub(crate) fn dims(&self) -> Result<usize, EmbedError> {
        let vector = self.embed(&["dimensions".to_owned()])?.into_iter().next().flatten();
        vector.map(|vector| vector.dims()).ok_or_else(|| EmbedError::Failed(format!("{} gave no vector", self.host())))
    }

    /// Computes the vectors of texts, in one request; `None` for a text that has none.
    pub(crate) fn embed(&self, texts: &[String]) -> Result<Vec<Option<Vector>>, EmbedError> {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(self.limit))
            .http_status_as_error(false)
            // The texts are for this endpoint, wherever it would lead.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .build()
            .into();
        let mut request = agent.post(&self.url).header("content-type", "application/json");
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        // Some servers refuse an empty text.
        let input: Vec<&str> = texts.iter().map(|text| if text.is_empty() { " " } else { text }).collect();
        let body = json!({ "model": self.model, "input": input, "encoding_format": "float" }).to_string();
        let mut response = request.send(body).map_err(|error| self.failed("cannot ask", &error))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(longest_reply(texts.len())).read_to_string();
        let text = text.map_err(|error| self.failed("no whole reply from", &error))?;
        if status != 200 {
            let said: String = text.chars().filter(|c| !c.is_control()).take(300).collect();
            let said = format!("{} answered {status}: {said}", self.host());
            return Err(if is_refusal(status) { EmbedError::Refused(said) } else { EmbedError::Failed(said) });
        }
        read(&text, texts.len()).ok_or_else(|| {
            let (host, count) = (self.host(), texts.len());
            EmbedError::Failed(format!("{host} did not answer with {count} vectors: is it an embeddings endpoint?"))
        })
    }

    /// Describes an error of the HTTP client, which may quote the address.
    fn failed(&self, what: &str, error: &ureq::Error) -> EmbedError {
        EmbedError::Failed(format!("{what} {}: {}", self.host(), error.to_string().replace(&self.url, self.host())))
    }
}

/// Returns whether an answer with this status may be due to the texts.
///
/// The key, the time and the number of requests have nothing to do with them. llama.cpp answers 500 for a text that is too
/// long.
fn is_refusal(status: u16) -> bool {
    status == 500 || (400..500).contains(&status) && !matches!(status, 401 | 403 | 408 | 429)
}

/// Returns the host and port of an address, without user name, password, path and query.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

/// Returns how long the reply to so many texts may be: a parsed number takes many times the memory of its digits.
fn longest_reply(texts: usize) -> u64 {
    let numbers = texts.saturating_mul(MAX_DIMS * NUMBER_BYTES);
    numbers.saturating_add(OTHER_BYTES).min(MAX_REPLY) as u64
}

/// Reads the vectors of a reply, in the order of the texts; `None` where there are not as many.
fn read(reply: &str, count: usize) -> Option<Vec<Option<Vector>>> {
    let reply: Value = serde_json::from_str(reply).ok()?;
    let data = reply.get("data")?.as_array()?;
    let mut vectors: Vec<Option<Option<Vector>>> = vec![None; count];
    for (place, one) in data.iter().enumerate() {
        let index = one.get("index").and_then(Value::as_u64).map_or(place, |index| index as usize);
        let values = one.get("embedding")?.as_array()?;
        if values.is_empty() || values.len() > MAX_DIMS {
            return None;
        }
        // A server writes `null` for a number that is not finite. Such a text has no vector.
        let number =
            |value: &Value| if value.is_null() { Some(f32::NAN) } else { value.as_f64().map(|value| value as f32) };
        let values: Option<Vec<f32>> = values.iter().map(number).collect();
        *vectors.get_mut(index)? = Some(Vector::new(&values?));
    }
    vectors.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::{host_of, is_refusal, read};

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
}
