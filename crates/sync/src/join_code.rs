//! The one line that another machine types to join a circle.

use std::fmt;

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};

use crate::{CircleId, CircleKey};

/// What every code begins with.
const PREFIX: &str = "longhaul-join-1-";
const CHECKSUM: usize = 4;

/// What another machine needs to join a circle. It contains the key: it is as secret as the key.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinCode {
    /// The circle.
    pub circle: CircleId,
    /// Its newest key.
    pub key: CircleKey,
    /// The address of the engine, such as `postgres://…` or `folder:PATH`.
    pub engine: String,
}

impl fmt::Debug for JoinCode {
    /// The address may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinCode").field("circle", &self.circle).finish_non_exhaustive()
    }
}

/// Why a text is not a join code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JoinCodeError {
    /// It is something else.
    #[error("this is not a join code: it begins with {PREFIX}")]
    NoCode,
    /// A part is missing or wrong.
    #[error("the join code is incomplete or has a typing error")]
    Damaged,
}

impl JoinCode {
    /// Returns its text: one word of letters, digits, `-` and `_`.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        bytes.extend(self.circle.as_bytes());
        bytes.extend(self.key.as_bytes());
        bytes.extend(self.engine.as_bytes());
        bytes.extend(checksum(&bytes));
        format!("{PREFIX}{}", BASE64URL_NOPAD.encode(&bytes))
    }

    /// Reads a code. White space in it, as a terminal adds where it breaks a line, does not matter.
    pub fn from_text(text: &str) -> Result<Self, JoinCodeError> {
        let text: String = text.split_whitespace().collect();
        let code = text.strip_prefix(PREFIX).ok_or(JoinCodeError::NoCode)?;
        let bytes = BASE64URL_NOPAD.decode(code.as_bytes()).map_err(|_| JoinCodeError::Damaged)?;
        let split = bytes.len().checked_sub(CHECKSUM).ok_or(JoinCodeError::Damaged)?;
        let (content, sum) = bytes.split_at(split);
        if sum != checksum(content) {
            return Err(JoinCodeError::Damaged);
        }
        let (circle, rest) = content.split_first_chunk::<16>().ok_or(JoinCodeError::Damaged)?;
        let (key, engine) = rest.split_first_chunk::<32>().ok_or(JoinCodeError::Damaged)?;
        let engine = std::str::from_utf8(engine).map_err(|_| JoinCodeError::Damaged)?;
        Ok(Self { circle: CircleId::from_bytes(*circle), key: CircleKey::new(*key), engine: engine.to_owned() })
    }
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let sum = Sha256::digest(bytes);
    [sum[0], sum[1], sum[2], sum[3]]
}
