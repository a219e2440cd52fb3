//! Ten thousand random sessions: whatever happens, bookmarks neither loop nor come from nothing.

use longhaul_core::Millis;
use longhaul_core::config::{Bookmarks, Count, Seconds};
use proptest::prelude::*;

use crate::{BookmarkVerdict, LogLine, Situation, TailStart, decide, measure};

/// What can happen next in a session.
#[derive(Debug, Clone, Copy)]
enum Step {
    Tool(u64),
    Agent(u64),
    Prompt,
    /// The marker that was typed arrives, or a person types one.
    Marker,
    Stop,
    Compact,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..40_000_u64).prop_map(Step::Tool),
        2 => (0..40_000_u64).prop_map(Step::Agent),
        1 => Just(Step::Prompt),
        2 => Just(Step::Marker),
        2 => Just(Step::Stop),
        1 => Just(Step::Compact),
        3 => (0..60_000_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn no_two_injections_within_the_cooldown_and_none_without_work(
        steps in proptest::collection::vec(step(), 1..60),
        cooldown in 0..60_u32,
    ) {
        let mut config = Bookmarks::default();
        config.thresholds.cooldown_seconds = Seconds::new(cooldown);
        config.thresholds.min_tool_calls = Count(3);
        let mut log = String::new();
        let mut now = Millis(1_000_000);
        let mut last_injection: Option<Millis> = None;
        let mut work_since_bookmark = 0;
        for step in steps {
            now.0 += 1;
            let mut asks = false;
            match step {
                Step::Tool(chars) => { log += &format!("{}\n", LogLine::Tool { at: now, chars }); work_since_bookmark += 1; asks = true; }
                Step::Agent(chars) => { log += &format!("{}\n", LogLine::Agent { at: now, chars }); work_since_bookmark += 1; asks = true; }
                Step::Prompt => log += &format!("{}\n", LogLine::Prompt { at: now }),
                Step::Marker => { log += &format!("{}\n", LogLine::Bookmark { at: now }); work_since_bookmark = 0; }
                Step::Compact => { log += &format!("C {now}\nB {now}\n"); work_since_bookmark = 0; }
                Step::Stop => asks = true,
                Step::Wait(ms) => now.0 += ms,
            }
            if !asks { continue; }
            let verdict = decide(Situation::ToolCall, &config, true, &measure(log.as_bytes(), TailStart::LogStart), now);
            if let BookmarkVerdict::Inject(_) = verdict {
                if let Some(last) = last_injection {
                    prop_assert!(now.since(last) >= u64::from(cooldown) * 1000, "{last} and {now} are closer than {cooldown} s");
                }
                prop_assert!(work_since_bookmark > 0, "nothing was done since the last bookmark");
                log += &format!("{}\n", LogLine::Injection { at: now });
                last_injection = Some(now);
            }
        }
    }
}
