//! Removing text that must not be stored: tagged as private, or added to the conversation by tools.

/// The tags whose content is removed before anything is stored.
pub(crate) const TAGS: [&str; 4] = ["private", "longhaul-context", "claude-mem-context", "system-reminder"];

/// The number of private passages after which the rest of a text is dropped. No user writes so many by hand.
const MAX_PASSAGES: usize = 100;

/// The length of terminal sequences that is allowed for in a tag whose halves come together.
const COLOURS: usize = 64;

/// Returns `text` without the content of private tags.
///
/// Tags may have attributes and may be nested. An unclosed tag hides the rest of the text. Takes linear time.
pub fn strip(text: &str) -> String {
    Stripper::default().strip(text)
}

/// Returns whether the user has marked a part of `text` as private.
pub fn hold_passage(text: &str) -> bool {
    let begins = |after: &str| after.get(..TAGS[0].len()).is_some_and(|name| name.eq_ignore_ascii_case(TAGS[0]));
    text.split('<').skip(1).any(begins) && strip(text).len() < text.len()
}

/// Returns whether `text` ends inside a private passage, so that text after it is private, too.
pub fn leaves_open(text: &str) -> bool {
    let mut stripper = Stripper::default();
    stripper.strip(text);
    stripper.is_open()
}

/// Returns whether `raw`, the content of a JSON string with its escapes, may contain a private tag.
///
/// `false` is certain. A tag that is partly written in escapes can only be recognized by decoding: for such text the
/// result is `true`.
pub fn may_hold_tag(raw: &str) -> bool {
    let signs = raw.split('<').skip(1).chain(raw.split("\\u003c").skip(1)).chain(raw.split("\\u003C").skip(1));
    signs.into_iter().any(|after| may_begin_tag(after.as_bytes()))
}

/// Returns whether `after`, the bytes after a `<` in the content of a JSON string, may complete a private tag.
pub fn may_begin_tag(after: &[u8]) -> bool {
    let name = after.strip_prefix(b"/").unwrap_or(after);
    TAGS.iter().any(|tag| {
        let same = name.iter().zip(tag.as_bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        same == tag.len() || name.get(same) == Some(&b'\\')
    })
}

/// Removes private passages from a text that comes in pieces. A passage may begin in one piece and end in a later one.
#[derive(Debug, Default)]
pub struct Stripper {
    depth: usize,
    /// The number of opening tags so far. Closing tags are not counted, because each passage would count twice.
    passages: usize,
}

impl Stripper {
    /// Returns whether the next piece begins inside a private passage.
    pub fn is_open(&self) -> bool {
        self.depth > 0 || self.is_spent()
    }

    /// Returns the part of the next piece that is not private; nothing after too many passages.
    ///
    /// The result contains no private tag, not even one whose halves stood before and after a removed passage.
    pub fn strip(&mut self, text: &str) -> String {
        let mut kept = String::with_capacity(if self.is_open() { 0 } else { text.len() });
        let mut rest = text;
        while let Some(at) = rest.find('<').filter(|_| !self.is_spent()) {
            let (before, from_tag) = rest.split_at(at);
            if self.depth == 0 {
                kept.push_str(before);
            }
            let Some(tag) = Tag::read(from_tag) else {
                if self.depth == 0 {
                    kept.push('<');
                }
                rest = &from_tag[1..];
                continue;
            };
            rest = &from_tag[tag.length..];
            self.count(&tag);
            if !self.is_open() {
                separate(&mut kept, rest);
            }
        }
        if self.is_open() {
            separate(&mut kept, "");
        } else {
            kept.push_str(rest);
        }
        kept
    }

    fn count(&mut self, tag: &Tag) {
        self.passages += usize::from(!matches!(tag.kind, Kind::Closing));
        self.depth = match tag.kind {
            Kind::Opening => self.depth + 1,
            Kind::Closing => self.depth.saturating_sub(1),
            Kind::Empty => self.depth,
        };
    }

    fn is_spent(&self) -> bool {
        self.passages > MAX_PASSAGES
    }
}

/// Replaces a `<` near the end of `kept` that would open a private tag together with `rest`.
fn separate(kept: &mut String, rest: &str) {
    let longest = TAGS.iter().map(|tag| tag.len()).max().unwrap_or_default() + "</".len() + COLOURS;
    let near = kept.len().saturating_sub(longest);
    let Some(at) = kept.as_bytes()[near..].iter().rposition(|byte| *byte == b'<').map(|at| near + at) else {
        return;
    };
    let joined: String = kept[at..].chars().chain(rest.chars().take(longest + 1)).collect();
    if Tag::read(&joined).is_some() {
        // The sign is replaced, not removed: without it, the text around it could form another tag.
        kept.replace_range(at..=at, "‹");
    }
}

struct Tag {
    kind: Kind,
    length: usize,
}

enum Kind {
    Opening,
    Closing,
    Empty,
}

impl Tag {
    /// Parses a private tag at the beginning of `text`. A tag without a `>` reaches to the end of the text.
    ///
    /// Terminal sequences around the name are skipped: `grep --color=always private` writes them.
    fn read(text: &str) -> Option<Self> {
        let body = skip_sequences(text.strip_prefix('<')?);
        let (closing, body) = body.strip_prefix('/').map_or((false, body), |body| (true, skip_sequences(body)));
        let name = TAGS.iter().find(|name| has_prefix_ignoring_case(body, name))?;
        let after = skip_sequences(&body[name.len()..]);
        // `<privateer>` is not a private tag.
        if !after.is_empty() && !after.starts_with(['>', '/']) && !after.starts_with(char::is_whitespace) {
            return None;
        }
        // A tag without a `>` ends where the next one begins, so that the next one is recognized, too.
        let end = after.find(['>', '<']);
        let is_ended = end.is_some_and(|end| after[end..].starts_with('>'));
        let length = end.map_or(text.len(), |end| text.len() - after.len() + end + usize::from(is_ended));
        let empty = is_ended && end.is_some_and(|end| after[..end].ends_with('/'));
        let kind = match (closing, empty) {
            (true, _) => Kind::Closing,
            (false, true) => Kind::Empty,
            (false, false) => Kind::Opening,
        };
        Some(Self { kind, length })
    }
}

/// Returns `text` without leading terminal sequences.
fn skip_sequences(text: &str) -> &str {
    let mut text = text;
    while let Some(sequence) = text.strip_prefix("\u{1b}[") {
        let rest = sequence.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        text = rest.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(rest);
    }
    text
}

fn has_prefix_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
