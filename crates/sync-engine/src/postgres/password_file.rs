//! The password file of PostgreSQL's own clients: `PGPASSFILE`, or `~/.pgpass`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use longhaul_runtime::bounded_read;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Adds the password of the file to a configuration that has none.
///
/// As in PostgreSQL's clients, a file that others may read is ignored.
pub(super) fn apply(config: &mut Config, file: &Path) {
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
    if let Some(password) = find(&text, [&host, &port, &database, &user]) {
        config.password(password);
    }
}

/// Returns the password of the first line that matches host, port, database and user.
fn find(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|fields| {
        let (password, others) = fields.split_last().filter(|(_, others)| others.len() == wanted.len())?;
        let matches = others.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        matches.then(|| password.clone())
    })
}

/// Splits a line at its colons. The password is the rest; `\:` and `\\` stand for the character itself.
fn fields(line: &str) -> Vec<String> {
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
    use super::find;

    #[test]
    fn the_first_line_that_matches_has_the_password() {
        let text = "# comment\ndb:5432:team:bob:no\ndb:*:team:anna:a\\:b\\\\c\n*:*:*:*:other\n";
        assert_eq!(find(text, ["db", "5433", "team", "anna"]).as_deref(), Some("a:b\\c"));
        assert_eq!(find(text, ["db", "5432", "team", "eve"]).as_deref(), Some("other"));
        assert_eq!(find("db:5432:team:bob:no", ["db", "5432", "team", "eve"]), None);
        assert_eq!(find("too:short", ["db", "5432", "team", "eve"]), None);
    }
}
