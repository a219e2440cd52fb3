//! Whether what is assigned to a secret's name is a value, and not a variable, a type, a word of documentation, or what
//! stands for a secret and is none: `changeme`, `your_token_here`, `xxxx`.

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assigned {
    /// Chosen by a person, so it may be short.
    Password,
    /// Chosen by a person or made by a program.
    Secret,
    /// Made by a program, and named as what it is: it may be short.
    ApiKey,
    /// Made by a program, so it is long.
    Key,
    /// Some key, which may as well be that of a table: only a random value is a secret.
    AnyKey,
    /// The credentials of an `Authorization` header.
    Header,
    /// A user and a password in base64.
    Login,
    /// The pairs of a `Cookie` header.
    Cookie,
    /// The signature of a signed address, or what identifies a session.
    Signature,
    /// What belongs to the name that stands before it: `name: DB_PASSWORD, value: …`.
    OfPair,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    /// `NAME=value`, as in an environment file.
    Environment,
    Quoted,
    /// The rest of a line that begins with its name, as in YAML.
    Line,
    /// Anything else: it may as well be a name of a program's variable or type.
    Bare,
}

/// What a value is made of.
pub(super) struct Makeup {
    length: usize,
    pub(super) digits: usize,
    lower: usize,
    upper: usize,
    /// How often a small letter stands beside a capital one.
    switches: usize,
    /// Signs that people add to passwords.
    signs: usize,
}

impl Makeup {
    pub(super) fn of(value: &[u8]) -> Self {
        let mut makeup = Self { length: value.len(), digits: 0, lower: 0, upper: 0, switches: 0, signs: 0 };
        for byte in value {
            match byte {
                b'0'..=b'9' => makeup.digits += 1,
                b'a'..=b'z' => makeup.lower += 1,
                b'A'..=b'Z' => makeup.upper += 1,
                b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'?' | b'~' | b'+' => makeup.signs += 1,
                b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'|' | b';' | b',' | b'=' => makeup.signs += 1,
                _ => {}
            }
        }
        let is_switch = |pair: &&[u8]| {
            pair[0].is_ascii_alphabetic()
                && pair[1].is_ascii_alphabetic()
                && pair[0].is_ascii_lowercase() != pair[1].is_ascii_lowercase()
        };
        makeup.switches = value.windows(2).filter(is_switch).count();
        makeup
    }

    fn letters(&self) -> usize {
        self.lower + self.upper
    }

    fn is_mixed(&self) -> bool {
        self.digits > 0 && self.letters() > 0
    }

    pub(super) fn has_both_cases(&self) -> bool {
        self.lower >= 2 && self.upper >= 2
    }

    /// It has digits and both cases, as a random value of this length nearly always has.
    pub(super) fn is_varied(&self) -> bool {
        self.digits >= 1 && self.has_both_cases()
    }

    /// Letters and digits alternate too much for a word with a number.
    pub(super) fn looks_random(&self) -> bool {
        (self.is_mixed() && self.digits >= 4)
            || (self.digits >= 2 && self.has_both_cases())
            || (self.is_varied() && (self.length >= 20 || self.is_scrambled()))
            || (self.length == 40 && self.lower >= 8 && self.upper >= 8)
            || self.is_scrambled()
    }

    /// In `getTokenFromUser` a third of the letters switch, in a random value half of them.
    fn is_scrambled(&self) -> bool {
        self.length >= 16 && self.has_both_cases() && self.switches * 5 >= self.letters() * 2
    }
}

/// Returns whether a value that is assigned to a secret's name is a secret.
pub(crate) fn looks_secret(value: &[u8], assigned: Assigned, writing: Writing) -> bool {
    // What separates the fields of a program is no part of a value.
    let is_separator = |byte: &&u8| writing == Writing::Line && matches!(byte, b',' | b';');
    let value = &value[..value.len() - value.iter().rev().take_while(is_separator).count()];
    let makeup = Makeup::of(value);
    makeup.length >= 6
        && is_strong(&makeup, assigned, writing)
        && !is_expression(value, writing, &makeup)
        && !is_placeholder(value)
}

/// Returns whether a value of this makeup may be a secret.
fn is_strong(makeup: &Makeup, assigned: Assigned, writing: Writing) -> bool {
    let is_signed = makeup.length >= 8 && makeup.letters() > 0 && makeup.signs > 0;
    match (assigned, writing) {
        (Assigned::Header | Assigned::Login, _) => {
            let is_encoded = makeup.length >= 8 && makeup.lower > 0 && makeup.upper > 0;
            is_encoded || (makeup.length >= 12 && makeup.is_mixed())
        }
        (Assigned::Signature, _) => makeup.length >= 20 && makeup.lower > 0 && makeup.looks_random(),
        (Assigned::Cookie | Assigned::OfPair, _) => false,
        (Assigned::AnyKey, _) => makeup.length >= 16 && makeup.looks_random(),
        (Assigned::Password | Assigned::Secret, Writing::Environment) => {
            makeup.lower > 0 || makeup.is_mixed() || is_signed || makeup.signs >= 3
        }
        (Assigned::Key | Assigned::ApiKey, Writing::Environment) => {
            (makeup.length >= 8 && makeup.is_mixed()) || (makeup.length >= 16 && makeup.lower > 0)
        }
        (Assigned::Password, Writing::Quoted) => {
            makeup.is_mixed() || is_signed || makeup.signs >= 3 || (makeup.length >= 12 && makeup.lower > 0)
        }
        (Assigned::ApiKey, Writing::Quoted | Writing::Line) => makeup.length >= 8 && (makeup.is_mixed() || is_signed),
        (Assigned::ApiKey, Writing::Bare) => {
            makeup.length >= 8 && makeup.is_mixed() && (makeup.digits >= 2 || makeup.length >= 12)
        }
        (Assigned::Secret, Writing::Quoted) => makeup.length >= 8 && (makeup.is_mixed() || is_signed),
        (Assigned::Key, Writing::Quoted) => makeup.length >= 10 && makeup.looks_random(),
        (Assigned::Password, Writing::Line) => {
            (makeup.is_mixed() && makeup.length >= 7) || is_signed || makeup.signs >= 3
        }
        (Assigned::Password, Writing::Bare) => {
            (makeup.is_mixed() && makeup.length >= 8) || (makeup.is_mixed() && makeup.signs > 0)
        }
        (Assigned::Secret | Assigned::Key, Writing::Line | Writing::Bare) => {
            makeup.length >= 12 && makeup.looks_random()
        }
    }
}

/// Returns whether a value is a variable, a call, a path or a template, which holds no secret itself.
fn is_expression(value: &[u8], writing: Writing, makeup: &Makeup) -> bool {
    let find = |part: &[u8]| memchr::memmem::find(value, part);
    let has = |part: &[u8]| find(part).is_some();
    let closed = |open: &[u8], close: &[u8]| {
        find(open).is_some_and(|at| memchr::memmem::find(&value[at + open.len()..], close).is_some())
    };
    let first = value[0];
    let is_template = begins_expression(value, writing, makeup)
        || (first == b'%' && value.ends_with(b"%"))
        || closed(b"${", b"}")
        || closed(b"{{", b"}}")
        || closed(b"$(", b")")
        || value.ends_with(b"...")
        || value.ends_with("…".as_bytes());
    let is_path_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./".contains(byte);
    let is_path = matches!(first, b'/' | b'~' | b'.')
        && value[1..].iter().all(is_path_byte)
        && !(makeup.length >= 32 && makeup.looks_random() && !has(b"."))
        || has(b"://");
    // `self.token2`, `Token::Eof4`, `user->pass1`, `read(path2)`
    let is_code = matches!(writing, Writing::Line | Writing::Bare);
    let is_member = is_code
        && makeup.length < 40
        && (has(b"::")
            || has(b"->")
            || has(b"()")
            || (has(b".") && makeup.digits < 4 && makeup.signs == 0 && !makeup.is_scrambled()));
    is_template || is_path || is_member || (is_code && is_call(value))
}

/// Returns whether a value is a name with something in brackets behind it: a call, a type, an element.
fn is_call(value: &[u8]) -> bool {
    let name = value.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_.:&*".contains(byte)).count();
    let opens = value.get(name).is_some_and(|byte| b"([<{".contains(byte));
    let is_plain = name >= 4 && !value[..name].iter().any(u8::is_ascii_digit);
    name > 0 && opens && (is_plain || value.len() == name + 1 || b")]>}".contains(&value[value.len() - 1]))
}

/// Returns whether the first sign of a value makes it an expression.
///
/// Where a value cannot be code, a password may begin with any sign.
fn begins_expression(value: &[u8], writing: Writing, makeup: &Makeup) -> bool {
    let may_be_password = writing != Writing::Bare && (makeup.is_mixed() || makeup.signs >= 2);
    let is_name = |name: &[u8]| name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    match value[0] {
        b'!' => !may_be_password,
        b'$' => !may_be_password || is_name(&value[1..]),
        b'<' => !may_be_password || value.ends_with(b">"),
        b'[' => !may_be_password || value.ends_with(b"]"),
        b'{' => !may_be_password || value.ends_with(b"}"),
        b'(' => !may_be_password || value.ends_with(b")"),
        b'*' | b'&' | b'|' | b'>' => !may_be_password,
        _ => false,
    }
}

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
    use super::{Assigned, Writing, is_placeholder, looks_secret};

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
        let [long, short] = [20, 19].map(|length| RANDOM.repeat(2)[..length].to_owned());
        check(Assigned::Signature, Writing::Bare, &[&long], &[&short, &"kzqwvmhj".repeat(4)]);
    }

    #[test]
    fn a_random_value_has_many_digits_or_both_cases() {
        let key = |secret: &[&str], others: &[&str]| check(Assigned::Key, Writing::Quoted, secret, others);
        key(&["kzQW4v8mhj"], &["kzQWvv8mhj", "kzQw4v8mhj", "KZQW4V8MHj", "7749117749"]);
        key(&["kzQWvmhjbnrtplsdfg4x"], &["kzQWvmhjbnrtplsdf4x", "kzqwvmhjbnrtplsdfg4x"]);
        let of = |lower: usize, upper: usize| "kv".repeat(20)[..lower].to_owned() + &"QW".repeat(20)[..upper];
        key(&[&of(32, 8), &of(8, 32)], &[&of(33, 7), &of(7, 33), &of(31, 8), &of(33, 8)]);
        key(&["kQvWzMhJbNrTpLsD"], &["kQvWzMhJbNrTpLs", "getTokenFromUser"]);
    }

    #[test]
    fn an_expression_holds_no_secret() {
        let environment = |secret: &[&str], others: &[&str]| {
            check(Assigned::Password, Writing::Environment, secret, others);
        };
        environment(&["!kzqwv7", "$kzq-w7v"], &["!kzqwvm", "$kzqw7v", "<kzqw7v>"]);
        environment(&["[kzqw7v", "{kzqw7v", "(kzqw7v"], &["[kzqw7v]", "{kzqw7v}", "(kzqw7v)"]);
        environment(&["*kzqw7v", "&kzqw7v", "|kzqw7v", ">kzqw7v"], &["*kzqwvm", "&kzqwvm", "|kzqwvm", ">kzqwvm"]);
        environment(&["%kzqw7v"], &["%kzqw7v%", "kz${qw7v}", "kz{{qw7v}}", "kz$(qw7v)", "kzqw7v...", "kzqw7v…"]);
        environment(&["kz${qw7v", "kz{{qw7v", "kz$(qw7v", "kzq...w7v"], &[]);
        let signs = ["$kzq-w7v", "<kzqw7v", "[kzqw7v", "{kzqw7v", "(kzqw7v", "*kzqw7v", "&kzqw7v"];
        check(Assigned::Password, Writing::Quoted, &signs, &["$kzqw7v", "<kzqw7v>", "[kzqw7v]"]);
        check(Assigned::Password, Writing::Line, &signs, &["kzqw7v(a)", "Kzq<w7v>,", "kzqw7v[0];"]);
        check(Assigned::Password, Writing::Bare, &[], &signs);
    }

    #[test]
    fn a_path_or_a_member_holds_no_secret() {
        let environment = |secret: &[&str], others: &[&str]| {
            check(Assigned::Password, Writing::Environment, secret, others);
        };
        let [long, short] = [31, 30].map(|length| format!("/{}", &RANDOM.repeat(2)[..length]));
        environment(&[&long], &[&short, "/kzqw7vm", "~kzqw7vm", ".kzqw7vm", "kz://qw7v", &format!("{long}.x")]);
        environment(&["/49Oqd4~jY", "kzq::w7vm"], &["~/kzqw7vm"]);
        let line = |secret: &[&str], others: &[&str]| check(Assigned::Password, Writing::Line, secret, others);
        line(&["kzq.w1v2m3n4", "kzq.w7v!"], &["kzq::w7vm", "kzq->w7vm", "kzqw7v()", "kzq.w7vm"]);
        let [long, short] = [40, 39].map(|length| format!("kz::{}", &"qwvmhj7".repeat(6)[..length - 4]));
        line(&[&long], &[&short]);
    }

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
