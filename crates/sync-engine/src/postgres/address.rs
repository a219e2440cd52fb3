//! A `postgres://` address, which TLS it requires, and the password file of PostgreSQL's own clients: `PGPASSFILE`, or
//! `~/.pgpass`.

use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use longhaul_runtime::{bounded_read, waiting_times};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::EngineError;

longhaul_core::named! {
    /// How the connection is encrypted and whether the server's certificate is checked, as in PostgreSQL's own clients.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum TlsMode {
        /// No encryption.
        Disable = "disable",
        /// Encryption if the server offers it.
        Prefer = "prefer",
        /// Encryption. The certificate is checked only if a root certificate is named.
        Require = "require",
        /// Encryption, with a certificate of a trusted authority.
        VerifyCa = "verify-ca",
        /// Encryption, with a certificate of a trusted authority for this host.
        VerifyFull = "verify-full",
    }
}

/// A PostgreSQL database. `Debug` does not show the password.
#[derive(Debug, Clone)]
pub struct PostgresAddress {
    pub(super) config: Config,
    pub tls: TlsMode,
    /// The file with the certificates that are trusted; `None` for those of the public authorities.
    pub root_certificates: Option<PathBuf>,
}

impl PostgresAddress {
    /// Reads an address. `sslmode` is `require` unless it is set, or the server is on this machine.
    ///
    /// As in PostgreSQL's own clients, `sslrootcert=system` requires `verify-full`.
    pub fn parse(text: &str) -> Result<Self, EngineError> {
        let (start, query) = text.split_once('?').map_or((text, None), |(start, query)| (start, Some(query)));
        let (mut tls, mut root_certificates, mut is_system, mut others) = (None, None, false, Vec::new());
        for pair in query.into_iter().flat_map(|query| query.split('&')) {
            match pair.split_once('=') {
                Some(("sslmode", mode)) => tls = Some(parse_mode(mode)?),
                Some(("sslrootcert", "system")) => is_system = true,
                Some(("sslrootcert", path)) => root_certificates = Some(PathBuf::from(percent_decoded(path))),
                _ => others.push(pair),
            }
        }
        let rest = if others.is_empty() { start.to_owned() } else { format!("{start}?{}", others.join("&")) };
        // The message of the library names the part that is wrong, never its value.
        let parsed = Config::from_str(&rest).map_err(|error| EngineError::Address(chain(&error)));
        let mut config = parsed?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(EngineError::Address("the host is missing".to_owned()));
        }
        let default = if is_local(&config) { TlsMode::Prefer } else { TlsMode::Require };
        let tls = match tls {
            None if is_system => TlsMode::VerifyFull,
            Some(weak) if is_system && weak != TlsMode::VerifyFull => {
                let problem = format!("sslrootcert=system needs sslmode=verify-full, not {}", weak.as_str());
                return Err(EngineError::Address(problem));
            }
            mode => mode.unwrap_or(default),
        };
        let is_socket = |host: &Host| matches!(host, Host::Unix(_));
        config.ssl_mode(match tls {
            // As in PostgreSQL's own clients: a socket leads to this machine, and has no TLS.
            _ if config.get_hosts().iter().all(is_socket) => SslMode::Disable,
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(waiting_times::POSTGRES_CONNECT);
        }
        if config.get_application_name().is_none() {
            config.application_name("longhaul-sync");
        }
        Ok(Self { config, tls, root_certificates })
    }

    /// Returns the address without the password and the parameters.
    pub fn shown(&self) -> String {
        let user = self.config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let ports = self.config.get_ports();
        let host = |(number, host): (usize, &Host)| {
            let host = match host {
                Host::Tcp(name) => name.clone(),
                Host::Unix(path) => path.display().to_string(),
            };
            match ports.get(number).or(ports.first()) {
                Some(port) if *port != 5432 => format!("{host}:{port}"),
                _ => host,
            }
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().enumerate().map(host).collect();
        let database = self.config.get_dbname().map(|name| format!("/{name}")).unwrap_or_default();
        let shown = format!("postgres://{user}{}{database}", hosts.join(","));
        shown.chars().filter(|c| !c.is_control()).collect()
    }

    /// Returns whether the server is on this machine.
    pub fn is_local(&self) -> bool {
        is_local(&self.config)
    }
}

fn parse_mode(text: &str) -> Result<TlsMode, EngineError> {
    let found = TlsMode::from_name(text);
    found.ok_or_else(|| {
        let names = TlsMode::ALL.map(TlsMode::as_str).join(", ");
        EngineError::Address(format!("sslmode is one of {names}"))
    })
}

fn is_local(config: &Config) -> bool {
    let is_local_host = |host: &Host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
    };
    // With `hostaddr`, the name is not resolved: the address decides.
    match config.get_hostaddrs() {
        [] => config.get_hosts().iter().all(is_local_host),
        addresses => addresses.iter().all(IpAddr::is_loopback),
    }
}

/// Replaces `%41` by the byte that it stands for.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = (first == b'%').then(|| after.get(..2)).flatten().and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns an error with its causes on one line.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.ends_with(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Adds the password of the file to a configuration that has none.
///
/// As in PostgreSQL's clients, a file that others may read is ignored.
pub(super) fn apply_password_file(config: &mut Config, file: &Path) {
    if config.get_password().is_some() {
        return;
    }
    let is_private = bounded_read::open(file)
        .and_then(|file| file.metadata())
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o077 == 0);
    if !is_private {
        return;
    }
    let text = bounded_read::text(file, bounded_read::LARGE).unwrap_or_default();
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(_)) | None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    if let Some(password) = find_password(&text, [&host, &port, &database, &user]) {
        config.password(password);
    }
}

/// Returns the password of the first line that matches host, port, database and user.
fn find_password(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(password_fields).find_map(|fields| {
        let (password, others) = fields.split_last().filter(|(_, others)| others.len() == wanted.len())?;
        let matches = others.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        matches.then(|| password.clone())
    })
}

/// Splits a line at its colons. The password is the rest; `\:` and `\\` stand for the character itself.
fn password_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        let last = fields.len() - 1;
        match c {
            ':' if last < 4 => fields.push(String::new()),
            '\\' => fields[last].extend(characters.next()),
            _ => fields[last].push(c),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::{PostgresAddress, TlsMode, find_password};

    #[track_caller]
    fn check(text: &str, shown: &str, tls: TlsMode) {
        let address = PostgresAddress::parse(text).unwrap();
        assert_eq!((address.shown().as_str(), address.tls), (shown, tls), "{text}");
        assert!(!format!("{address:?}").contains("secret"), "{address:?}");
    }

    #[test]
    fn tls_is_required_away_from_this_machine() {
        check("postgres://anna:secret@db.example/team", "postgres://anna@db.example/team", TlsMode::Require);
        check("postgresql://anna@db.example:5433/team", "postgres://anna@db.example:5433/team", TlsMode::Require);
        check("postgres://anna:secret@localhost/team", "postgres://anna@localhost/team", TlsMode::Prefer);
        check("postgres://anna@127.0.0.1/team", "postgres://anna@127.0.0.1/team", TlsMode::Prefer);
        check("postgres://anna:secret@/team?host=/run/pg", "postgres://anna@/run/pg/team", TlsMode::Prefer);
        check(
            "postgres://anna@localhost,db.example/team",
            "postgres://anna@localhost,db.example/team",
            TlsMode::Require,
        );
        check("postgres://a@localhost/t?hostaddr=192.0.2.1", "postgres://a@localhost/t", TlsMode::Require);
    }

    #[test]
    fn sslmode_is_honoured() {
        for mode in TlsMode::ALL {
            check(&format!("postgres://a:secret@db/t?sslmode={}", mode.as_str()), "postgres://a@db/t", mode);
        }
        let address =
            PostgresAddress::parse("postgres://a@db/t?sslrootcert=%2Fetc/ca.pem&sslmode=verify-full").unwrap();
        assert_eq!(address.root_certificates.unwrap().to_str(), Some("/etc/ca.pem"));
    }

    /// Whoever names the system's authorities wants the server to be checked.
    #[test]
    fn the_certificates_of_the_system_are_never_ignored() {
        check("postgres://a@db/t?sslrootcert=system", "postgres://a@db/t", TlsMode::VerifyFull);
        check("postgres://a@db/t?sslrootcert=system&sslmode=verify-full", "postgres://a@db/t", TlsMode::VerifyFull);
        for weak in ["disable", "prefer", "require", "verify-ca"] {
            let parsed = PostgresAddress::parse(&format!("postgres://a@db/t?sslmode={weak}&sslrootcert=system"));
            assert!(parsed.unwrap_err().to_string().contains("needs sslmode=verify-full"), "{weak}");
        }
    }

    #[test]
    fn no_message_contains_the_password() {
        for wrong in [
            "postgres://a:secret@db/t?sslmode=maybe",
            "postgres://a:secret@db:secret/t",
            "postgres://a:secret@db/t?secret=1",
            "postgres:///t?password=secret",
        ] {
            let error = PostgresAddress::parse(wrong).unwrap_err().to_string();
            assert!(!error.contains(":secret") && !error.contains("=secret"), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_first_line_that_matches_has_the_password() {
        let text = "# comment\ndb:5432:team:bob:no\ndb:*:team:anna:a\\:b\\\\c\n*:*:*:*:other\n";
        assert_eq!(find_password(text, ["db", "5433", "team", "anna"]).as_deref(), Some("a:b\\c"));
        assert_eq!(find_password(text, ["db", "5432", "team", "eve"]).as_deref(), Some("other"));
        assert_eq!(find_password("db:5432:team:bob:no", ["db", "5432", "team", "eve"]), None);
        assert_eq!(find_password("too:short", ["db", "5432", "team", "eve"]), None);
    }
}
