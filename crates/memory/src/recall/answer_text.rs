//! An answer as lines of text, for a terminal and for a model.

use longhaul_core::{counted, short_session};

use super::answer::{Answer, AnswerPassage, AnswerSession, PassageKind};
use super::marked_text::MarkedText;
use crate::text::one_line;

/// Maximum length of a project's name, in characters.
const NAME_CHARS: usize = 60;

/// The kind of a piece of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinePart {
    /// Text of the record.
    Text,
    /// A word of the question in it.
    Word,
    /// The id of a record.
    Id,
    /// A label that Longhaul adds.
    Label,
}

/// A line in pieces.
pub type AnswerLine = Vec<(String, LinePart)>;

impl Answer {
    /// Returns the answer as lines.
    pub fn lines(&self) -> Vec<AnswerLine> {
        let mut lines = Vec::new();
        if self.is_weak {
            lines.push(vec![label("No passage has most of these words. The closest:")]);
        }
        let projects = self.sessions.iter().any(|session| session.project != self.sessions[0].project);
        for session in &self.sessions {
            lines.push(vec![label(&heading(session, projects))]);
            for passage in &session.passages {
                add_passage(&mut lines, session, passage, self.is_weak);
            }
        }
        if self.left_out > 0 && !self.is_empty() {
            let left = counted(self.left_out, "more result");
            lines.push(vec![label(&format!("({left} not shown)"))]);
        }
        lines
    }
}

/// Returns an answer as text.
pub(super) fn text(answer: &Answer) -> String {
    let line = |line: AnswerLine| line.into_iter().map(|(text, _)| text).collect::<String>();
    answer.lines().into_iter().map(line).collect::<Vec<_>>().join("\n")
}

fn label(text: &str) -> (String, LinePart) {
    (text.to_owned(), LinePart::Label)
}

fn heading(session: &AnswerSession, projects: bool) -> String {
    let name = session.session.as_deref().map(|session| format!(", session {}", short_session(session)));
    let project =
        if projects { format!(", project {}", one_line(&session.project, NAME_CHARS)) } else { String::new() };
    format!("{}{}{project}:", session.date, name.unwrap_or_default())
}

fn add_passage(lines: &mut Vec<AnswerLine>, session: &AnswerSession, passage: &AnswerPassage, all_are_weak: bool) {
    let found = &passage.found;
    let mut signs = Vec::new();
    if found.date != session.date {
        signs.push(found.date.clone());
    }
    signs.push(found.time.clone());
    signs.extend(found.host.as_ref().map(|host| format!("@{}", one_line(host, NAME_CHARS))));
    if found.is_older {
        signs.push("(older: a newer one answers the same question)".to_owned());
    }
    if found.is_weak && !all_are_weak {
        signs.push("(weak)".to_owned());
    }
    let kind = match found.kind {
        PassageKind::Exchange => "asked",
        PassageKind::Note | PassageKind::Decision | PassageKind::Work | PassageKind::Summary => found.kind.as_str(),
    };
    let mut first = vec![(found.id.clone(), LinePart::Id), label(&format!("  {}  {kind}: ", signs.join(" ")))];
    let mut rows = rows(&passage.asked).into_iter();
    first.extend(rows.next().unwrap_or_default());
    lines.push(first);
    rows.for_each(|row| lines.push(indented(row, "    ")));
    let mut lead = if found.kind == PassageKind::Exchange { "  answered: " } else { "  " };
    for row in self::rows(&passage.answered) {
        lines.push(indented(row, lead));
        lead = "    ";
    }
}

fn indented(row: AnswerLine, by: &str) -> AnswerLine {
    std::iter::once(label(by)).chain(row).collect()
}

/// Returns the lines of a text; none for an empty one.
fn rows(text: &MarkedText) -> Vec<AnswerLine> {
    let mut rows: Vec<AnswerLine> = Vec::new();
    for (piece, is_marked) in text.pieces() {
        let part = if is_marked { LinePart::Word } else { LinePart::Text };
        for (number, line) in piece.split('\n').enumerate() {
            if number > 0 || rows.is_empty() {
                rows.push(Vec::new());
            }
            if let Some(row) = rows.last_mut().filter(|_| !line.is_empty()) {
                row.push((line.to_owned(), part));
            }
        }
    }
    rows
}
