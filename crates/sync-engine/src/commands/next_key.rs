//! A key that is to become the circle's. It is stored before the engine gets it: a circle whose key was lost could not be used.

use std::fs;
use std::path::PathBuf;

use longhaul_runtime::{bounded_read, files, sync};
use longhaul_sync::{CircleError, CircleHeader, CircleKey};

use super::CommandError;
use super::context::Context;

/// A key, and the epoch of the header that makes it the circle's.
pub(super) struct NextKey {
    pub(super) key: CircleKey,
    pub(super) epoch: u32,
}

/// What a header says about the next key.
#[derive(Debug, PartialEq, Eq)]
enum Fate {
    /// It is the key of the circle.
    IsCurrent,
    /// The engine may still store the header that makes it the key: a server goes on when its client has ended.
    MayCome,
    /// The circle has got another key instead.
    IsUseless,
}

impl NextKey {
    /// Reads the file; `None` if there is none, or it is damaged.
    pub(super) fn read(context: &Context) -> Result<Option<Self>, CommandError> {
        let text = bounded_read::text(&file(context)?, bounded_read::SMALL);
        Ok(text.ok().and_then(|text| Self::parse(&text)))
    }

    /// Returns the key of the words in the first line, for the epoch in the second.
    fn parse(text: &str) -> Option<Self> {
        let (words, epoch) = text.trim().split_once('\n').unwrap_or((text, "1"));
        Some(Self { key: CircleKey::from_words(words).ok()?, epoch: epoch.trim().parse().ok()? })
    }

    /// Writes the file.
    pub(super) fn write(&self, context: &Context) -> Result<(), CommandError> {
        Ok(files::replace(&file(context)?, format!("{}\n{}\n", self.key.words(), self.epoch).as_bytes())?)
    }

    fn fate(&self, header: &CircleHeader) -> Fate {
        match header.unlock(&self.key) {
            Err(CircleError::WrongKey) if header.epoch >= self.epoch => Fate::IsUseless,
            Err(CircleError::WrongKey) => Fate::MayCome,
            // The key is verified before the older keys are read.
            Ok(_) | Err(CircleError::Damaged) => Fate::IsCurrent,
            // Nothing is known about the key. The error is reported where the circle is opened.
            Err(CircleError::NewerSchema { .. } | CircleError::OlderKey { .. } | CircleError::OtherCircle) => {
                Fate::MayCome
            }
        }
    }

    /// Returns the key that opens a circle: this one if it has become the key, else `current`.
    ///
    /// Removes the file when it is not needed any more.
    pub(super) fn settle(
        self,
        context: &Context,
        header: &CircleHeader,
        current: CircleKey,
    ) -> Result<CircleKey, CommandError> {
        match self.fate(header) {
            Fate::MayCome => Ok(current),
            Fate::IsUseless => {
                remove(context)?;
                Ok(current)
            }
            Fate::IsCurrent => {
                // A command of the user may still print the older key: then this file is the only place of the newer one.
                if context.config.sync.key_command.0.is_empty() || current == self.key {
                    sync::write_key_words(&context.env, &self.key.words())?;
                    remove(context)?;
                }
                Ok(self.key)
            }
        }
    }
}

/// Removes the file.
pub(super) fn remove(context: &Context) -> Result<(), CommandError> {
    let path = file(context)?;
    fs::remove_file(&path).map_err(|source| longhaul_runtime::Error::Write { path, source }.into())
}

fn file(context: &Context) -> Result<PathBuf, CommandError> {
    Ok(sync::key_file(&context.env)?.with_file_name("sync.key.next"))
}

#[cfg(test)]
mod tests {
    use longhaul_sync::{CircleHeader, CircleId, CircleKey};

    use super::{Fate, NextKey};

    #[test]
    fn a_key_is_kept_until_a_header_of_its_epoch_is_seen() {
        let [first, next, other] = [1, 2, 3].map(|byte| CircleKey::new([byte; 32]));
        let header = CircleHeader::new(CircleId::random([1; 16]), &first, &[2; 24]);
        let ring = header.unlock(&first).unwrap();
        let waiting = NextKey { key: next.clone(), epoch: 2 };
        assert_eq!(waiting.fate(&header), Fate::MayCome);
        assert_eq!(waiting.fate(&CircleHeader::rotated(&ring, &next, || [4; 24])), Fate::IsCurrent);
        assert_eq!(waiting.fate(&CircleHeader::rotated(&ring, &other, || [4; 24])), Fate::IsUseless);
        let read = NextKey::parse(&format!("{}\n2\n", next.words())).unwrap();
        assert!(read.key == next && read.epoch == 2);
        assert_eq!(NextKey::parse(&next.words()).unwrap().epoch, 1);
        assert!(NextKey::parse("not a key").is_none());
    }
}
