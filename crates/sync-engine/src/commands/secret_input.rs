//! Secrets that are not given as arguments: other users of the machine can read those, and shells store them.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use super::CommandError;

/// The most that is read of a line.
const MAX_LINE: u64 = 64 * 1024;

/// Returns an argument; for `-`, the next line of standard input. On a terminal, `what` is asked for.
pub(super) fn given_or_input(argument: &str, what: &str) -> Result<String, CommandError> {
    if argument != "-" {
        return Ok(argument.to_owned());
    }
    let mut input = io::stdin().lock();
    if input.is_terminal() {
        write!(io::stderr(), "{what}: ")?;
    }
    next_line(&mut input)
}

/// Returns the next line that is not empty, without white space around it.
fn next_line(input: &mut impl BufRead) -> Result<String, CommandError> {
    loop {
        let mut line = String::new();
        let read = input.by_ref().take(MAX_LINE).read_line(&mut line)?;
        if read == 0 || !line.trim().is_empty() {
            return Ok(line.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::next_line;

    #[test]
    fn each_secret_is_a_line() {
        let mut input = "\n longhaul-join-1-x \npostgres://a@b/c".as_bytes();
        assert_eq!(next_line(&mut input).unwrap(), "longhaul-join-1-x");
        assert_eq!(next_line(&mut input).unwrap(), "postgres://a@b/c");
        assert_eq!(next_line(&mut input).unwrap(), "");
    }
}
