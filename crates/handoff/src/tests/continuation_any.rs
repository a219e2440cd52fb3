use longhaul_core::Millis;
use proptest::prelude::*;

use super::continuation_plan::{PROMPT, handoff, rules};
use crate::continuation::{
    ATTEMPTS, EXPIRES_MS, HELD_UP_MS, Occasion, Plan, PlanAction, PlanOutcome, PlanRules, State, TurnEnd, WindowUse,
};

/// Anything that can happen, in short.
#[derive(Debug, Clone)]
enum Happening {
    TurnEnd { again: bool, tokens: Option<u64>, others_run: bool, reply: u8 },
    Measured(u64),
    Cleared(u8),
    Restarted(u8),
    Prompted(u8, bool),
    Ended(bool),
    RateLimited,
    Lifted,
    Undelivered,
    Overtaken,
    Passed,
    Resumed,
    Cancelled,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (any::<bool>(), proptest::option::of(0_u64..220_000), any::<bool>(), 0_u8..4).prop_map(
            |(again, tokens, others_run, reply)| Happening::TurnEnd { again, tokens, others_run, reply }
        ),
        2 => (0_u64..220_000).prop_map(Happening::Measured),
        2 => (0_u8..3).prop_map(Happening::Cleared),
        1 => (0_u8..3).prop_map(Happening::Restarted),
        2 => (0_u8..3, any::<bool>()).prop_map(|(session, ours)| Happening::Prompted(session, ours)),
        1 => any::<bool>().prop_map(Happening::Ended),
        1 => Just(Happening::RateLimited),
        1 => Just(Happening::Lifted),
        2 => Just(Happening::Undelivered),
        1 => Just(Happening::Overtaken),
        2 => Just(Happening::Passed),
        1 => Just(Happening::Resumed),
        1 => Just(Happening::Cancelled),
    ]
}

proptest! {
    /// From any state, whatever happens: bounds hold, and `/clear` is wanted only after a fresh handoff.
    #[test]
    fn whatever_happens_the_bounds_hold(
        events in proptest::collection::vec((happening(), 0_u64..2_000_000), 1..60),
        state in 0_usize..State::ALL.len(),
    ) {
        let rules = PlanRules { max_rounds: 3, ..rules() };
        let sessions = ["a", "b", "c"];
        let mut plan = Plan { state: State::ALL[state], nonce: "lh-0".to_owned(), ..Plan::new("a", Millis(1)) };
        let mut now = 1;
        let mut accepted = plan.state == State::Clearing;
        for (number, (event, later)) in events.into_iter().enumerate() {
            now += later;
            let nonce = format!("lh-{}", number + 1);
            let (yes, no, stale) = (handoff(&plan.nonce, true), handoff(&plan.nonce, false), handoff("lh-x", true));
            let session_now = plan.session.clone();
            let occasion = match &event {
                Happening::TurnEnd { again, tokens, others_run, reply } => Occasion::TurnEnded(TurnEnd {
                    again: *again,
                    fill: tokens.map(|tokens| WindowUse { tokens, window: 200_000 }),
                    others_run: *others_run,
                    reply: [yes.as_str(), no.as_str(), stale.as_str(), "x"][usize::from(*reply)],
                    nonce: &nonce,
                    ..TurnEnd::default()
                }),
                Happening::Measured(tokens) => {
                    Occasion::Measured { fill: WindowUse { tokens: *tokens, window: 200_000 }, nonce: &nonce }
                }
                Happening::Cleared(session) => Occasion::Cleared { session: sessions[usize::from(*session)] },
                Happening::Restarted(session) => Occasion::Restarted { session: sessions[usize::from(*session)] },
                Happening::Prompted(session, ours) => Occasion::Prompted {
                    session: sessions[usize::from(*session)],
                    prompt: if *ours { PROMPT } else { "else" },
                },
                Happening::Ended(clear) => Occasion::Ended { session: &session_now, reason: if *clear { "clear" } else { "other" } },
                Happening::RateLimited => Occasion::RateLimited,
                Happening::Lifted => Occasion::Lifted,
                Happening::Overtaken => Occasion::Overtaken,
                Happening::Undelivered => Occasion::Undelivered { why: "x" },
                Happening::Passed => Occasion::Passed,
                Happening::Resumed => Occasion::Resumed,
                Happening::Cancelled => Occasion::Cancelled,
            };
            let before = plan;
            let PlanOutcome { plan: after, act } = before.meet(&occasion, &rules, Millis(now));

            prop_assert!(after.round <= rules.max_rounds.max(before.round));
            prop_assert!(after.attempt <= ATTEMPTS);
            // A reply that is no handoff is asked about once more.
            if matches!(act, PlanAction::Ask(_)) && before.state != State::Asked {
                let fill = match &occasion {
                    Occasion::TurnEnded(turn) => turn.fill.filter(|_| !turn.again && !turn.others_run),
                    Occasion::Measured { fill, .. } => Some(*fill).filter(|_| after.waits_for_typing()),
                    _ => None,
                };
                prop_assert!(fill.is_some_and(|fill| fill.reaches(0.75)));
            }
            // The handoff tells of everything up to this moment, and of nothing after it.
            let reported_twice = before.state == State::Clearing
                && matches!(&occasion, Occasion::TurnEnded(turn) if turn.again && turn.reply == yes);
            if matches!(&occasion, Occasion::TurnEnded(_) | Occasion::Prompted { .. } | Occasion::Overtaken) && !reported_twice {
                accepted = false;
            }
            if let PlanAction::Clear(document) = &act {
                prop_assert_eq!(before.state, State::Asked);
                prop_assert_eq!(document.nonce.as_deref(), Some(before.nonce.as_str()));
                let most = if before.paused { HELD_UP_MS } else { EXPIRES_MS };
                prop_assert!(document.goes_on && now - before.since.0 <= most);
                accepted = true;
            }
            // Typing `/clear` is possible in one state only, and that is never come by without a handoff.
            if after.text(&rules).as_deref() == Some("/clear") {
                prop_assert!(accepted);
            }
            let most = if after.paused { HELD_UP_MS } else { EXPIRES_MS };
            prop_assert!(!after.state.is_open() || now - after.since.0 <= most);
            plan = after;
        }
        // However it came to this: the next hook after its time finds it closed.
        let most = if plan.paused { HELD_UP_MS } else { EXPIRES_MS };
        let closed = plan.meet(&Occasion::Passed, &rules, Millis(now + most + 1)).plan;
        prop_assert!(!closed.state.is_open());
    }
}
