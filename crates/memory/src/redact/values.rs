//! Whether what is assigned to a secret's name is a value, and not a variable, a type or a word of documentation.

use super::placeholder::is_placeholder;

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assigned {
    /// Chosen by a person, so it may be short.
    Password,
    /// Chosen by a person or made by a program.
    Secret,
    /// Made by a program, so it is long.
    Key,
    /// The credentials of an `Authorization` header.
    Header,
    /// The signature of a signed address.
    Signature,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    /// `NAME=value`, as in an environment file.
    Environment,
    /// In quotes.
    Quoted,
    /// In neither: it may as well be a name of a program's variable or type.
    Bare,
}

/// What a value is made of.
pub(super) struct Makeup {
    length: usize,
    pub(super) digits: usize,
    lower: usize,
    upper: usize,
    /// Signs that people add to passwords.
    signs: usize,
}

impl Makeup {
    pub(super) fn of(value: &[u8]) -> Self {
        let mut makeup = Self { length: value.len(), digits: 0, lower: 0, upper: 0, signs: 0 };
        for byte in value {
            match byte {
                b'0'..=b'9' => makeup.digits += 1,
                b'a'..=b'z' => makeup.lower += 1,
                b'A'..=b'Z' => makeup.upper += 1,
                b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'~' | b'+' => makeup.signs += 1,
                _ => {}
            }
        }
        makeup
    }

    fn letters(&self) -> usize {
        self.lower + self.upper
    }

    fn is_mixed(&self) -> bool {
        self.digits > 0 && self.letters() > 0
    }

    /// Letters and digits alternate too much for a word with a number.
    pub(super) fn looks_random(&self) -> bool {
        let has_both_cases = self.lower >= 2 && self.upper >= 2;
        (self.is_mixed() && self.digits >= 4)
            || (self.digits >= 2 && has_both_cases)
            || (self.digits >= 1 && has_both_cases && self.length >= 20)
            || (self.length == 40 && self.lower >= 8 && self.upper >= 8)
    }
}

/// Returns whether a value that is assigned to a secret's name is a secret.
pub(crate) fn looks_secret(value: &[u8], assigned: Assigned, writing: Writing) -> bool {
    let makeup = Makeup::of(value);
    makeup.length >= 6
        && is_strong(&makeup, assigned, writing)
        && !is_expression(value, writing, &makeup)
        && !is_placeholder(value)
}

/// Returns whether a value of this makeup may be a secret.
fn is_strong(makeup: &Makeup, assigned: Assigned, writing: Writing) -> bool {
    match (assigned, writing) {
        (Assigned::Header, _) => {
            let is_encoded = makeup.length >= 8 && makeup.lower > 0 && makeup.upper > 0;
            is_encoded || (makeup.length >= 12 && makeup.is_mixed())
        }
        (Assigned::Signature, _) => makeup.length >= 32 && makeup.looks_random(),
        (Assigned::Password | Assigned::Secret, Writing::Environment) => makeup.lower > 0 || makeup.is_mixed(),
        (Assigned::Key, Writing::Environment) => {
            (makeup.length >= 8 && makeup.is_mixed()) || (makeup.length >= 16 && makeup.lower > 0)
        }
        (Assigned::Password, Writing::Quoted) => {
            makeup.is_mixed()
                || (makeup.length >= 8 && makeup.letters() > 0 && makeup.signs > 0)
                || (makeup.length >= 12 && makeup.lower > 0)
        }
        (Assigned::Secret, Writing::Quoted) => makeup.length >= 8 && makeup.is_mixed(),
        (Assigned::Key, Writing::Quoted) => makeup.length >= 10 && makeup.looks_random(),
        (Assigned::Password, Writing::Bare) => {
            (makeup.is_mixed() && makeup.length >= 8) || (makeup.is_mixed() && makeup.signs > 0)
        }
        (Assigned::Secret | Assigned::Key, Writing::Bare) => makeup.length >= 12 && makeup.looks_random(),
    }
}

/// Returns whether a value is a variable, a call, a path or a template, which holds no secret itself.
fn is_expression(value: &[u8], writing: Writing, makeup: &Makeup) -> bool {
    let has = |part: &[u8]| value.windows(part.len()).any(|window| window == part);
    let first = value[0];
    let is_template = begins_expression(value, writing, makeup)
        || (first == b'%' && value.ends_with(b"%"))
        || has(b"${")
        || has(b"{{")
        || has(b"$(")
        || has(b"...")
        || has("…".as_bytes());
    let is_path = matches!(first, b'/' | b'~' | b'.') && !(makeup.length >= 32 && makeup.looks_random() && !has(b"."))
        || has(b"://");
    // `self.token2`, `Token::Eof4`, `user->pass1`
    let is_member = writing != Writing::Quoted
        && makeup.length < 40
        && (has(b"::") || has(b"->") || has(b"()") || (has(b".") && makeup.digits < 4 && makeup.signs == 0));
    is_template || is_path || is_member
}

/// Returns whether the first sign of a value makes it an expression.
///
/// In an environment file a password may begin with any sign.
fn begins_expression(value: &[u8], writing: Writing, makeup: &Makeup) -> bool {
    let may_be_password = writing == Writing::Environment && makeup.is_mixed();
    let is_name = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    match value[0] {
        b'!' => !makeup.is_mixed(),
        b'$' => !may_be_password || is_name(&value[1..]),
        b'<' => !may_be_password || value.contains(&b'>'),
        b'[' => !may_be_password || value.contains(&b']'),
        b'{' => !may_be_password || value.contains(&b'}'),
        b'(' => !may_be_password || value.contains(&b')'),
        b'*' | b'&' | b'|' | b'>' => !may_be_password,
        _ => false,
    }
}
