#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod dialog_reading;
mod filter;
mod host_rows;
mod key;
mod layout;
mod order;
mod session_numbers;
mod session_row;
mod text_input;
mod view;

pub use crate::dialog_reading::DialogReading;
pub use crate::filter::matches;
pub use crate::host_rows::{HostRowsError, MAX_ROWS, rows_of_host};
pub use crate::key::{Key, KeyHelp, keys};
pub use crate::layout::{Areas, Column, Columns};
pub use crate::order::sort;
pub use crate::session_numbers::SessionNumbers;
pub use crate::session_row::{PaneAddress, RowId, SessionRow};
pub use crate::text_input::TextInput;
pub use crate::view::{Answer, Command, Mode, Tab, TextFor, View};

#[cfg(test)]
mod tests;
