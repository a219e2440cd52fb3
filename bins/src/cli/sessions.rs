//! Finds a session by the beginning of its id.

use anyhow::{Context, Result, bail};

/// Returns the session of `known` with the id `prefix`, or else the only one whose id begins with it.
pub(crate) fn only_one<T>(prefix: &str, known: Vec<T>, id: impl Fn(&T) -> &str) -> Result<T> {
    let mut found: Vec<T> = known.into_iter().filter(|session| id(session).starts_with(prefix)).collect();
    if let Some(exact) = found.iter().position(|session| id(session) == prefix) {
        return Ok(found.swap_remove(exact));
    }
    if found.len() > 1 {
        let ids: Vec<&str> = found.iter().map(id).collect();
        bail!("several sessions have an id that begins with {prefix:?}: {}", ids.join(", "));
    }
    found.pop().with_context(|| format!("no session has an id that begins with {prefix:?}"))
}

#[cfg(test)]
mod tests {
    use super::only_one;

    #[track_caller]
    fn check(prefix: &str, expected: Result<&str, &str>) {
        let found = only_one(prefix, vec!["ab", "abc", "b", "abd"], |id| id);
        assert_eq!(found.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{prefix}");
    }

    #[test]
    fn one_is_named_by_its_beginning_or_as_a_whole() {
        check("b", Ok("b"));
        check("abc", Ok("abc"));
        check("ab", Ok("ab"));
        check("a", Err("several sessions have an id that begins with \"a\": ab, abc, abd"));
        check("x", Err("no session has an id that begins with \"x\""));
    }
}
