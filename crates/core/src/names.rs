//! Enums whose values have names: in the database, in arguments, in JSON or in the configuration.

/// Declares an enum of which each value has a name: `Working = "working"`. It has `ALL`, `as_str` and `from_name`.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$about:meta])* $variant:ident = $text:literal,)*
        }
    ) => {
        $(#[$meta])*
        $visibility enum $name {
            $($(#[$about])* $variant,)*
        }

        #[allow(dead_code, reason = "not every enum is listed, and not every one is read")]
        impl $name {
            /// Every value.
            $visibility const ALL: [Self; [$($text),*].len()] = [$(Self::$variant),*];

            /// Returns the name of the value.
            $visibility fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// Returns the value with a name.
            $visibility fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == name)
            }
        }
    };
}
