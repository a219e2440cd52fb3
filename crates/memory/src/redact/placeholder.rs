//! Values that stand for a secret and are none: `changeme`, `your_token_here`, `xxxx`.

use super::values::Makeup;

/// Values that are placeholders as a whole.
const WORDS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "token",
    "user",
    "username",
    "none",
    "null",
    "true",
    "false",
    "undefined",
    "string",
    "required",
    "optional",
    "default",
    "disabled",
    "enabled",
    "empty",
    "hidden",
    "value",
    "foobar",
    "foo",
    "bar",
    "test",
    "testing",
    "pass123",
    "password1",
    "password123",
    "mypassword",
    "mysecret",
    "mytoken",
    "abc123",
    "123456",
    "12345678",
    "123456789",
];

/// Parts by which a placeholder is recognised.
const PARTS: &[&str] = &[
    "changeme",
    "change-me",
    "change_me",
    "change-this",
    "replace",
    "your_",
    "your-",
    "yourp",
    "yours",
    "example",
    "placeholder",
    "dummy",
    "redacted",
    "xxxx",
    "insert",
    "sample",
    "todo",
    "fixme",
    "****",
    "my_",
    "my-",
    "fake",
    "not-a-",
    "notreal",
    "_here",
    "-here",
];

/// The length up to which a part makes a value a placeholder, in bytes. A longer value with such a part may be real.
const SHORT: usize = 40;

/// Returns whether a value stands for one that the reader fills in, or was taken out already.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    let value = &value[..value.len().min(SHORT + 1)];
    let lower = value.to_ascii_lowercase();
    let lower = String::from_utf8_lossy(&lower);
    let is_repeated = value.iter().all(|byte| *byte == value[0]);
    let makeup = Makeup::of(value);
    let may_be_word = value.len() <= SHORT && makeup.digits < 6 && !(value.len() >= 20 && makeup.looks_random());
    // `<token>`. A password may contain both signs, too, with others between them.
    let is_word = |text: &str| {
        text.len() >= 3 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" _-.".contains(&byte))
    };
    let inside = lower.split_once('<').and_then(|(_, after)| after.split_once('>')).map(|(inside, _)| inside);
    let is_in_brackets = inside.is_some_and(is_word);
    is_repeated
        || WORDS.contains(&&*lower)
        || (may_be_word && (is_in_brackets || PARTS.iter().any(|part| lower.contains(part))))
}

#[cfg(test)]
mod tests {
    use super::is_placeholder;

    #[test]
    fn a_value_that_the_reader_fills_in_is_a_placeholder() {
        let forty = format!("changeme{}", "kv".repeat(16));
        let words =
            ["aaaaaaaa", "password", "PASSWORD", "changeme12345", "my-kzqwvm", "changemeQW4v8mhjKLp", "<kzqwvm4>"];
        for value in words.into_iter().chain([forty.as_str()]) {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        let longer = format!("{forty}k");
        for value in [
            "aaaaaaab",
            "passwordk",
            "changeme123456",
            "changemeQW4v8mhjKLpx",
            "kz<qw4vm",
            "<kzqw4vm",
            ">kz<qw4vm",
            &longer,
        ] {
            assert!(!is_placeholder(value.as_bytes()), "{value}");
        }
    }
}
