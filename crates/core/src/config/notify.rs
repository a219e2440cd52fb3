//! The section `notify`: which changes of a session are reported to the user, and by which ways.

use serde_json::{Value, json};

use crate::Status;
use crate::config::lists::ChoiceList;
use crate::config::model::Url;
use crate::config::numbers::{Range, Seconds};
use crate::config::setting::{self, Key, Names, Setting, SettingValue, Warning, settings};
use crate::named;

named! {
    /// A way by which a notification reaches the user.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum NotifyWay {
        /// A notification of the terminal, by an escape sequence and the bell.
        Terminal = "terminal",
        /// A notification of the desktop.
        Desktop = "desktop",
        /// A message to a topic of an ntfy server.
        Ntfy = "ntfy",
        /// An HTTP request to an address of the user.
        Webhook = "webhook",
        /// A program of the user.
        Command = "command",
    }
}

named! {
    /// A state of a session that can be reported.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum NotifyState {
        /// A turn waits for the user.
        Blocked = "blocked",
        /// A turn has ended.
        Completed = "completed",
        /// A turn has ended in an error.
        Failed = "failed",
        /// A turn has ended because a usage limit is reached.
        Limit = "limit",
    }
}

/// The kinds of errors that mean a usage limit: one of the account, or one of the section `limits`.
const LIMITS: [&str; 6] = ["rate_limit", "usage_limit", "quota", "billing", "credit", "limits."];

impl NotifyState {
    /// Returns the state that a change to `status` is reported as; `None` if it is not reported.
    ///
    /// `error` is the kind of the error in which the turn has ended, if it has.
    pub fn of(status: Status, error: Option<&str>) -> Option<Self> {
        match (status, error) {
            (Status::Blocked, None) => Some(Self::Blocked),
            (Status::Blocked, Some(error)) if LIMITS.iter().any(|limit| error.contains(limit)) => Some(Self::Limit),
            (Status::Blocked, Some(_)) => Some(Self::Failed),
            (Status::Completed, _) => Some(Self::Completed),
            (Status::Working | Status::Idle, _) => None,
        }
    }
}

named! {
    /// A kind of session that is not one of the user's own.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum OtherSession {
        /// A subagent, or a session in a worktree that works for another one.
        Subagent = "subagent",
        /// A teammate.
        Teammate = "teammate",
        /// A session without a screen, such as `claude -p`.
        Print = "print",
    }
}

settings! {
    /// Notifications about sessions that wait or have ended.
    pub struct Notify {
        blocked: ChoiceList<NotifyWay> = ChoiceList::default(), "How you are notified when a session waits for you: `terminal`, `desktop`, `ntfy`, `webhook`, `command`; an empty list reports nothing";
        completed: ChoiceList<NotifyWay> = ChoiceList::default(), "How you are notified when a turn has ended, also in an error";
        limit: ChoiceList<NotifyWay> = ChoiceList::default(), "How you are notified when a turn has ended because a usage limit or one of your own limits is reached, when one of yours is near, and when a session turns in circles";
        min_seconds: Seconds = Seconds::new(30), "Minimum duration in seconds of a turn whose end is reported (`completed`); the end in an error is always reported";
        quiet_hours: QuietHours = QuietHours::default(), "A part of the day without notifications, in local time, such as `22:00-07:00`; empty for none";
        also: ChoiceList<OtherSession> = ChoiceList::default(), "Sessions that are reported besides your own: `subagent`, `teammate`, `print` (`claude -p`)";
        ntfy: Topic = Topic::default(), "The way `ntfy`: the topic on ntfy.sh, or its address on another server, such as `https://ntfy.example.com/topic`; a token is in `ntfy.token` beside this file. On a public server, anybody who knows the topic can read it";
        webhook: Url = Url::default(), "The way `webhook`: the address to which a small JSON object is sent by POST; a token in `webhook.token` beside this file is sent as `Authorization: Bearer`";
        command: Names = Names::default(), "The way `command`: a program and its arguments; state, session, project, title and text follow as five more arguments";
    }
}

impl Notify {
    /// Returns the ways by which a state is reported.
    pub fn ways_of(&self, state: NotifyState) -> &[NotifyWay] {
        match state {
            NotifyState::Blocked => &self.blocked.0,
            NotifyState::Completed | NotifyState::Failed => &self.completed.0,
            NotifyState::Limit => &self.limit.0,
        }
    }

    /// Returns how long a turn must have lasted for its end to be reported as `state`, in milliseconds.
    pub fn least_ms(&self, state: NotifyState) -> u64 {
        match state {
            NotifyState::Completed => self.min_seconds.as_millis(),
            // The turn does not go on without the user, however short it was.
            NotifyState::Blocked | NotifyState::Failed | NotifyState::Limit => 0,
        }
    }

    /// Returns every way that a state names.
    pub fn ways(&self) -> impl Iterator<Item = NotifyWay> {
        let is_used = |way: &NotifyWay| NotifyState::ALL.iter().any(|state| self.ways_of(*state).contains(way));
        NotifyWay::ALL.iter().copied().filter(is_used)
    }
}

/// A topic of an ntfy server: its name, for the public server, or its address; empty for none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Topic(String);

/// The maximum length of a topic's name.
const MAX_TOPIC: usize = 64;

/// The server of a topic without an address.
const PUBLIC_SERVER: &str = "https://ntfy.sh";

impl Topic {
    /// Returns `text` as a topic; `None` if its name has a character that no topic has, or its address is none.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_name = |name: &str| name.len() <= MAX_TOPIC && name.chars().all(is_fit);
        let is_topic = match text.rsplit_once('/') {
            Some((server, name)) => {
                let has_host = server.split_once("://").is_some_and(|(_, host)| !host.is_empty());
                has_host && Url::new(server).is_some() && !name.is_empty() && is_name(name)
            }
            None => is_name(text),
        };
        is_topic.then(|| Self(text.to_owned()))
    }

    /// Returns the address of the server and the name of the topic; `None` if none is set.
    pub fn get(&self) -> Option<(&str, &str)> {
        match self.0.rsplit_once('/') {
            Some(address) => Some(address),
            None => (!self.0.is_empty()).then_some((PUBLIC_SERVER, self.0.as_str())),
        }
    }
}

impl SettingValue for Topic {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        Self::new(json.as_str()?)
    }

    fn wanted(_: &Value, _: Range) -> String {
        "a topic of at most 64 letters, digits, - and _, or its address".to_owned()
    }

    fn kind(_: Range) -> Value {
        json!({ "type": "string", "pattern": r"^([A-Za-z0-9_-]{0,64}|https?://\S+/[A-Za-z0-9_-]{1,64})$" })
    }

    fn written(&self) -> Value {
        json!(self.0)
    }
}

// The setting `notify.quiet_hours`: a part of every day.

/// The number of minutes in a day.
const DAY: u16 = 24 * 60;

/// A part of every day in local time, such as `22:00-07:00`; empty for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuietHours(Option<(u16, u16)>);

impl QuietHours {
    /// Parses `HH:MM-HH:MM` or an empty text; `None` for anything else.
    ///
    /// The second time may be on the next day. Two equal times are refused: they could mean no time or the whole day.
    pub fn of_text(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return Some(Self(None));
        }
        let (from, to) = text.split_once('-')?;
        let (from, to) = (minute(from.trim())?, minute(to.trim())?);
        (from != to).then_some(Self(Some((from, to))))
    }

    /// Returns whether a minute of the day, counted from midnight in local time, is in it.
    pub fn contains(self, minute: u16) -> bool {
        match self.0 {
            None => false,
            Some((from, to)) if from < to => (from..to).contains(&minute),
            Some((from, to)) => minute >= from || minute < to,
        }
    }
}

fn minute(text: &str) -> Option<u16> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u16>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours, 1..=2)?, number(minutes, 2..=2)?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes).filter(|minute| *minute < DAY)
}

impl SettingValue for QuietHours {
    fn parse(json: &Value, _: Range) -> Option<Self> {
        Self::of_text(json.as_str()?)
    }

    fn wanted(_: &Value, _: Range) -> String {
        "two times such as \"22:00-07:00\"".to_owned()
    }

    fn kind(_: Range) -> Value {
        let times = r"^\s*(([01]?\d|2[0-3]):[0-5]\d\s*-\s*([01]?\d|2[0-3]):[0-5]\d)?\s*$";
        json!({ "type": "string", "pattern": times })
    }

    fn written(&self) -> Value {
        let time = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        json!(self.0.map_or_else(String::new, |(from, to)| format!("{}-{}", time(from), time(to))))
    }
}

#[cfg(test)]
mod tests {
    use crate::Config;
    use crate::config::{Setting, Trust};

    use super::{NotifyState, NotifyWay, OtherSession, QuietHours, Topic};

    #[test]
    fn nothing_is_reported_by_default_and_only_long_turns_are_to_be() {
        let config = Config::default().notify;
        assert_eq!(config.ways().count(), 0);
        assert_eq!(config.least_ms(NotifyState::Completed), 30_000);
        assert_eq!([NotifyState::Blocked, NotifyState::Failed].map(|state| config.least_ms(state)), [0, 0]);
    }

    #[test]
    fn a_turn_that_ends_in_an_error_is_a_failure_or_a_limit() {
        use crate::Status;
        let states = [
            (Status::Blocked, None, Some("blocked")),
            (Status::Blocked, Some("rate_limit_error"), Some("limit")),
            (Status::Blocked, Some("overloaded"), Some("failed")),
            (Status::Completed, None, Some("completed")),
            (Status::Working, None, None),
            (Status::Idle, Some("quota"), None),
        ];
        for (status, error, expected) in states {
            assert_eq!(NotifyState::of(status, error).map(NotifyState::as_str), expected, "{status:?} {error:?}");
        }
    }

    #[test]
    fn ways_are_named_for_each_state_once() {
        let text = r#"{"notify": {"blocked": ["desktop", "ntfy", "desktop"], "completed": ["command"], "limit": ["ntfy"],
                       "also": ["print"], "ntfy": "mine"}}"#;
        let (config, warnings) = Config::from_json(text);
        assert_eq!(warnings, []);
        let notify = config.notify;
        assert_eq!(notify.ways_of(NotifyState::Blocked), [NotifyWay::Desktop, NotifyWay::Ntfy]);
        assert_eq!(notify.ways_of(NotifyState::Limit), [NotifyWay::Ntfy]);
        assert_eq!(notify.ways_of(NotifyState::Failed), [NotifyWay::Command], "it is the end of a turn, too");
        assert_eq!(notify.ways().collect::<Vec<_>>(), [NotifyWay::Desktop, NotifyWay::Ntfy, NotifyWay::Command]);
        assert!(notify.also.contains(OtherSession::Print) && !notify.also.contains(OtherSession::Teammate));
        assert_eq!(notify.ntfy.get(), Some(("https://ntfy.sh", "mine")));
    }

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        let (config, warnings) = Config::from_json(r#"{"notify": {"blocked": ["pigeon"]}}"#);
        assert!(config.notify.blocked.0.is_empty());
        let warning = warnings[0].to_string();
        assert!(warning.starts_with("notify.blocked: ") && warning.contains("\"webhook\""), "{warning}");
        assert_eq!(NotifyWay::from_name("pigeon"), None);
    }

    #[test]
    fn a_topic_cannot_lead_to_another_path() {
        let too_long = "x".repeat(65);
        for text in
            ["../admin", "a b", "a/b", "a?b", &too_long, "https://x.example/", "https://topic", "ftp://x.example/a"]
        {
            assert_eq!(Topic::new(text), None, "{text}");
        }
        let own = Topic::new("https://x.example/push/mine").unwrap();
        assert_eq!(own.get(), Some(("https://x.example/push", "mine")));
    }

    #[test]
    fn a_project_can_neither_enable_a_way_nor_name_an_address_or_a_program() {
        let own = Config::default();
        let text = r#"{"notify": {"blocked": ["command"], "min_seconds": 0, "command": ["/bin/sh"],
                       "webhook": "https://evil.example", "ntfy": "https://evil.example/x", "also": ["print"], "quiet_hours": "00:00-23:59"}}"#;
        for trust in [Trust::Untrusted, Trust::Trusted] {
            let reading = own.with_project(text, trust);
            assert_eq!(reading.config, own);
            assert_eq!(reading.refused().count(), reading.values.len());
        }
    }

    #[test]
    fn a_night_goes_past_midnight_and_the_end_does_not_belong_to_it() {
        let quiet = |text: &str, minute: u16| QuietHours::of_text(text).unwrap().contains(minute);
        for (text, minute, expected) in [
            ("22:00-07:00", 22 * 60, true),
            ("22:00-07:00", 22 * 60 - 1, false),
            ("22:00-07:00", 0, true),
            ("22:00-07:00", 7 * 60 - 1, true),
            ("22:00-07:00", 7 * 60, false),
            ("9:30-12:00", 9 * 60 + 30, true),
            ("9:30-12:00", 12 * 60, false),
            ("9:30-12:00", 9 * 60 + 29, false),
            ("", 0, false),
        ] {
            assert_eq!(quiet(text, minute), expected, "{text} at {minute}");
        }
    }

    #[test]
    fn what_is_not_two_times_is_refused() {
        for text in ["22:00", "22-7", "24:00-07:00", "22:60-07:00", "08:00-08:00", "-", "+1:00-2:00", "001:00-02:00"] {
            assert_eq!(QuietHours::of_text(text), None, "{text}");
        }
        assert_eq!(QuietHours::of_text(" 9:05 - 12:00 ").unwrap().to_json(), "09:05-12:00");
        assert_eq!(QuietHours::of_text("").unwrap().to_json(), "");
    }
}
