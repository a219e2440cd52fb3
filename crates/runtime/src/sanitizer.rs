//! What of a text may be kept: nothing private, no secret, not too much.

use longhaul_core::{Config, private_tags};
use longhaul_handoff::{Action, skeleton};
use longhaul_memory::{INPUT_CHARS, RESPONSE_CHARS, SAID_CHARS, Secrets, cap, redact, redacted_ends, strip_json};
use longhaul_store::{Clean, Work};
use longhaul_transcript::DetailKind;

/// Decides what of a text is kept. Whatever is stored has been through here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Keeper {
    secrets: Secrets,
}

impl Keeper {
    /// Returns one that keeps what `config` allows.
    pub fn new(config: &Config) -> Self {
        Self { secrets: if config.memory.redact_secrets { Secrets::Redact } else { Secrets::Keep } }
    }

    /// Returns what becomes of secrets.
    pub(crate) fn secrets(self) -> Secrets {
        self.secrets
    }

    /// Returns what of a text may be kept.
    pub fn clean(self, text: &str) -> String {
        self.without_secrets(private_tags::strip(text))
    }

    /// Returns what may be kept of a prompt or a reply, in at most [`SAID_CHARS`] characters.
    ///
    /// Prompts are compared with what a transcript brings later, so every one of them goes through here.
    pub fn capped(self, text: &str) -> String {
        self.ends(&private_tags::strip(text), SAID_CHARS)
    }

    /// Returns what of a text may be kept, as one line of at most `max` characters.
    pub fn line(self, text: &str, max: usize) -> String {
        let text = self.clean(text);
        let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        shortened(&words.collect::<Vec<_>>().join(" "), max)
    }

    /// Returns what of a text may be kept, in at most `max` characters, as something that can be shown.
    pub fn passage(self, text: &str, max: usize) -> String {
        let printable = |c: &char| *c == '\n' || !c.is_control();
        let text: String = self.clean(text).chars().filter(printable).collect();
        shortened(text.trim(), max)
    }

    fn ends(self, text: &str, max: usize) -> String {
        match self.secrets {
            Secrets::Redact => redacted_ends(text, max),
            Secrets::Keep => cap(text, max),
        }
    }

    fn without_secrets(self, text: String) -> String {
        match self.secrets {
            Secrets::Redact => redact(&text).into_owned(),
            Secrets::Keep => text,
        }
    }
}

impl Clean for Keeper {
    fn said(&self, text: &str) -> String {
        self.capped(text)
    }

    fn leaves_open(&self, text: &str) -> bool {
        private_tags::leaves_open(text)
    }

    fn reopened(&self, text: &str) -> String {
        format!("<private>{text}")
    }

    fn detail(&self, kind: DetailKind, text: &str) -> String {
        match kind {
            // JSON can write a tag in other words.
            DetailKind::ToolInput => self.ends(&strip_json(text), INPUT_CHARS),
            _ => self.ends(&private_tags::strip(text), RESPONSE_CHARS),
        }
    }

    fn skeleton(&self, work: &Work) -> String {
        let actions: Vec<Action<'_>> =
            work.actions.iter().map(|(tool, input, is_error)| Action { tool, input, is_error: *is_error }).collect();
        skeleton(&longhaul_handoff::Work {
            asked: &work.asked,
            answered: &work.answered,
            actions: &actions,
            interrupted: work.interrupted,
            failure: work.failure.as_deref(),
        })
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
    use longhaul_store::Clean;
    use longhaul_transcript::DetailKind;

    use super::Keeper;

    /// Long JSON is kept as the hooks keep it: no escape in it is parted.
    #[test]
    fn a_long_input_is_cut_between_its_escapes() {
        for pad in 0..6 {
            let input = format!("{}{}", "a".repeat(pad), "\\u00e9".repeat(2_000));
            let kept = Keeper::default().detail(DetailKind::ToolInput, &input);
            let (head, rest) = kept.split_once(" [… ").unwrap();
            let tail = rest.split_once(" …] ").unwrap().1;
            assert_eq!((head.trim_start_matches('a').len() % 6, tail.len() % 6), (0, 0), "{kept}");
        }
    }
}
