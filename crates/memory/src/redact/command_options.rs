//! Passwords in the arguments of a shell command: `curl -u name:…`, `mysql -p…`, `--password …`.

use std::borrow::Cow;
use std::ops::Range;

use super::names::kind_of;
use super::values::Assigned;
use super::{REDACTED, redact};
use crate::json::{string_end, unescape};

/// How a short option has its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueIs {
    /// Joined to the option, or the next word.
    Either,
    /// Joined to the option. The next word is something else.
    Joined,
    /// A name, a sign and the password, joined to the option or in the next word.
    After(char),
}

/// The short options with a password, by program.
const SHORT_OPTIONS: &[(&[&str], &str, ValueIs)] = &[
    (&["curl", "wget", "http", "https", "xh", "lftp"], "-u", ValueIs::After(':')),
    (&["curl"], "-U", ValueIs::After(':')),
    (&["http", "https", "xh"], "-a", ValueIs::After(':')),
    (&["smbclient", "rpcclient", "net"], "-U", ValueIs::After('%')),
    (&["sshpass", "mongo", "mongosh", "mongodump", "mongorestore", "az", "useradd", "usermod"], "-p", ValueIs::Either),
    (&["docker", "podman", "nerdctl", "helm", "skopeo", "buildah", "oras"], "-p", ValueIs::Either),
    (&["mysql", "mysqldump", "mysqladmin", "mysqlimport", "mariadb", "mariadb-dump"], "-p", ValueIs::Joined),
    (&["7z", "7za", "7zz", "rar", "unrar"], "-p", ValueIs::Joined),
    (&["zip", "unzip", "sqlcmd", "bcp"], "-P", ValueIs::Either),
    (&["redis-cli"], "-a", ValueIs::Either),
    (&["ldapsearch", "ldapmodify", "ldapadd", "ldapwhoami", "ldapdelete"], "-w", ValueIs::Either),
    (&["plink", "pscp", "psftp"], "-pw", ValueIs::Either),
];

/// Programs whose short option is a password only together with this word: `docker run -p 80:80` publishes a port.
const LOGIN: &[&str] = &["docker", "podman", "nerdctl", "helm", "skopeo", "buildah", "oras", "az"];

/// Programs after which the options of the program before them end.
const OTHER_PROGRAMS: &[&str] = &["ssh", "scp", "sftp", "rsync"];

/// How deep commands inside the quoted arguments of commands are read.
const DEEPEST: usize = 3;

/// The fields of a tool's input that hold a shell command, or its words.
const COMMAND_FIELDS: [&str; 3] = ["\"command\"", "\"cmd\"", "\"script\""];

/// Returns a shell command with every recognised secret replaced by `[redacted]`: also what only the option before it
/// shows to be a password, however it looks. In prose it would replace words that are no secrets.
pub fn redact_command(command: &str) -> String {
    let kept = without_options(command);
    redact(&kept).into_owned()
}

/// Returns the input of a tool, as JSON text, without the secrets that options of its commands have as values.
///
/// What is recognised in any text is not replaced.
pub fn redact_input_commands(input: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let mut copied = 0;
    for (start, end) in command_strings(input) {
        let command = unescape(&input[start + 1..end]);
        let changed = without_options(&command);
        if start >= copied
            && changed != command
            && let Ok(string) = serde_json::to_string(&changed)
        {
            kept.push_str(&input[copied..start]);
            kept.push_str(&string);
            copied = end + 1;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(input);
    }
    kept.push_str(&input[copied..]);
    Cow::Owned(kept)
}

/// Returns the quotes around every string of the fields that hold a command, in order.
fn command_strings(input: &str) -> Vec<(usize, usize)> {
    let mut strings = Vec::new();
    for field in COMMAND_FIELDS {
        let mut from = 0;
        while let Some(found) = input[from..].find(field) {
            from += found + field.len();
            let rest = &input[from..];
            let Some(value) = rest.trim_start().strip_prefix(':').map(str::trim_start) else { continue };
            from += rest.len() - value.len();
            // Of an array of words, each may be a command of its own: `bash -c …`.
            let is_array = value.starts_with('[');
            loop {
                from += input[from..].len() - input[from..].trim_start_matches(['[', ',', ' ', '\n', '\t']).len();
                let Some(end) = input[from..].strip_prefix('"').and_then(|_| string_end(input, from + 1)) else {
                    break;
                };
                strings.push((from, end));
                from = end + 1;
                if !is_array {
                    break;
                }
            }
        }
    }
    strings.sort_unstable();
    strings
}

/// Returns a command with the secret values of its options replaced.
fn without_options(command: &str) -> String {
    let mut secrets = Vec::new();
    find(command, 0, 0, &mut secrets);
    secrets.extend(piped(command));
    secrets.sort_by_key(|secret| secret.start);
    let mut kept = String::with_capacity(command.len());
    let mut copied = 0;
    for secret in secrets {
        if secret.start < copied || secret.is_empty() {
            continue;
        }
        kept.push_str(&command[copied..secret.start]);
        kept.push_str(REDACTED);
        copied = secret.end;
    }
    kept.push_str(&command[copied..]);
    kept
}

/// Returns what is written into a program that reads a password: `echo … | docker login --password-stdin`.
fn piped(command: &str) -> Option<Range<usize>> {
    let reader = ["--password-stdin", "chpasswd"].iter().find_map(|reader| command.find(reader))?;
    let pipe = command[..reader].rfind('|')?;
    let start = ["echo -n ", "echo ", "printf "]
        .iter()
        .find_map(|word| command[..pipe].rfind(word).map(|at| at + word.len()))?;
    let value = unquoted(command, start..start + command[start..pipe].trim_end().len());
    (!value.is_empty() && !is_variable(&command[value.clone()])).then_some(value)
}

/// Returns whether a value is one that the shell inserts.
fn is_variable(value: &str) -> bool {
    value.strip_prefix('$').is_some_and(|name| !name.is_empty() && !name.contains(char::is_whitespace))
        || value.starts_with('`')
}

/// Adds the secrets in `command`, which begins at `offset` of the whole text.
fn find(command: &str, offset: usize, depth: usize, secrets: &mut Vec<Range<usize>>) {
    let words = words(command);
    let mut program = "";
    let mut logs_in = false;
    for (at, word) in words.iter().enumerate() {
        let text = &command[word.clone()];
        let between = at.checked_sub(1).map_or("", |before| &command[words[before].end..word.start]);
        if between.contains([';', '|', '&']) {
            (program, logs_in) = ("", false);
        }
        if depth < DEEPEST && text.contains(char::is_whitespace) {
            find(text, offset + word.start, depth + 1, secrets);
        }
        let name = text.rsplit('/').next().unwrap_or(text);
        if let Some(known) = SHORT_OPTIONS.iter().flat_map(|(programs, ..)| *programs).find(|known| **known == name) {
            (program, logs_in) = (known, false);
        } else if OTHER_PROGRAMS.contains(&name) {
            program = "";
        }
        logs_in |= text == "login";
        let next = words.get(at + 1).cloned();
        let before = at.checked_sub(1).map_or("", |before| &command[words[before].clone()]);
        let secret = option_value(command, word, next.clone(), program, logs_in)
            .or_else(|| next.filter(|_| is_argument_secret(program, before, text)).map(|next| unquoted(command, next)));
        if let Some(secret) = secret.filter(|secret| !is_variable(&command[secret.clone()])) {
            secrets.push(offset + secret.start..offset + secret.end);
        }
    }
}

/// Returns whether the word behind `text` is a secret: `config set NAME …`, `vault login …`, `mysqladmin password …`.
fn is_argument_secret(program: &str, before: &str, text: &str) -> bool {
    match before {
        "set" => names_secret(text.rsplit(':').next().unwrap_or(text)),
        "vault" => text == "login",
        _ => program == "mysqladmin" && text == "password",
    }
}

/// Returns the secret value of the option `word`, which may be in the word `next`.
fn option_value(
    command: &str,
    word: &Range<usize>,
    next: Option<Range<usize>>,
    program: &str,
    logs_in: bool,
) -> Option<Range<usize>> {
    let text = &command[word.clone()];
    // The next word is the value, unless it is another option.
    let next = next.filter(|next| !command[next.clone()].starts_with('-'));
    if let Some(rest) = text.strip_prefix("pass:") {
        return Some(word.end - rest.len()..word.end);
    }
    let (name, joined) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if name.starts_with('-') && has_secret_value(name) {
        let value = match joined {
            Some(value) => word.end - value.len()..word.end,
            None => next?,
        };
        // openssl names where the password is: only `pass:` has it here.
        let source =
            ["env:", "file:", "fd:", "pass:", "id="].iter().any(|source| command[value.clone()].starts_with(source));
        return (!source).then_some(unquoted(command, value));
    }
    if matches!(name, "--user" | "--proxy-user") {
        let value = joined.map_or(next, |value| Some(word.end - value.len()..word.end))?;
        return after(command, unquoted(command, value), ':');
    }
    let fits =
        |(programs, option, _): &&(&[&str], &str, ValueIs)| programs.contains(&program) && text.starts_with(option);
    let (_, option, how) = SHORT_OPTIONS.iter().find(fits).filter(|_| logs_in || !LOGIN.contains(&program))?;
    let joined = (text.len() > option.len()).then_some(word.start + option.len()..word.end);
    let value = match how {
        ValueIs::Joined => joined,
        ValueIs::Either | ValueIs::After(_) => joined.or(next),
    };
    let value = unquoted(command, value?);
    match how {
        ValueIs::After(sign) => after(command, value, *sign),
        ValueIs::Either | ValueIs::Joined => Some(value),
    }
}

/// Returns whether the name of an option says that its value is a secret.
fn has_secret_value(option: &str) -> bool {
    let name = option.trim_start_matches('-');
    // A single letter is another option. openssl's are joined without a sign.
    name.len() > 2 && (matches!(name, "pass" | "passin" | "passout") || names_secret(name) || name.ends_with("-pass"))
}

/// Returns whether a name says that its value is a secret.
fn names_secret(name: &str) -> bool {
    let kind = kind_of(name.as_bytes());
    kind.is_some_and(|kind| {
        matches!(kind, Assigned::Password | Assigned::Secret | Assigned::ApiKey | Assigned::Key | Assigned::Header)
    })
}

/// Returns the part of a value after the first `sign`.
fn after(command: &str, value: Range<usize>, sign: char) -> Option<Range<usize>> {
    let at = command[value.clone()].find(sign)?;
    Some(value.start + at + sign.len_utf8()..value.end)
}

/// Returns a value without the quotes around it.
fn unquoted(command: &str, value: Range<usize>) -> Range<usize> {
    let text = &command[value.clone()];
    let start = text.len() - text.trim_start_matches(['\'', '"']).len();
    let end = text.trim_end_matches(['\'', '"']).len();
    value.start + start..value.start + end.max(start)
}

/// Returns the words of a command without the quotes around a whole word. Spaces in quotes belong to the word.
fn words(command: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let (mut start, mut quote) = (None, None);
    for (at, c) in command.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')') => {
                words.extend(start.take().map(|start| unquoted(command, start..at)));
            }
            None => {
                start.get_or_insert(at);
                quote = Some(c).filter(|c| matches!(c, '\'' | '"'));
            }
        }
    }
    words.extend(start.map(|start| unquoted(command, start..command.len())));
    words
}

#[cfg(test)]
mod tests {
    use super::{redact_command, redact_input_commands};

    #[track_caller]
    fn check(command: &str, expected: &str) {
        assert_eq!(redact_command(command), expected);
    }

    #[test]
    fn the_value_of_a_password_option_is_replaced_however_it_looks() {
        check("curl -u admin:word https://x.example", "curl -u admin:[redacted] https://x.example");
        check("/usr/bin/curl -uadmin:word x", "/usr/bin/curl -uadmin:[redacted] x");
        check("curl --user 'a:b c' x", "curl --user 'a:[redacted]' x");
        check("curl http://h --proxy-user=admin:word x", "curl http://h --proxy-user=admin:[redacted] x");
        check("mysql -pword -u root", "mysql -p[redacted] -u root");
        check("sshpass -p word ssh host -p 22", "sshpass -p [redacted] ssh host -p 22");
        check("docker login -u me -p word", "docker login -u me -p [redacted]");
        check("docker login --password word", "docker login --password [redacted]");
        check("migrate --db-pass word --force", "migrate --db-pass [redacted] --force");
        check("x --api-key=word", "x --api-key=[redacted]");
        check("openssl enc -pass pass:word", "openssl enc -pass pass:[redacted]");
        check("openssl enc -passin 'word'", "openssl enc -passin '[redacted]'");
        check("redis-cli -a \"two words\" ping", "redis-cli -a \"[redacted]\" ping");
    }

    #[test]
    fn commands_inside_commands_are_read() {
        check("bash -c \"cd x; sshpass -p word ssh y\"", "bash -c \"cd x; sshpass -p [redacted] ssh y\"");
        check("cd a && mysql -pword|cat", "cd a && mysql -p[redacted]|cat");
        check("x --password 'sshpass -p word y' z", "x --password '[redacted]' z");
    }

    #[test]
    fn other_options_are_kept() {
        for command in [
            "wants to run: cargo publish",
            "docker run -p 80:80 -u 1000:1000 x",
            "mkdir -p a/b",
            "mysql -p shop",
            "docker login --password-stdin",
            "openssl enc -pass env:WORD",
            "ssh -p 22 host",
            "curl -u name x",
            "prog --password --verbose",
            "prog --password '' --verbose",
            "git commit -m \"fix password reset bug\"",
            "redis-cli ping && ls -a src",
            "mongosh x; mkdir -p build",
            "it's an open quote",
            "",
        ] {
            check(command, command);
        }
    }

    #[test]
    fn arguments_and_what_is_piped_in_are_read() {
        check("aws configure set aws_secret_access_key word", "aws configure set aws_secret_access_key [redacted]");
        check("npm config set //r/:_authToken word", "npm config set //r/:_authToken [redacted]");
        check("vault login word", "vault login [redacted]");
        check(
            "echo word | docker login -u me --password-stdin",
            "echo [redacted] | docker login -u me --password-stdin",
        );
        check("echo 'me:word' | chpasswd", "echo '[redacted]' | chpasswd");
        check("tool --token-live word", "tool --token-live [redacted]");
        for same in ["echo $PW | docker login --password-stdin", "tool --token $TOKEN", "git config set user.name word"]
        {
            check(same, same);
        }
    }

    #[test]
    fn the_commands_of_a_tools_input_are_read() {
        let check = |input: &str, expected: &str| assert_eq!(redact_input_commands(input), expected);
        check(r#"{"command":"mysql -pword \"a\"","b":1}"#, r#"{"command":"mysql -p[redacted] \"a\"","b":1}"#);
        check(
            r#"{"cmd": ["bash", "-lc", "sshpass -p word ssh h"]}"#,
            r#"{"cmd": ["bash", "-lc", "sshpass -p [redacted] ssh h"]}"#,
        );
        for same in [r#"{"command":"ls -la"}"#, r#"{"command":"curl -u a:wo"#, r#"{"file":"mysql -pword"}"#, "{}"] {
            check(same, same);
        }
    }

    #[test]
    fn what_is_a_secret_by_its_shape_is_replaced_too() {
        check("API_KEY=abcd1234efgh5678 ./deploy", "API_KEY=[redacted] ./deploy");
    }
}
