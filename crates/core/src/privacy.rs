//! Text that must not be stored: tagged as private, or put into the conversation by tools.

/// Tags whose content is removed before anything is written anywhere.
const TAGS: [&str; 4] = ["private", "longhaul-context", "claude-mem-context", "system-reminder"];

/// After this many tags everything that follows is dropped: nobody writes so many by hand.
const MAX_TAGS: usize = 100;

/// Returns `text` without what stands in private tags.
///
/// Attributes are allowed, nesting is followed, an unclosed tag hides the rest. One pass, linear in the text.
pub fn strip(text: &str) -> String {
    scan(text).0
}

/// Returns whether `text` ends inside a private passage: what follows it is private, too.
pub fn leaves_open(text: &str) -> bool {
    scan(text).1
}

/// Returns what is not private, and whether the end is.
fn scan(text: &str) -> (String, bool) {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut depth = 0_usize;
    let mut tags = 0;
    while let Some(at) = rest.find('<') {
        let (before, from_tag) = rest.split_at(at);
        if depth == 0 {
            kept.push_str(before);
        }
        match Tag::read(from_tag) {
            Some(tag) => {
                tags += 1;
                if tags > MAX_TAGS {
                    return (kept, true);
                }
                depth = match tag.kind {
                    Kind::Opening => depth + 1,
                    Kind::Closing => depth.saturating_sub(1),
                    Kind::Empty => depth,
                };
                rest = &from_tag[tag.length..];
            }
            None => {
                if depth == 0 {
                    kept.push('<');
                }
                rest = &from_tag[1..];
            }
        }
    }
    if depth == 0 {
        kept.push_str(rest);
    }
    (kept, depth > 0)
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
    /// Reads one of our tags at the beginning of `text`. One that is not ended hides everything behind it.
    fn read(text: &str) -> Option<Self> {
        let body = text.strip_prefix('<')?;
        let (closing, body) = body.strip_prefix('/').map_or((false, body), |body| (true, body));
        let name = TAGS.iter().find(|name| has_prefix_ignoring_case(body, name))?;
        let after = &body[name.len()..];
        // `<privateer>` is another word.
        if !after.is_empty() && !after.starts_with(['>', '/']) && !after.starts_with(char::is_whitespace) {
            return None;
        }
        let end = after.find('>');
        let length = end.map_or(text.len(), |end| text.len() - after.len() + end + 1);
        let empty = end.is_some_and(|end| after[..end].ends_with('/'));
        let kind = match (closing, empty) {
            (true, _) => Kind::Closing,
            (false, true) => Kind::Empty,
            (false, false) => Kind::Opening,
        };
        Some(Self { kind, length })
    }
}

fn has_prefix_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
