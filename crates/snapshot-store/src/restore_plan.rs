//! What a restore changes, decided before the first change.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::folders::FolderChange;
use crate::left_out::LeftOut;
use crate::paths::{Change, ancestors, is_below, names_git};

/// What is at a path of the work tree, without following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDisk {
    Nothing,
    File,
    Link,
    Folder,
    /// A folder with its own `.git`.
    Repository,
    /// A pipe, a socket or a device.
    Other,
}

/// The present state of a work tree.
pub trait Disk {
    fn at(&self, path: &[u8]) -> OnDisk;

    /// Returns the paths of everything below a folder that is not a folder.
    fn below(&self, folder: &[u8]) -> Vec<Vec<u8>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    Delete,
    /// A file that exists gets another content or mode.
    Write,
    /// A file that does not exist is created.
    Create,
}

/// Why a restore does not touch a path that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// Something is there that no snapshot holds, so that it could not be brought back.
    NotInSnapshot,
    /// It belongs to another repository.
    OtherRepository,
    /// A folder above it is a link, or a file that is not part of the snapshot.
    Blocked,
    /// A folder is in its place that holds more than the restore deletes.
    FolderInTheWay,
}

impl Refusal {
    /// Returns the reason as a person reads it.
    pub fn about(self) -> &'static str {
        match self {
            Self::NotInSnapshot => "what is there now is ignored or left out, and could not be brought back",
            Self::OtherRepository => "it belongs to another repository",
            Self::Blocked => "a folder above it is a link or a file that is in no snapshot",
            Self::FolderInTheWay => "a folder with files that are in no snapshot has its name",
        }
    }
}

/// Why a file that the snapshot does not hold is not deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeptReason {
    /// It was left out of the snapshot, so it may have existed then.
    LeftOutThen,
    /// It was ignored when the snapshot was taken, so it may have existed then.
    IgnoredThen,
}

/// What a restore changes, keeps and refuses to touch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct RestorePlan {
    /// The changes, in the order in which they are made: deletions first, the deepest path first.
    pub steps: Vec<Change>,
    /// The folders whose permissions change, after all files are written.
    pub folders: Vec<FolderChange>,
    /// Paths that differ and are not touched.
    pub refused: Vec<(Vec<u8>, Refusal)>,
    /// Files that the snapshot does not hold and that stay.
    pub kept: Vec<(Vec<u8>, KeptReason)>,
}

impl RestorePlan {
    /// Plans a restore.
    ///
    /// `changes` lead from a snapshot of the present state to the one that is restored. `left_out` and `ignored` are what
    /// the latter did not hold: they are not deleted.
    pub fn new(changes: &[Change], left_out: &[LeftOut], ignored: &[Vec<u8>], disk: &impl Disk) -> Self {
        let disk = Remembered { disk, seen: RefCell::default() };
        let mut plan = Self::default();
        let ignored: BTreeSet<&[u8]> = ignored.iter().map(Vec::as_slice).collect();
        let mut deleted: BTreeMap<&[u8], &Change> = BTreeMap::new();
        for change in changes.iter().filter(|change| change.after.is_none()) {
            let path = change.path.as_slice();
            if left_out.iter().any(|left| is_below(path, &left.path)) {
                plan.kept.push((path.to_owned(), KeptReason::LeftOutThen));
            } else if ignored.contains(path) {
                plan.kept.push((path.to_owned(), KeptReason::IgnoredThen));
            } else if let Some(refusal) = above(path, &disk, &BTreeMap::new()) {
                plan.refused.push((path.to_owned(), refusal));
            } else {
                deleted.insert(path, change);
            }
        }
        // A folder that stays keeps all its files, so this is decided before the files above and below it.
        let new: Vec<&Change> = changes.iter().filter(|change| change.after.is_some()).collect();
        let mut in_the_way = BTreeSet::new();
        for change in new.iter().filter(|change| change.before.is_none()) {
            let stays = match disk.at(&change.path) {
                OnDisk::Folder => {
                    disk.disk.below(&change.path).iter().any(|path| !deleted.contains_key(path.as_slice()))
                }
                OnDisk::Repository => true,
                OnDisk::Nothing | OnDisk::File | OnDisk::Link | OnDisk::Other => false,
            };
            if stays {
                in_the_way.insert(change.path.as_slice());
                let below: Vec<&[u8]> = deleted.keys().copied().filter(|path| is_below(path, &change.path)).collect();
                for path in below {
                    deleted.remove(path);
                    plan.refused.push((path.to_owned(), Refusal::FolderInTheWay));
                }
            }
        }
        let mut written = Vec::new();
        for change in new {
            let path = change.path.as_slice();
            let refusal = if in_the_way.contains(path) {
                Some(Refusal::FolderInTheWay)
            } else {
                above(path, &disk, &deleted).or_else(|| match (disk.at(path), &change.before) {
                    (OnDisk::Nothing | OnDisk::File | OnDisk::Link, Some(_)) => None,
                    (OnDisk::Nothing | OnDisk::Folder, None) => None,
                    (OnDisk::Folder | OnDisk::Repository, _) => Some(Refusal::FolderInTheWay),
                    (OnDisk::File | OnDisk::Link | OnDisk::Other, _) => Some(Refusal::NotInSnapshot),
                })
            };
            match refusal {
                Some(refusal) => plan.refused.push((path.to_owned(), refusal)),
                None => written.push(change.clone()),
            }
        }
        // Nothing below a folder comes after it, so that the folder is empty when its turn comes.
        plan.steps = deleted.into_values().rev().cloned().collect();
        written.sort_by(|a, b| a.path.cmp(&b.path));
        plan.steps.extend(written);
        plan.refused.sort();
        plan.kept.sort();
        plan
    }

    pub fn changes_something(&self) -> bool {
        !self.steps.is_empty() || !self.folders.is_empty()
    }

    /// Returns the steps of a kind.
    pub(crate) fn of(&self, kind: StepKind) -> impl Iterator<Item = &Change> {
        self.steps.iter().filter(move |step| step.kind() == kind)
    }
}

/// Returns why nothing below the folders above `path` may be changed; `None` if it may.
fn above(path: &[u8], disk: &Remembered<'_, impl Disk>, deleted: &BTreeMap<&[u8], &Change>) -> Option<Refusal> {
    if names_git(path) {
        return Some(Refusal::OtherRepository);
    }
    ancestors(path).find_map(|folder| match disk.at(folder) {
        OnDisk::Nothing | OnDisk::Folder => None,
        OnDisk::Repository => Some(Refusal::OtherRepository),
        OnDisk::File | OnDisk::Link if deleted.contains_key(folder) => None,
        OnDisk::File | OnDisk::Link | OnDisk::Other => Some(Refusal::Blocked),
    })
}

/// What is on the disk, asked once for each path.
struct Remembered<'a, D> {
    disk: &'a D,
    seen: RefCell<BTreeMap<Vec<u8>, OnDisk>>,
}

impl<D: Disk> Remembered<'_, D> {
    fn at(&self, path: &[u8]) -> OnDisk {
        if let Some(known) = self.seen.borrow().get(path) {
            return *known;
        }
        let found = self.disk.at(path);
        self.seen.borrow_mut().insert(path.to_owned(), found);
        found
    }
}
