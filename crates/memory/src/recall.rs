//! Recall: which words of a query are wanted, and how well a passage answers them.

mod amends;
mod looking;
mod wanted;
mod weights;

pub use self::amends::{amends, decides};
pub use self::looking::{Field, Look, Looker, Spot};
pub use self::wanted::{WantedTerm, common_terms, spelled_like, wanted_terms};
pub use self::weights::{WEIGHTS, Weights};
