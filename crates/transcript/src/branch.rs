//! Finding the turns that a rewind took back.
//!
//! `/rewind` fires no hook and rewrites nothing: the next prompt has an earlier entry as its parent. Not every fork is a
//! rewind: the results of parallel calls each have their own call as parent. So a turn counts as taken back only where
//! the prompt that began it is not an ancestor of the newest entry.

use std::collections::{HashMap, HashSet};

/// The position of an entry in the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The entry's id.
    pub uuid: String,
    /// The id of the entry that it follows.
    pub parent: Option<String>,
    /// The id of its turn; its own id where it begins the turn.
    pub turn: Option<String>,
}

impl Link {
    /// Returns whether the entry begins a turn. `/rewind` lists those entries.
    pub fn begins_turn(&self) -> bool {
        self.turn.as_deref() == Some(&self.uuid)
    }
}

/// Returns whether a rewind may be among the new `links`, so that [`replaced_turns`] must be called with all links.
///
/// `tip` is the id of the last entry before them. The result is `false` in most cases: a prompt usually follows the entry
/// before it.
pub fn may_rewind(tip: Option<&str>, links: &[Link]) -> bool {
    let before = std::iter::once(tip).chain(links.iter().map(|link| Some(link.uuid.as_str())));
    links.iter().zip(before).any(|(link, before)| link.begins_turn() && link.parent.as_deref() != before)
}

/// Returns the ids of the turns that are no longer part of the conversation, in the order of the file.
///
/// `links` are all entries of the main conversation in the order of the file. Where an entry's parent is unknown (it could
/// not be read, or a compaction does not name it), the entry before it in the file is used instead. A prompt without a
/// parent starts a new conversation: everything before it was taken back. Where the parents form a cycle, the file is
/// damaged, and no turn is returned.
pub fn replaced_turns(links: &[Link]) -> Vec<&str> {
    let positions: HashMap<&str, usize> =
        links.iter().enumerate().map(|(index, link)| (link.uuid.as_str(), index)).collect();
    let mut live = HashSet::new();
    let mut next = links.len().checked_sub(1);
    while let Some(index) = next {
        let link = &links[index];
        if !live.insert(link.uuid.as_str()) {
            return Vec::new();
        }
        next = match &link.parent {
            None if link.begins_turn() => None,
            None => index.checked_sub(1),
            Some(parent) => positions.get(parent.as_str()).copied().or(index.checked_sub(1)),
        };
    }
    let mut returned = HashSet::new();
    links
        .iter()
        .filter(|link| link.begins_turn() && !live.contains(link.uuid.as_str()))
        .map(|link| link.uuid.as_str())
        .filter(|turn| returned.insert(*turn))
        .collect()
}
