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

#[cfg(test)]
mod tests {
    use super::{Assigned, Writing, looks_secret};

    const RANDOM: &str = "kz7q4w8v2mhjbn5r";

    #[track_caller]
    fn check(assigned: Assigned, writing: Writing, secret: &[&str], others: &[&str]) {
        let looks = |value: &str| looks_secret(value.as_bytes(), assigned, writing);
        for value in secret {
            assert!(looks(value), "{value} is a secret: {assigned:?}, {writing:?}");
        }
        for value in others {
            assert!(!looks(value), "{value} is no secret: {assigned:?}, {writing:?}");
        }
    }

    #[test]
    fn a_value_of_an_environment_file_may_be_simple() {
        let environment = Writing::Environment;
        check(Assigned::Password, environment, &["kzqwvm", "KZQWV7"], &["kzqwv", "KZQWVM", "774911"]);
        check(Assigned::Secret, environment, &["kzqwvm", "KZQWV7"], &["kzqwv", "KZQWVM"]);
        check(Assigned::Key, environment, &["kzqwvm7h", "kzqwvmhjbnrtplsd"], &["kzqwvm7", "kzqwvmhjbnrtpls"]);
        check(Assigned::Key, environment, &[], &["KZQWVMHJBNRTPLSD", "7749117749117749"]);
    }

    #[test]
    fn a_value_in_quotes_needs_digits_signs_or_length() {
        let secret = ["kzqwv7", "kzqwvm!h", "kzqwvmhjbnrt"];
        let others = ["kzqwvm", "kzqwv!h", "7749!177", "kzqwvmhjbnr", "KZQWVMHJBNRT"];
        check(Assigned::Password, Writing::Quoted, &secret, &others);
        check(Assigned::Secret, Writing::Quoted, &["kzqwvm7h"], &["kzqwv7h", "kzqwvmhj"]);
        check(Assigned::Key, Writing::Quoted, &["kz7q4w8v2m"], &["kz7q4w8v2", "kz7q4w8vmh"]);
    }

    #[test]
    fn a_bare_value_may_be_a_name_of_a_program() {
        check(Assigned::Password, Writing::Bare, &["kzqwvm7h", "kzqw7!"], &["kzqwv7h", "kzqwvmh!", "kzqwvmhj"]);
        check(Assigned::Key, Writing::Bare, &["kz7q4w8v2mhj"], &["kz7q4w8v2mh", "kzqwvmhjbnr7"]);
        check(Assigned::Secret, Writing::Bare, &["kz7q4w8v2mhj"], &["kz7q4w8v2mh"]);
    }

    #[test]
    fn a_header_and_a_signature_are_long() {
        let others = ["kzqwvHj", "kzqwvmhj", "KZQWVMHJ", "kzqwvmhjb7r"];
        check(Assigned::Header, Writing::Bare, &["kzqwvmHj", "kzqwvmhjbn7r"], &others);
        let [long, short] = [32, 31].map(|length| RANDOM.repeat(2)[..length].to_owned());
        check(Assigned::Signature, Writing::Bare, &[&long], &[&short, &"kzqwvmhj".repeat(4)]);
    }

    #[test]
    fn a_random_value_has_many_digits_or_both_cases() {
        let key = |secret: &[&str], others: &[&str]| check(Assigned::Key, Writing::Quoted, secret, others);
        key(&["kzQW4v8mhj"], &["kzQWvv8mhj", "kzQw4v8mhj", "KZQW4V8MHj", "7749117749"]);
        key(&["kzQWvmhjbnrtplsdfg4x"], &["kzQWvmhjbnrtplsdf4x", "kzqwvmhjbnrtplsdfg4x"]);
        let of = |lower: usize, upper: usize| "kv".repeat(20)[..lower].to_owned() + &"QW".repeat(20)[..upper];
        key(&[&of(32, 8), &of(8, 32)], &[&of(33, 7), &of(7, 33), &of(31, 8), &of(33, 8)]);
    }

    #[test]
    fn an_expression_holds_no_secret() {
        let environment = |secret: &[&str], others: &[&str]| {
            check(Assigned::Password, Writing::Environment, secret, others);
        };
        environment(&["!kzqwv7", "$kzq-w7v"], &["!kzqwvm", "$kzqw7v", "<kzqw7v>"]);
        environment(&["[kzqw7v", "{kzqw7v", "(kzqw7v"], &["[kzqw7v]", "{kzqw7v}", "(kzqw7v)"]);
        environment(&["*kzqw7v", "&kzqw7v", "|kzqw7v", ">kzqw7v"], &["*kzqwvm", "&kzqwvm", "|kzqwvm", ">kzqwvm"]);
        environment(&["%kzqw7v"], &["%kzqw7v%", "kz${qw7v", "kz{{qw7v", "kz$(qw7v", "kzq...w7v", "kzq…w7v"]);
        let quoted = ["$kzq-w7v", "<kzqw7v", "[kzqw7v", "{kzqw7v", "(kzqw7v", "*kzqw7v", "&kzqw7v"];
        check(Assigned::Password, Writing::Quoted, &[], &quoted);
    }

    #[test]
    fn a_path_or_a_member_holds_no_secret() {
        let environment = |secret: &[&str], others: &[&str]| {
            check(Assigned::Password, Writing::Environment, secret, others);
        };
        let [long, short] = [31, 30].map(|length| format!("/{}", &RANDOM.repeat(2)[..length]));
        environment(&[&long], &[&short, "/kzqw7vm", "~kzqw7vm", ".kzqw7vm", "kz://qw7v", &format!("{long}.x")]);
        environment(&["kzq.w1v2m3n4", "kzq.w7v!"], &["kzq::w7vm", "kzq->w7vm", "kzqw7v()", "kzq.w7vm"]);
        let [long, short] = [40, 39].map(|length| format!("kz::{}", &"qwvmhj7".repeat(6)[..length - 4]));
        environment(&[&long], &[&short]);
        check(Assigned::Password, Writing::Quoted, &["kzq::w7vm"], &[]);
    }
}
