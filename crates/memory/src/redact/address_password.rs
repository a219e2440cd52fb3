//! Passwords in addresses: `scheme://user:…@host`.

use super::assignments::is_quote;
use super::placeholder::is_placeholder;

/// Maximum length of the user, the password and the host together, in bytes.
const USER_BYTES: usize = 300;

/// Returns the password of the address whose `://` is at `at`.
pub(super) fn address_password(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let start = at + 3;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || is_quote(*byte) || b"/?#<>\\,()".contains(byte);
    let host = &bytes[start..bytes.len().min(start + USER_BYTES)];
    let authority = &host[..host.iter().position(ends).unwrap_or(host.len())];
    // A password may hold an `@` that should have been encoded.
    let user = &authority[..authority.iter().rposition(|byte| *byte == b'@')?];
    let colon = user.iter().position(|byte| *byte == b':')?;
    let password = &user[colon + 1..];
    let is_real = password.len() >= 3 && !b"$[{*%".contains(&password[0]) && !is_placeholder(password);
    is_real.then_some((start + colon + 1, start + user.len()))
}
