//! The file of the static model. Its head is in memory; its rows are read when needed.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use longhaul_core::Env;
use longhaul_core::config::VectorSource;
use longhaul_memory::embedding::{MAX_BYTES, Mean, Model, Shape, Vector, Vocabulary};
use longhaul_universal_bundle::Location;

use crate::files::FileIdentity;
use crate::{Error, bounded_read};

/// The path of the model inside a bundle, beside `bin/`.
const IN_BUNDLE: &str = "model/static.lhvec";

/// An open model file.
#[derive(Debug)]
pub(super) struct ModelFile {
    path: PathBuf,
    file: File,
    identity: FileIdentity,
    vocabulary: Vocabulary,
}

impl ModelFile {
    /// Opens the configured file, or otherwise that of the bundle; `None` if there is none.
    pub(super) fn find(env: &Env, source: &VectorSource) -> Result<Option<Self>, Error> {
        match source.file(env.home_dir.as_deref()) {
            Some(path) => Self::open(&path).map(Some),
            None => match in_bundle() {
                Some(path) => Self::open(&path).map(Some),
                None => Ok(None),
            },
        }
    }

    fn open(path: &Path) -> Result<Self, Error> {
        let unread = |source| Error::Read { path: path.to_owned(), source };
        let unfit = |problem| Error::Model { path: path.to_owned(), problem };
        // Before it is read: a change from now on is noticed.
        let identity = FileIdentity::with_content(path);
        let file = bounded_read::open(path).map_err(unread)?;
        let mut beginning = [0; Shape::BYTES];
        let read = file.read_at(&mut beginning, 0).map_err(unread)?;
        let shape = Shape::parse(&beginning[..read]).map_err(unfit)?;
        let mut head = vec![0; shape.head_bytes()];
        file.read_exact_at(&mut head, 0).map_err(unread)?;
        let vocabulary = Vocabulary::parse(head).map_err(unfit)?;
        Ok(Self { path: path.to_owned(), file, identity, vocabulary })
    }

    /// Returns the id of the model.
    pub(super) fn id(&self) -> &str {
        self.vocabulary.id()
    }

    /// Returns the dimensions of its vectors.
    pub(super) fn dims(&self) -> usize {
        self.vocabulary.shape().dims
    }

    /// Returns whether the same file is still at its path, with the same content.
    pub(super) fn is_unchanged(&self) -> bool {
        self.identity.is_unchanged()
    }

    /// Returns whether the model knows a whole word of a text, and not only pieces of words.
    pub(super) fn knows_any_word(&self, text: &str) -> bool {
        self.vocabulary.knows_any_word(text)
    }

    /// Computes the vector of a short text, by reading only the rows that it needs.
    pub(super) fn embed(&self, text: &str) -> Result<Option<Vector>, Error> {
        let shape = self.vocabulary.shape();
        let mut mean = Mean::new(shape.dims);
        let (mut row, mut scale) = (vec![0; shape.dims], [0; 4]);
        for token in self.vocabulary.tokens(text) {
            self.read_at(&mut scale, shape.scale_offset(token))?;
            self.read_at(&mut row, shape.row_offset(token))?;
            mean.add(&row, f32::from_le_bytes(scale));
        }
        Ok(mean.finish())
    }

    /// Reads the whole model, for many texts.
    pub(super) fn load(&self) -> Result<Model, Error> {
        let length = self.file.metadata().map_err(|source| self.unread(source))?.len().min(MAX_BYTES);
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        self.read_at(&mut bytes, 0)?;
        Model::parse(bytes).map_err(|problem| Error::Model { path: self.path.clone(), problem })
    }

    fn read_at(&self, bytes: &mut [u8], offset: usize) -> Result<(), Error> {
        self.file.read_exact_at(bytes, offset as u64).map_err(|source| self.unread(source))
    }

    fn unread(&self, source: std::io::Error) -> Error {
        Error::Read { path: self.path.clone(), source }
    }
}

/// Returns the model of the bundle that contains this executable.
fn in_bundle() -> Option<PathBuf> {
    let executable = std::fs::canonicalize(std::env::current_exe().ok()?).ok()?;
    Some(Location::of(&executable)?.bundle.join(IN_BUNDLE)).filter(|path| path.is_file())
}
