//! Asks an endpoint for the vectors of many texts, and goes on if it refuses one of them.

use longhaul_embedding::Vector;

use super::endpoint::EmbedError;

/// A text that every endpoint accepts.
const PROBE: &str = "dimensions";

/// The vectors that an endpoint has computed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Computed {
    /// The vectors of the first texts, in order; `None` for a text that has none.
    pub(super) vectors: Vec<Option<Vector>>,
    /// How many of these texts were refused, and what the endpoint said about the last one.
    pub(super) refused: usize,
    pub(super) refusal: String,
    /// Why the vectors of the other texts are missing.
    pub(super) failure: Option<String>,
}

/// Computes the vectors of texts, `batch` of them in a request. `embed` sends a request.
///
/// A refused batch is sent again, text by text. A text that is refused alone has no vector. An endpoint that accepts no text
/// at all, such as one whose model was removed, has failed: that is not due to the texts.
pub(super) fn embed_all(
    texts: &[String],
    batch: usize,
    mut embed: impl FnMut(&[String]) -> Result<Vec<Option<Vector>>, EmbedError>,
) -> Computed {
    let mut computed = Computed::default();
    for texts in texts.chunks(batch.max(1)) {
        let asked = match embed(texts) {
            Err(EmbedError::Refused(_)) => one_by_one(texts, &mut computed, &mut embed),
            asked => asked,
        };
        match asked {
            Ok(vectors) => computed.vectors.extend(vectors),
            Err(error) => {
                computed.failure = Some(error.to_string());
                break;
            }
        }
    }
    computed
}

fn one_by_one(
    texts: &[String],
    computed: &mut Computed,
    embed: &mut impl FnMut(&[String]) -> Result<Vec<Option<Vector>>, EmbedError>,
) -> Result<Vec<Option<Vector>>, EmbedError> {
    let mut vectors = Vec::with_capacity(texts.len());
    let mut refusals = Vec::new();
    for text in texts {
        match embed(std::slice::from_ref(text)) {
            Ok(one) => vectors.push(one.into_iter().next().flatten()),
            Err(EmbedError::Refused(reason)) => {
                vectors.push(None);
                refusals.push(reason);
            }
            Err(failed) => return Err(failed),
        }
    }
    if vectors.iter().all(Option::is_none) && !is_accepted(PROBE, embed)? {
        let reason = refusals.pop().unwrap_or_else(|| "the endpoint gave no vector".to_owned());
        return Err(EmbedError::Failed(reason));
    }
    computed.refused += refusals.len();
    if let Some(reason) = refusals.pop() {
        computed.refusal = reason;
    }
    Ok(vectors)
}

fn is_accepted(
    text: &str,
    embed: &mut impl FnMut(&[String]) -> Result<Vec<Option<Vector>>, EmbedError>,
) -> Result<bool, EmbedError> {
    match embed(&[text.to_owned()]) {
        Ok(vectors) => Ok(vectors.iter().any(Option::is_some)),
        Err(EmbedError::Refused(_)) => Ok(false),
        Err(failed) => Err(failed),
    }
}

#[cfg(test)]
mod tests {
    use longhaul_embedding::Vector;

    use super::super::endpoint::EmbedError;
    use super::{Computed, PROBE, embed_all};

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

    fn is_short(text: &str) -> bool {
        !text.contains("long")
    }

    #[test]
    fn a_refused_text_has_no_vector_and_the_others_have_theirs() {
        let (computed, requests) = ask(&["a", "long", "b", "c", "d"], 3, is_short);
        assert_eq!(has(&computed), [true, false, true, true, true]);
        assert_eq!((computed.refused, computed.refusal.as_str(), computed.failure), (1, "too long", None));
        assert_eq!(requests, [3, 1, 1, 1, 2]);
    }

    #[test]
    fn a_batch_of_refused_texts_is_refused_where_the_endpoint_accepts_another() {
        let (computed, requests) = ask(&["long 1", "long 2", "a"], 2, is_short);
        assert_eq!(has(&computed), [false, false, true]);
        assert_eq!((computed.refused, computed.failure), (2, None));
        assert_eq!(requests, [2, 1, 1, 1, 1], "after two refusals a text that is accepted");
    }

    #[test]
    fn an_endpoint_that_accepts_nothing_has_failed() {
        for accepts in [|_: &str| false, |text: &str| text == "nothing of this"] {
            let (computed, _) = ask(&["a", "b", "c"], 2, accepts);
            assert_eq!(has(&computed), [false; 0]);
            assert_eq!(computed.failure.as_deref(), Some("too long"));
        }
        let (computed, _) = ask(&["a", "long"], 1, |text| text == "a");
        assert_eq!((has(&computed), computed.failure.as_deref()), (vec![true], Some("too long")), "{PROBE} is refused");
    }

    #[test]
    fn what_was_computed_before_a_failure_is_kept() {
        let (computed, requests) = ask(&["a", "b", "crash", "c"], 2, is_short);
        assert_eq!((has(&computed), computed.failure.as_deref()), (vec![true, true], Some("gone")));
        assert_eq!(requests, [2, 2], "a failure is not tried text by text");
    }
}
