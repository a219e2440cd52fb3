#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

pub mod catalog;
pub mod clock;
pub mod config;
mod env;
pub mod event;
pub mod hash;
pub mod json_text;
pub mod private_tags;
pub mod record;
pub mod reply;
mod session;
pub mod text;

pub use crate::clock::{Millis, parse_timestamp};
pub use crate::config::Config;
pub use crate::env::{Env, Platform, may_receive_secret};
pub use crate::reply::Reply;
pub use crate::session::{AGENTS_WITH_SEVERAL_SESSIONS, OTHER_AGENTS, SessionId, Status, short_session};
pub use crate::text::{counted, grouped, one_line};

/// Declares an enum whose values have names, such as `Rule = "rule"`: with `ALL`, `as_str` and `from_name`.
#[macro_export]
macro_rules! named {
    (
        $(#[$about:meta])*
        $visibility:vis enum $type:ident { $($(#[$of_value:meta])* $value:ident = $name:literal),* $(,)? }
    ) => {
        $(#[$about])*
        $visibility enum $type { $($(#[$of_value])* $value),* }

        impl $type {
            /// Every value.
            $visibility const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            /// Returns its name.
            $visibility const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $name),* }
            }

            /// Returns the value with this name.
            $visibility fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == name)
            }
        }
    };
}

#[cfg(test)]
mod tests;
