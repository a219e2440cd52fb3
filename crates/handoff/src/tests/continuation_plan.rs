use longhaul_core::Millis;
use proptest::prelude::*;

use crate::continuation::{ATTEMPTS, Act, EXPIRES_MS, Fill, GRACE_MS, Occasion, Outcome, Plan, Rules, State, TurnEnd};

const PROMPT: &str = "Go on.";

fn rules() -> Rules<'static> {
    Rules { limits: &[0.75], max_rounds: 10, step_ms: 60_000, prompt: PROMPT, can_type: true, remaining: &[] }
}

fn full() -> TurnEnd<'static> {
    TurnEnd { fill: Some(Fill { tokens: 160_000, window: 200_000 }), nonce: "lh-1", ..TurnEnd::default() }
}

fn handoff(nonce: &str, goes_on: bool) -> String {
    format!("---\ncontinue: {goes_on}\nnonce: {nonce}\n---\n# Task\nx\n# Remaining\n- y\n")
}

/// A plan, and the clock that it lives by.
struct Story {
    plan: Plan,
    now: u64,
}

impl Story {
    fn new() -> Self {
        Self { plan: Plan::new("a", Millis(1_000)), now: 1_000 }
    }

    fn meet(&mut self, occasion: &Occasion<'_>) -> Act {
        self.meet_by(occasion, &rules())
    }

    fn meet_by(&mut self, occasion: &Occasion<'_>, rules: &Rules<'_>) -> Act {
        self.now += 1_000;
        let Outcome { plan, act } = self.plan.meet(occasion, rules, Millis(self.now));
        self.plan = plan;
        act
    }

    fn asked() -> Self {
        let mut story = Self::new();
        assert!(matches!(story.meet(&Occasion::TurnEnded(full())), Act::Ask(_)));
        story
    }

    fn clearing() -> Self {
        let mut story = Self::asked();
        let reply = handoff("lh-1", true);
        let taken = TurnEnd { again: true, reply: &reply, ..full() };
        assert!(matches!(story.meet(&Occasion::TurnEnded(taken)), Act::Clear(_)));
        story
    }

    fn prompting() -> Self {
        let mut story = Self::clearing();
        assert_eq!(story.meet(&Occasion::Ended { reason: "clear" }), Act::Nothing);
        assert_eq!(story.meet(&Occasion::Cleared { session: "b" }), Act::Show);
        story
    }
}

#[test]
fn a_round_goes_by_what_happens() {
    let mut story = Story::prompting();
    assert_eq!((story.plan.state, story.plan.session.as_str()), (State::Prompting, "b"));
    story.meet(&Occasion::Prompted { session: "b", prompt: "Go  on.\n" });
    assert_eq!((story.plan.state, story.plan.round), (State::Done, 1));
    // The next session of the chain may fill up in turn.
    assert!(matches!(story.meet(&Occasion::TurnEnded(full())), Act::Ask(_)));
}

#[test]
fn the_question_names_how_full_it_is_and_the_nonce() {
    let Act::Ask(question) = Story::new().meet(&Occasion::TurnEnded(full())) else { panic!("asks") };
    assert!(question.contains("80 %") && question.contains("nonce: lh-1"), "{question}");
}

#[test]
fn nothing_is_asked_out_of_turn() {
    let low = Fill { tokens: 149_999, window: 200_000 };
    for (name, turn) in [
        ("below the limit", TurnEnd { fill: Some(low), ..full() }),
        ("unknown use", TurnEnd { fill: None, ..full() }),
        ("blocked before", TurnEnd { again: true, ..full() }),
        ("subagents run", TurnEnd { others_run: true, ..full() }),
        ("stopped by the user", TurnEnd { by_user: true, ..full() }),
    ] {
        let mut story = Story::new();
        assert_eq!(story.meet(&Occasion::TurnEnded(turn)), Act::Nothing, "{name}");
        assert_eq!(story.plan.state, State::Armed, "{name}");
    }
}

#[test]
fn each_limit_asks_once_in_a_session() {
    let rules = Rules { limits: &[0.75, 190_000.0], ..rules() };
    let mut story = Story::new();
    assert!(matches!(story.meet_by(&Occasion::TurnEnded(full()), &rules), Act::Ask(_)));
    story.meet_by(&Occasion::TurnEnded(TurnEnd { again: true, reply: "no", ..full() }), &rules);
    assert_eq!(story.meet_by(&Occasion::TurnEnded(full()), &rules), Act::Nothing);
    let fuller = TurnEnd { fill: Some(Fill { tokens: 190_000, window: 200_000 }), ..full() };
    assert!(matches!(story.meet_by(&Occasion::TurnEnded(fuller), &rules), Act::Ask(_)));
}

#[test]
fn what_is_no_handoff_stops_normally() {
    let (finished, stale) = (handoff("lh-1", false), handoff("lh-0", true));
    for (reply, why) in [
        (finished.as_str(), "nothing is to go on"),
        (stale.as_str(), "nonce"),
        ("Done.", "front matter"),
        ("---\ncontinue: [\n---\nx", "YAML"),
    ] {
        let mut story = Story::asked();
        let act = story.meet(&Occasion::TurnEnded(TurnEnd { again: true, reply, ..full() }));
        assert_eq!((act, story.plan.state), (Act::Nothing, State::Armed), "{reply}");
        assert!(story.plan.reason.contains(why), "{reply}: {}", story.plan.reason);
    }
    let reply = handoff("lh-1", true);
    let mut story = Story::asked();
    let busy = TurnEnd { again: true, others_run: true, reply: &reply, ..full() };
    assert_eq!(story.meet(&Occasion::TurnEnded(busy)), Act::Nothing, "something runs");
}

#[test]
fn a_user_who_steps_in_cancels_it() {
    let typed = Occasion::Prompted { session: "a", prompt: "no, wait" };
    let exit = Occasion::Ended { reason: "prompt_input_exit" };
    let cleared = Occasion::Cleared { session: "c" };
    for (name, mut story, occasion) in [
        ("asked, typed", Story::asked(), &typed),
        ("clearing, typed", Story::clearing(), &typed),
        ("prompting, typed", Story::prompting(), &typed),
        ("asked, left", Story::asked(), &exit),
        ("clearing, left", Story::clearing(), &exit),
        ("prompting, left", Story::prompting(), &exit),
        ("asked, cleared", Story::asked(), &cleared),
        ("prompting, cleared", Story::prompting(), &cleared),
        ("asked, by hand", Story::asked(), &Occasion::Cancelled),
    ] {
        assert_eq!(story.meet(occasion), Act::Nothing, "{name}");
        assert_eq!(story.plan.state, State::Cancelled, "{name}");
    }
}

#[test]
fn a_step_is_tried_twice() {
    for mut story in [Story::clearing(), Story::prompting()] {
        let stuck = story.plan.state;
        assert_eq!(story.meet(&Occasion::Undelivered { why: "no echo" }), Act::TypeAgain);
        assert_eq!(story.plan.state, stuck);
        let Act::Tell(said) = story.meet(&Occasion::Undelivered { why: "no echo" }) else { panic!("says so") };
        assert!(said.contains("no echo"), "{said}");
        assert_eq!((story.plan.state, story.plan.stuck_in), (State::Failed, Some(stuck)));
        assert_eq!(story.meet(&Occasion::Resumed), Act::TypeAgain);
        assert_eq!(story.plan.state, stuck);
    }
}

#[test]
fn what_has_gone_on_by_other_means_is_not_resumed() {
    let mut story = Story::clearing();
    story.meet(&Occasion::Undelivered { why: "no echo" });
    story.meet(&Occasion::Undelivered { why: "no echo" });
    story.meet(&Occasion::Prompted { session: "a", prompt: "then do this" });
    assert_eq!(story.meet(&Occasion::Resumed), Act::Nothing);
    assert_eq!(story.plan.state, State::Failed);
}

#[test]
fn a_step_that_nobody_waits_for_is_carried_on_by_the_next_hook() {
    for mut story in [Story::clearing(), Story::prompting()] {
        assert_eq!(story.meet(&Occasion::Passed), Act::Nothing);
        story.now += 60_000 + GRACE_MS;
        assert_eq!(story.meet(&Occasion::Passed), Act::TypeAgain);
        story.now += EXPIRES_MS;
        assert_eq!(story.meet(&Occasion::Passed), Act::Nothing);
        assert_eq!(story.plan.state, State::Failed);
    }
}

#[test]
fn after_a_crash_whoever_is_in_the_pane_goes_on() {
    for mut story in [Story::clearing(), Story::prompting()] {
        assert_eq!(story.meet(&Occasion::Restarted { session: "c" }), Act::Show);
        assert_eq!((story.plan.state, story.plan.session.as_str()), (State::Prompting, "c"));
    }
    let mut late = Story::prompting();
    late.now += EXPIRES_MS;
    assert_eq!(late.meet(&Occasion::Restarted { session: "c" }), Act::Nothing);
    assert_eq!(late.plan.state, State::Failed);
}

#[test]
fn a_used_up_limit_holds_it_up_until_it_is_resumed() {
    let mut story = Story::asked();
    story.meet(&Occasion::RateLimited);
    story.now += EXPIRES_MS;
    assert_eq!(story.meet(&Occasion::Passed), Act::Nothing);
    assert!(story.plan.paused && story.plan.state == State::Asked);
    assert_eq!(story.meet(&Occasion::Resumed), Act::TypeAgain);
    let question = story.plan.text(&rules()).unwrap();
    story.meet(&Occasion::Prompted { session: "a", prompt: &question });
    assert_eq!(story.plan.state, State::Asked);
    // This turn is one of its own: no hook has blocked before it.
    let reply = handoff("lh-1", true);
    assert!(matches!(story.meet(&Occasion::TurnEnded(TurnEnd { reply: &reply, ..full() })), Act::Clear(_)));
}

#[test]
fn without_a_terminal_the_user_clears() {
    let rules = Rules { can_type: false, ..rules() };
    let mut story = Story::clearing();
    assert_eq!(story.meet_by(&Occasion::Cleared { session: "b" }, &rules), Act::Show);
    assert_eq!(story.plan.state, State::Done);
}

#[test]
fn the_same_left_to_do_twice_is_a_loop() {
    let earlier = ["z".to_owned(), "y".to_owned()];
    let rules = Rules { remaining: &earlier, ..rules() };
    let mut story = Story::asked();
    let reply = handoff("lh-1", true);
    let act = story.meet_by(&Occasion::TurnEnded(TurnEnd { again: true, reply: &reply, ..full() }), &rules);
    let Act::Tell(said) = act else { panic!("says so: {act:?}") };
    assert!(said.contains("loop") && said.contains("round 2"), "{said}");
    assert_eq!(story.plan.state, State::Failed);
    assert_eq!(story.meet_by(&Occasion::Resumed, &rules), Act::Nothing);
}

#[test]
fn a_chain_has_so_many_rounds() {
    let rules = Rules { max_rounds: 1, ..rules() };
    let mut story = Story::prompting();
    story.meet(&Occasion::Prompted { session: "b", prompt: PROMPT });
    let Act::Tell(said) = story.meet_by(&Occasion::TurnEnded(full()), &rules) else { panic!("says so") };
    assert!(said.contains("1 rounds"), "{said}");
    assert_eq!(story.meet_by(&Occasion::TurnEnded(full()), &rules), Act::Nothing, "and only once");
}

/// Anything that can happen, in short.
#[derive(Debug, Clone)]
enum Happening {
    TurnEnd { again: bool, tokens: Option<u64>, others_run: bool, reply: u8 },
    Cleared(u8),
    Restarted(u8),
    Prompted(u8, bool),
    Ended(bool),
    RateLimited,
    Undelivered,
    Passed,
    Resumed,
    Cancelled,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (any::<bool>(), proptest::option::of(0_u64..220_000), any::<bool>(), 0_u8..4).prop_map(
            |(again, tokens, others_run, reply)| Happening::TurnEnd { again, tokens, others_run, reply }
        ),
        2 => (0_u8..3).prop_map(Happening::Cleared),
        1 => (0_u8..3).prop_map(Happening::Restarted),
        2 => (0_u8..3, any::<bool>()).prop_map(|(session, ours)| Happening::Prompted(session, ours)),
        1 => any::<bool>().prop_map(Happening::Ended),
        1 => Just(Happening::RateLimited),
        2 => Just(Happening::Undelivered),
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
        let rules = Rules { max_rounds: 3, ..rules() };
        let sessions = ["a", "b", "c"];
        let mut plan = Plan { state: State::ALL[state], nonce: "lh-0".to_owned(), ..Plan::new("a", Millis(1)) };
        let mut now = 1;
        let mut accepted = plan.state == State::Clearing;
        for (number, (event, later)) in events.into_iter().enumerate() {
            now += later;
            let nonce = format!("lh-{}", number + 1);
            let (yes, no, stale) = (handoff(&plan.nonce, true), handoff(&plan.nonce, false), handoff("lh-x", true));
            let occasion = match &event {
                Happening::TurnEnd { again, tokens, others_run, reply } => Occasion::TurnEnded(TurnEnd {
                    again: *again,
                    fill: tokens.map(|tokens| Fill { tokens, window: 200_000 }),
                    others_run: *others_run,
                    reply: [yes.as_str(), no.as_str(), stale.as_str(), "x"][usize::from(*reply)],
                    nonce: &nonce,
                    ..TurnEnd::default()
                }),
                Happening::Cleared(session) => Occasion::Cleared { session: sessions[usize::from(*session)] },
                Happening::Restarted(session) => Occasion::Restarted { session: sessions[usize::from(*session)] },
                Happening::Prompted(session, ours) => Occasion::Prompted {
                    session: sessions[usize::from(*session)],
                    prompt: if *ours { PROMPT } else { "else" },
                },
                Happening::Ended(clear) => Occasion::Ended { reason: if *clear { "clear" } else { "other" } },
                Happening::RateLimited => Occasion::RateLimited,
                Happening::Undelivered => Occasion::Undelivered { why: "x" },
                Happening::Passed => Occasion::Passed,
                Happening::Resumed => Occasion::Resumed,
                Happening::Cancelled => Occasion::Cancelled,
            };
            let before = plan;
            let Outcome { plan: after, act } = before.meet(&occasion, &rules, Millis(now));

            prop_assert!(after.round <= rules.max_rounds.max(before.round));
            prop_assert!(after.attempt <= ATTEMPTS);
            if let Act::Ask(_) = act {
                let Occasion::TurnEnded(turn) = &occasion else { panic!("asked at another time") };
                prop_assert!(!turn.again && !turn.others_run && turn.fill.is_some_and(|fill| fill.reaches(0.75)));
            }
            if let Act::Clear(document) = &act {
                prop_assert_eq!(before.state, State::Asked);
                prop_assert_eq!(document.nonce.as_deref(), Some(before.nonce.as_str()));
                prop_assert!(document.goes_on && now - before.since.0 <= EXPIRES_MS || before.paused);
                accepted = true;
            }
            // Typing `/clear` is possible in one state only, and that is never come by without a handoff.
            if after.text(&rules).as_deref() == Some("/clear") {
                prop_assert!(accepted);
            }
            prop_assert!(after.paused || !after.state.is_open() || now - after.since.0 <= EXPIRES_MS);
            plan = after;
        }
        // However it came to this: the next hook after a quarter of an hour finds it closed.
        plan.paused = false;
        let closed = plan.meet(&Occasion::Passed, &rules, Millis(now + EXPIRES_MS + 1)).plan;
        prop_assert!(!closed.state.is_open());
    }
}
