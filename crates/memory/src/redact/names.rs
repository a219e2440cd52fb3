//! Names whose value is a secret: a word of a name decides, wherever it stands, unless a word behind it says that the
//! value is something else.

use super::values::Assigned;

/// Words at the end of which a secret's name is recognised: `PGPASSWORD`, `accesstoken`.
const ENDINGS: &[(&str, Assigned)] = &[
    ("password", Assigned::Password),
    ("passwords", Assigned::Password),
    ("passwd", Assigned::Password),
    ("passphrase", Assigned::Password),
    ("passcode", Assigned::Password),
    ("pwd", Assigned::Password),
    ("secret", Assigned::Secret),
    ("secrets", Assigned::Secret),
    ("mnemonic", Assigned::Secret),
    ("secretkey", Assigned::Secret),
    ("secretaccesskey", Assigned::Secret),
    ("privatekey", Assigned::Secret),
    ("apitoken", Assigned::ApiKey),
    ("apikey", Assigned::ApiKey),
    ("accesskey", Assigned::ApiKey),
    ("accountkey", Assigned::ApiKey),
    ("authkey", Assigned::ApiKey),
    ("token", Assigned::Key),
    ("appkey", Assigned::Key),
    ("encryptionkey", Assigned::Key),
    ("masterkey", Assigned::Key),
    ("signingkey", Assigned::Key),
    ("sharedkey", Assigned::Key),
    ("credential", Assigned::Key),
    ("credentials", Assigned::Key),
    ("creds", Assigned::Key),
    ("authorization", Assigned::Header),
    ("cookie", Assigned::Cookie),
];

/// Words before `key` that make it a secret.
const KEYS: &[(&str, Assigned)] = &[
    ("secret", Assigned::Secret),
    ("private", Assigned::Secret),
    ("api", Assigned::ApiKey),
    ("access", Assigned::ApiKey),
    ("account", Assigned::ApiKey),
    ("auth", Assigned::ApiKey),
    ("app", Assigned::Key),
    ("application", Assigned::Key),
    ("encryption", Assigned::Key),
    ("encrypt", Assigned::Key),
    ("enc", Assigned::Key),
    ("master", Assigned::Key),
    ("signing", Assigned::Key),
    ("shared", Assigned::Key),
    ("service", Assigned::Key),
    ("storage", Assigned::Key),
    ("license", Assigned::Key),
    ("deploy", Assigned::Key),
    ("fernet", Assigned::Key),
    ("hmac", Assigned::Key),
    ("aes", Assigned::Key),
    ("jwt", Assigned::Key),
    ("webhook", Assigned::Key),
    ("client", Assigned::Key),
];

/// Words before `key` that make it something else, also in capitals.
const OTHER_KEYS: &str = "public pub cache primary foreign sort partition object row index hot natural sequence schema group registry \
    config map hash routing lookup unique composite translation release gpg";

/// Words that are a secret's only as a whole, behind another word.
const WHOLE: &[(&str, Assigned)] =
    &[("pass", Assigned::ApiKey), ("pw", Assigned::ApiKey), ("psk", Assigned::ApiKey), ("pat", Assigned::Key)];

/// Names that are a secret's only as a whole.
const NAMES: &[(&str, Assigned)] = &[
    ("sig", Assigned::Signature),
    ("auth", Assigned::Login),
    ("value", Assigned::OfPair),
    ("default", Assigned::OfPair),
    ("pw", Assigned::ApiKey),
    ("psk", Assigned::ApiKey),
    ("signature", Assigned::Signature),
    ("amzsignature", Assigned::Signature),
    ("gitlabsession", Assigned::Signature),
    ("sessionid", Assigned::Signature),
    ("phpsessid", Assigned::Signature),
    ("jsessionid", Assigned::Signature),
    ("sid", Assigned::Signature),
];

/// Words behind a secret's word that only tell one secret from another, as in `apiKeyProd` and `db.password.dev`.
const VARIANTS: &str = "prod production dev development stage staging test testing live sandbox qa uat local old new current previous \
    primary secondary backup confirm confirmation repeat main admin root ro rw base hex plain value v b a data";

/// Words behind a secret's word that say that the value is something else, as in `TOKEN_URL`.
const OTHERS: &str = "stdin file files filename path paths dir folder url uri endpoint host name names id ids type types kind count \
    counts len length size limit limits max min ttl expiry expires expiration expire timeout age policy rule rules \
    format regex pattern header headers field fields label prompt hint help title description message error errors \
    status state enabled disabled required valid version algorithm alg method mode scope scopes arn ref reference \
    alias store manager provider source location env var index idx offset position start end line column class style \
    color icon button input form page view model table row schema bucket region issuer audience usage used budget \
    price cost rate window digest fingerprint checksum sha md hash created updated at date time by sha256 prefix \
    suffix map list set stream tree";

/// The beginnings of the words above, as three letters that are folded to five bits each.
static BEGINNINGS: [u32; 1024] = {
    const LETTERS: &[&[u8; 3]] = &[
        b"pas", b"pwd", b"sec", b"mne", b"pri", b"api", b"acc", b"tok", b"key", b"cre", b"aut", b"coo", b"_pw", b"-pw",
        b"psk", b"pat", b"sig", b"val", b"def", b"ses", b"sid", b"sse",
    ];
    let mut table = [0; 1024];
    let mut at = 0;
    while at < LETTERS.len() {
        let [a, b, c] = LETTERS[at];
        table[((*a & 31) as usize) << 5 | (*b & 31) as usize] |= 1 << (*c & 31);
        at += 1;
    }
    table
};

/// Returns whether a name may be that of a secret, by some three letters of it.
#[inline]
pub(super) fn may_be_secret(name: &[u8]) -> bool {
    let mut pair = 0;
    let has = |byte: &u8| {
        let is_beginning = BEGINNINGS[pair] >> (byte & 31) & 1 == 1;
        pair = (pair << 5 | usize::from(byte & 31)) & 1023;
        is_beginning
    };
    name.iter().any(has) || name.eq_ignore_ascii_case(b"pw")
}

/// Returns what a name's value is.
pub(super) fn kind_of(name: &[u8]) -> Option<Assigned> {
    if !may_be_secret(name) || matches!(name, b"PWD" | b"OLDPWD" | b"pwd") {
        // `PWD` is the working directory.
        return None;
    }
    let words = words(name);
    let is_constant = !name.iter().any(u8::is_ascii_lowercase);
    let whole = words.iter().map(|word| word.text.as_str()).collect::<String>();
    let whole = whole.strip_prefix('x').unwrap_or(&whole);
    if let Some((_, assigned)) = NAMES.iter().find(|(known, _)| *known == whole) {
        return Some(*assigned);
    }
    let found = (0..words.len()).rev().find_map(|at| word_kind(&words, at, is_constant).map(|kind| (at, kind)));
    let (at, assigned) = found?;
    let rest = words[at + 1..].iter().filter(|word| !word.text.bytes().all(|byte| byte.is_ascii_digit()));
    let is_same = |word: &Word| match word.is_joined_by_line {
        true => !is_in(OTHERS, &word.text),
        // `tokenKind` and `password.length` are names of a program.
        false => is_in(VARIANTS, &word.text),
    };
    rest.clone().all(is_same).then_some(assigned)
}

/// Returns what the word at `at` makes of a name.
fn word_kind(words: &[Word], at: usize, is_constant: bool) -> Option<Assigned> {
    let word = words[at].text.as_str();
    let before = at.checked_sub(1).map(|before| words[before].text.as_str());
    if matches!(word, "key" | "keys") {
        let before = before?;
        if let Some((_, assigned)) = KEYS.iter().find(|(known, _)| *known == before) {
            return Some(*assigned);
        }
        return (is_constant && !is_in(OTHER_KEYS, before)).then_some(Assigned::AnyKey);
    }
    if let Some((_, assigned)) = WHOLE.iter().find(|(known, _)| *known == word) {
        // A compass, and the first pass of a compiler, are none.
        let may_be = before.is_some() && words[at].is_joined_by_line;
        return may_be.then_some(*assigned);
    }
    let ends = |(ending, _): &&(&str, Assigned)| word.ends_with(ending);
    ENDINGS.iter().filter(ends).max_by_key(|(ending, _)| ending.len()).map(|(_, assigned)| *assigned)
}

/// Returns whether a list of words, with spaces between them, has this one.
fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|listed| listed == word)
}

/// A word of a name, in small letters.
struct Word {
    text: String,
    /// A `_` or a `-` stands before it, or it is the first.
    is_joined_by_line: bool,
}

/// Splits a name at its signs, before capital letters and before numbers.
fn words(name: &[u8]) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (at, byte) in name.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            continue;
        }
        let before = at.checked_sub(1).map(|before| name[before]);
        let is_hump = before.is_some_and(|before| {
            (before.is_ascii_lowercase() && byte.is_ascii_uppercase())
                || (before.is_ascii_alphabetic() && byte.is_ascii_digit())
                || (before.is_ascii_uppercase()
                    && byte.is_ascii_uppercase()
                    && name.get(at + 1).is_some_and(u8::is_ascii_lowercase))
        });
        let is_joined_by_line = before.is_none_or(|before| matches!(before, b'_' | b'-'));
        let begins = before.is_none_or(|before| !before.is_ascii_alphanumeric()) || is_hump;
        if begins || words.is_empty() {
            words.push(Word { text: String::new(), is_joined_by_line });
        }
        if let Some(word) = words.last_mut() {
            word.text.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    words
}
