//! What of a text may be stored: nothing private, no secrets, and not too much.

use longhaul_core::text::cut_middle;
use longhaul_core::{Config, private_tags};
use longhaul_memory::{
    REPLY_CHARS, RESPONSE_CHARS, SAID_CHARS, Secrets, input_chars, redact, redact_command, redact_input_commands,
    redacted_ends, strip_json,
};
use longhaul_transcript::DetailKind;

/// Removes from a text what may not be stored. Everything that is stored has been through here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sanitizer {
    secrets: Secrets,
}

impl Sanitizer {
    /// Returns a sanitizer that keeps what `config` allows.
    pub fn new(config: &Config) -> Self {
        Self { secrets: if config.memory.redact_secrets { Secrets::Redact } else { Secrets::Keep } }
    }

    /// Returns whether secrets are replaced.
    pub fn secrets(self) -> Secrets {
        self.secrets
    }

    /// Returns what of a text may be stored.
    pub fn clean(self, text: &str) -> String {
        self.without_secrets(private_tags::strip(text))
    }

    /// Returns what may be stored of a prompt, in at most [`SAID_CHARS`] characters; empty if nothing may.
    ///
    /// Prompts are compared with those that a transcript brings later, so every one of them goes through here.
    pub fn capped(self, text: &str) -> String {
        self.ends(&private_tags::strip(text), SAID_CHARS)
    }

    /// Returns what may be stored of the replies of a turn, in at most [`REPLY_CHARS`] characters; empty if nothing may.
    ///
    /// A reply that a hook reports is compared with those of the transcript, so both go through here.
    pub fn reply(self, text: &str) -> String {
        self.ends(&private_tags::strip(text), REPLY_CHARS)
    }

    /// Returns what of a text may be stored, as one line of at most `max` characters.
    pub fn line(self, text: &str, max: usize) -> String {
        let text = self.clean(text);
        let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        shortened(&words.collect::<Vec<_>>().join(" "), max)
    }

    /// Returns what of a line with a shell command may be stored: also without the secret values of its options.
    pub fn command_line(self, command: &str, max: usize) -> String {
        match self.secrets {
            Secrets::Redact => self.line(&redact_command(command), max),
            Secrets::Keep => self.line(command, max),
        }
    }

    /// Returns what of a text may be stored, in at most `max` characters, without control characters.
    pub fn passage(self, text: &str, max: usize) -> String {
        let printable = |c: &char| *c == '\n' || !c.is_control();
        let text: String = self.clean(text).chars().filter(printable).collect();
        shortened(text.trim(), max)
    }

    /// Returns what may be stored of a piece of detail: the input or output of the tool `name`, an attachment, a thought.
    pub fn detail(self, kind: DetailKind, name: &str, text: &str) -> String {
        match kind {
            // JSON can write a tag with escapes.
            DetailKind::ToolInput => {
                let input = strip_json(text);
                match self.secrets {
                    Secrets::Redact => self.ends(&redact_input_commands(&input), input_chars(name)),
                    Secrets::Keep => self.ends(&input, input_chars(name)),
                }
            }
            DetailKind::ToolOutput | DetailKind::System | DetailKind::Image | DetailKind::Thinking => {
                self.ends(&private_tags::strip(text), RESPONSE_CHARS)
            }
        }
    }

    /// Returns a text that goes on with a private passage, so that it begins as private.
    pub fn reopened(self, text: &str) -> String {
        format!("<private>{text}")
    }

    /// Returns the two ends of a text, `max` characters together.
    fn ends(self, text: &str, max: usize) -> String {
        match self.secrets {
            Secrets::Redact => redacted_ends(text, max),
            Secrets::Keep => cut_middle(text, max),
        }
    }

    fn without_secrets(self, text: String) -> String {
        match self.secrets {
            Secrets::Redact => redact(&text).into_owned(),
            Secrets::Keep => text,
        }
    }
}

fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use longhaul_transcript::DetailKind;

    use super::Sanitizer;

    /// Long JSON is cut as the hooks cut it: never inside an escape.
    #[test]
    fn a_long_input_is_cut_between_its_escapes() {
        for pad in 0..6 {
            let input = format!("{}{}", "a".repeat(pad), "\\u00e9".repeat(2_000));
            let kept = Sanitizer::default().detail(DetailKind::ToolInput, "Edit", &input);
            let (head, rest) = kept.split_once(" [… ").unwrap();
            let tail = rest.split_once(" …] ").unwrap().1;
            assert_eq!((head.trim_start_matches('a').len() % 6, tail.len() % 6), (0, 0), "{kept}");
        }
    }
}
