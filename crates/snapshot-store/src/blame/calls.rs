//! What an edit call wrote, from its stored input: JSON text, of which the middle may be missing and secrets are replaced.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::decision::{Bare, line, lines_of};

/// What stands in a stored input in place of a secret.
const REDACTED: &str = "[redacted";

/// One change of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Edit {
    /// The file has this content.
    Whole(Vec<u8>),
    /// A text is replaced by another one.
    Replace {
        old: Vec<u8>,
        new: Vec<u8>,
        /// Everywhere, not only once.
        all: bool,
    },
    /// These lines were written, among others, and it is not known where.
    Part(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditCall {
    pub(super) id: String,
    /// When it was done.
    pub(super) at: u64,
    pub(super) edits: Vec<Edit>,
    /// Whether all of its text is known.
    pub(super) is_whole: bool,
}

#[derive(Deserialize)]
struct Input {
    file_path: Option<String>,
    notebook_path: Option<String>,
    content: Option<String>,
    new_source: Option<String>,
    #[serde(flatten)]
    single: OneEdit,
    #[serde(default)]
    edits: Vec<OneEdit>,
    input: Option<String>,
    patch: Option<String>,
}

#[derive(Deserialize)]
struct OneEdit {
    old_string: Option<String>,
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
}

impl OneEdit {
    fn edit(self) -> Option<Edit> {
        let (old, new) = (self.old_string?.into_bytes(), self.new_string?.into_bytes());
        Some(Edit::Replace { old, new, all: self.replace_all })
    }
}

impl EditCall {
    /// Reads a stored call; `is_file` says whether a path, or a name in a patch, means the file. `None` if it is for another one.
    pub(super) fn read(id: &str, at: u64, input: &str, is_file: &dyn Fn(&str) -> bool) -> Option<Self> {
        let call = |edits, is_whole| Self { id: id.to_owned(), at, edits, is_whole };
        let Ok(parsed) = serde_json::from_str::<Input>(input) else {
            // The middle is missing. The path comes first, except in a client that orders its keys otherwise.
            let path = cut_text(input, "\"file_path\"").or_else(|| cut_text(input, "\"notebook_path\""))?;
            return is_file(&path).then(|| call(vec![Edit::Part(unescaped(input).into_bytes())], false));
        };
        if let Some(patch) = parsed.patch.as_deref().or(parsed.input.as_deref()) {
            let added = added_lines(patch, is_file)?;
            return Some(call(vec![Edit::Part(added.into_bytes())], false));
        }
        let path = parsed.file_path.as_deref().or(parsed.notebook_path.as_deref())?;
        if !is_file(path) {
            return None;
        }
        if let Some(source) = parsed.new_source {
            return Some(call(vec![Edit::Part(source.into_bytes())], false));
        }
        let edits: Vec<Edit> = match parsed.content {
            Some(content) => vec![Edit::Whole(content.into_bytes())],
            None => {
                parsed.single.edit().into_iter().chain(parsed.edits.into_iter().filter_map(OneEdit::edit)).collect()
            }
        };
        if input.contains(REDACTED) {
            let parts = edits.into_iter().map(|edit| match edit {
                Edit::Whole(text) | Edit::Part(text) | Edit::Replace { new: text, .. } => Edit::Part(text),
            });
            return Some(call(parts.collect(), false));
        }
        (!edits.is_empty()).then(|| call(edits, true))
    }

    /// Returns the lines that it wrote, as far as they are known.
    pub(super) fn new_lines(&self) -> BTreeSet<Bare> {
        let texts = self.edits.iter().map(|edit| match edit {
            Edit::Whole(text) | Edit::Part(text) | Edit::Replace { new: text, .. } => text,
        });
        let old: BTreeSet<Bare> = self
            .edits
            .iter()
            .filter_map(|edit| match edit {
                Edit::Replace { old, .. } => Some(lines_of(old)),
                Edit::Whole(_) | Edit::Part(_) => None,
            })
            .flatten()
            .map(|text| line(text).bare)
            .collect();
        let new = texts.flat_map(|text| lines_of(text)).filter(|text| !text.trim_ascii().is_empty());
        // What was there before is only repeated by the call, to say where the change is.
        new.map(|text| line(text).bare).filter(|bare| !old.contains(bare)).collect()
    }
}

/// Returns the text of a member of JSON whose end may be missing.
fn cut_text(json: &str, key: &str) -> Option<String> {
    let rest = json[json.find(key)? + key.len()..].trim_start().strip_prefix(':')?.trim_start();
    let mut texts = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    texts.next()?.ok()
}

/// Returns JSON text with the escapes of its strings undone, where they stand.
fn unescaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut chars = json.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                out.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
            }
            other => out.extend(other),
        }
    }
    out
}

/// Returns the lines that a patch adds to a file; `None` if it does not change it.
fn added_lines(patch: &str, is_file: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut added: Option<String> = None;
    let mut is_here = false;
    for line in patch.lines() {
        let name =
            ["*** Add File: ", "*** Update File: ", "*** Move to: "].iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(name) = name {
            is_here = is_file(name.trim());
            if is_here {
                added.get_or_insert_default();
            }
        } else if let Some(text) = line.strip_prefix('+').filter(|_| is_here) {
            let added = added.get_or_insert_default();
            added.push_str(text);
            added.push('\n');
        }
    }
    added
}
