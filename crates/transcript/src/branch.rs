//! Which turns a rewind took back.
//!
//! `/rewind` fires no hook and rewrites nothing: the next prompt simply follows an earlier entry. Not every fork is a
//! rewind, though: the results of parallel calls each follow their own call. So a turn counts as taken back only when
//! the entry that began it, a prompt, is not among the ancestors of the newest entry.

use std::collections::{HashMap, HashSet};

/// An entry's place in the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The entry.
    pub uuid: String,
    /// The entry that it follows.
    pub parent: Option<String>,
    /// The turn that it is in; its own uuid where it begins one.
    pub turn: Option<String>,
}

impl Link {
    /// Returns whether a turn begins here: a place that `/rewind` lists.
    pub fn begins_turn(&self) -> bool {
        self.turn.as_deref() == Some(&self.uuid)
    }
}

/// Returns whether one of the new `links` may be a rewind, so that [`replaced_turns`] is worth asking over all links.
///
/// `tip` is the last entry before them. `false` is the rule: a prompt follows the entry written just before it.
pub fn may_rewind(tip: Option<&str>, links: &[Link]) -> bool {
    let before = std::iter::once(tip).chain(links.iter().map(|link| Some(link.uuid.as_str())));
    links.iter().zip(before).any(|(link, before)| link.begins_turn() && link.parent.as_deref() != before)
}

/// Returns the turns that are no longer part of the conversation, in the order of the file.
///
/// `links` are all entries of the main conversation in the order of the file. Where the chain is broken (an entry
/// that could not be read, a compaction that does not say what it follows) the entry before in the file stands in. A
/// prompt that follows nothing begins afresh: everything before it was taken back. A cycle is damage: nothing was.
pub fn replaced_turns(links: &[Link]) -> Vec<&str> {
    let place: HashMap<&str, usize> =
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
            Some(parent) => place.get(parent.as_str()).copied().or(index.checked_sub(1)),
        };
    }
    let mut told = HashSet::new();
    links
        .iter()
        .filter(|link| link.begins_turn() && !live.contains(link.uuid.as_str()))
        .map(|link| link.uuid.as_str())
        .filter(|turn| told.insert(*turn))
        .collect()
}
