//! Passwords in addresses: `scheme://user:…@host`.

use super::assignments::is_quote;
use super::placeholder::is_placeholder;

/// Maximum length of the user, the password and the host together, in bytes.
const USER_BYTES: usize = 300;

/// Returns the password of the address whose `://` is at `at`.
pub(super) fn address_password(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let start = at + 3;
    let ends = |byte: &u8| byte.is_ascii_whitespace() || is_quote(*byte) || b"<>\\()".contains(byte);
    let near = &bytes[start..bytes.len().min(start + USER_BYTES)];
    let near = &near[..near.iter().position(ends).unwrap_or(near.len())];
    let plain = near.iter().position(|byte| b"/?#,".contains(byte)).unwrap_or(near.len());
    // A password may hold an `@` that should have been encoded.
    let (user, is_plain) = match near[..plain].iter().rposition(|byte| *byte == b'@') {
        Some(end) => (&near[..end], true),
        // So should `/`, `?`, `#` and `,`. In a path there may be an `@`, too.
        None => (&near[..near.iter().position(|byte| *byte == b'@')?], false),
    };
    let colon = user.iter().position(|byte| *byte == b':')?;
    let (name, password) = (&user[..colon], &user[colon + 1..]);
    let is_port = || password.iter().take_while(|byte| byte.is_ascii_digit()).count() + colon + 1 >= plain;
    if !is_plain && (plain < colon || name.is_empty() || name.contains(&b'.') || name == b"localhost" || is_port()) {
        return None;
    }
    let is_real = password.len() >= 3 && !b"$[{*%".contains(&password[0]) && !is_placeholder(password);
    is_real.then_some((start + colon + 1, start + user.len()))
}
