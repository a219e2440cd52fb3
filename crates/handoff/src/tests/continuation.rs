use longhaul_core::{Config, Millis};
use proptest::prelude::*;

use crate::baton::TTL_MS;
use crate::continuation::{
    ATTEMPTS, EXPIRES_MS, HELD_UP_MS, LIFTS, Occasion, Plan, PlanAction, PlanOutcome, PlanRules, State, TurnEnd,
    WindowUse, is_rate_limit, lifted_at, texts,
};

const PROMPT: &str = "Go on.";

pub(super) fn rules() -> PlanRules<'static> {
    PlanRules { limits: &[0.75], max_rounds: 10, step_ms: 60_000, prompt: PROMPT, can_type: true, remaining: &[] }
}

pub(super) fn full() -> TurnEnd<'static> {
    TurnEnd { fill: Some(WindowUse { tokens: 160_000, window: 200_000 }), nonce: "lh-1", ..TurnEnd::default() }
}

pub(super) fn handoff(nonce: &str, goes_on: bool) -> String {
    format!("---\ncontinue: {goes_on}\nnonce: {nonce}\n---\n# Task\nx\n# Remaining\n- y\n")
}

/// A plan, and the clock that it lives by.
pub(super) struct Story {
    pub(super) plan: Plan,
    pub(super) now: u64,
}

impl Story {
    pub(super) fn new() -> Self {
        Self { plan: Plan::new("a", Millis(1_000)), now: 1_000 }
    }

    pub(super) fn meet(&mut self, occasion: &Occasion<'_>) -> PlanAction {
        self.meet_by(occasion, &rules())
    }

    fn meet_by(&mut self, occasion: &Occasion<'_>, rules: &PlanRules<'_>) -> PlanAction {
        self.now += 1_000;
        let PlanOutcome { plan, act } = self.plan.meet(occasion, rules, Millis(self.now));
        self.plan = plan;
        act
    }

    pub(super) fn asked() -> Self {
        let mut story = Self::new();
        assert!(matches!(story.meet(&Occasion::TurnEnded(full())), PlanAction::Ask(_)));
        story
    }

    pub(super) fn clearing() -> Self {
        let mut story = Self::asked();
        let reply = handoff("lh-1", true);
        let taken = TurnEnd { again: true, reply: &reply, ..full() };
        assert!(matches!(story.meet(&Occasion::TurnEnded(taken)), PlanAction::Clear(_)));
        story
    }

    pub(super) fn prompting() -> Self {
        let mut story = Self::clearing();
        assert_eq!(story.meet(&Occasion::Ended { session: "a", reason: "clear" }), PlanAction::Nothing);
        assert_eq!(story.meet(&Occasion::Cleared { session: "b" }), PlanAction::Show);
        story
    }
}

#[test]
fn the_rules_of_a_program_without_settings_are_those_of_the_default_configuration() {
    let Config { continuation: defaults, inject, .. } = Config::default();
    let rules = PlanRules::new(texts::PROMPT);
    assert_eq!(rules.limits, defaults.at.limits);
    assert_eq!(u64::from(rules.max_rounds), defaults.max_rounds.0);
    assert_eq!(u128::from(rules.step_ms), inject.step().as_millis());
}

#[test]
fn a_round_goes_by_what_happens() {
    let mut story = Story::prompting();
    assert_eq!((story.plan.state, story.plan.session.as_str()), (State::Prompting, "b"));
    story.meet(&Occasion::Prompted { session: "b", prompt: "Go  on.\n" });
    assert_eq!((story.plan.state, story.plan.round), (State::Done, 1));
    // The next session of the chain may fill up in turn.
    assert!(matches!(story.meet(&Occasion::TurnEnded(full())), PlanAction::Ask(_)));
}

#[test]
fn the_question_names_how_full_it_is_and_the_nonce() {
    let PlanAction::Ask(question) = Story::new().meet(&Occasion::TurnEnded(full())) else { panic!("asks") };
    assert!(question.starts_with("Longhaul asks for a handoff") && question.ends_with("nonce: lh-1"), "{question}");
    assert!(question.chars().count() < 500 && !question.contains('\n'), "Claude Code shows it to the user: {question}");
}

#[test]
fn nothing_is_asked_out_of_turn() {
    let low = WindowUse { tokens: 149_999, window: 200_000 };
    for (name, turn) in [
        ("below the limit", TurnEnd { fill: Some(low), ..full() }),
        ("unknown use", TurnEnd { fill: None, ..full() }),
        ("blocked before", TurnEnd { again: true, ..full() }),
        ("stopped by the user", TurnEnd { by_user: true, ..full() }),
    ] {
        let mut story = Story::new();
        assert_eq!(story.meet(&Occasion::TurnEnded(turn)), PlanAction::Nothing, "{name}");
        assert_eq!(story.plan.state, State::Armed, "{name}");
    }
}

/// `/clear` would end them, so nothing is asked before; the user is told so once.
#[test]
fn what_would_be_lost_holds_the_question_back_and_the_user_is_told() {
    let busy = TurnEnd { others_run: true, ..full() };
    let mut story = Story::new();
    let PlanAction::Notify(said) = story.meet(&Occasion::TurnEnded(busy.clone())) else { panic!("told") };
    assert!(said.starts_with("subagents still run") && story.plan.reason == said, "{said}");
    assert_eq!(story.plan.state, State::Armed);
    assert_eq!(story.meet(&Occasion::TurnEnded(busy.clone())), PlanAction::Nothing, "once");
    assert!(matches!(story.meet(&Occasion::TurnEnded(full())), PlanAction::Ask(_)), "after them");
    // The same while the handoff is written.
    let reply = handoff("lh-1", true);
    let act = story.meet(&Occasion::TurnEnded(TurnEnd { again: true, reply: &reply, ..busy }));
    assert!(matches!(act, PlanAction::Notify(_)) && story.plan.state == State::Armed, "{act:?}");
    assert!(matches!(story.meet(&Occasion::TurnEnded(full())), PlanAction::Ask(_)));
}

#[test]
fn each_limit_asks_once_in_a_session() {
    let rules = PlanRules { limits: &[0.75, 190_000.0], ..rules() };
    let mut story = Story::new();
    assert!(matches!(story.meet_by(&Occasion::TurnEnded(full()), &rules), PlanAction::Ask(_)));
    let no = handoff("lh-1", false);
    let refused = Occasion::TurnEnded(TurnEnd { again: true, reply: &no, ..full() });
    story.meet_by(&refused, &rules);
    assert_eq!(story.meet_by(&Occasion::TurnEnded(full()), &rules), PlanAction::Nothing);
    // After a compaction, the context is small, and a full one is another one.
    assert_eq!(story.meet_by(&Occasion::Compacted, &rules), PlanAction::Nothing);
    assert!(matches!(story.meet_by(&Occasion::TurnEnded(full()), &rules), PlanAction::Ask(_)));
    story.meet_by(&refused, &rules);
    let fuller = TurnEnd { fill: Some(WindowUse { tokens: 190_000, window: 200_000 }), ..full() };
    assert!(matches!(story.meet_by(&Occasion::TurnEnded(fuller), &rules), PlanAction::Ask(_)));
}

#[test]
fn what_is_no_handoff_stops_normally() {
    let reply = handoff("lh-1", false);
    let mut story = Story::asked();
    let act = story.meet(&Occasion::TurnEnded(TurnEnd { again: true, reply: &reply, ..full() }));
    assert_eq!((act, story.plan.state), (PlanAction::Nothing, State::Armed));
    assert!(story.plan.reason.contains("says not to continue"), "{}", story.plan.reason);
}

/// A reply that is no handoff is asked about once more, with what was wrong; then the user is told.
#[test]
fn a_reply_that_is_no_handoff_is_asked_for_once_more() {
    let stale = handoff("lh-0", true);
    for (reply, why) in [(stale.as_str(), "nonce"), ("Done.", "front matter"), ("---\ncontinue: [\n---\nx", "YAML")] {
        let wrong = Occasion::TurnEnded(TurnEnd { again: true, reply, ..full() });
        let mut story = Story::asked();
        let PlanAction::Ask(question) = story.meet(&wrong) else { panic!("{reply}: {:?}", story.plan) };
        assert!(
            question.starts_with("Longhaul asks once more for the handoff") && question.contains(why),
            "{question}"
        );
        let mut better = Story { plan: story.plan.clone(), now: story.now };
        // With the plugin installed twice, the same end of a turn is reported again, by a hook that began before the question.
        let mut twice = Story::asked();
        let decided = TurnEnd { again: true, reply, decided_at: Some(Millis(twice.now + 1_050)), ..full() };
        assert!(matches!(twice.meet(&Occasion::TurnEnded(decided.clone())), PlanAction::Ask(_)));
        twice.now -= 990;
        let asked = twice.plan.clone();
        assert_eq!(twice.meet(&Occasion::TurnEnded(decided)), PlanAction::Nothing);
        assert_eq!(twice.plan, asked);
        assert!(matches!(twice.meet(&wrong), PlanAction::Notify(_)), "the answer is no handoff, either");
        let PlanAction::Notify(said) = story.meet(&wrong) else { panic!("{reply}: {:?}", story.plan) };
        assert!(said.contains(why) && story.plan.state == State::Armed, "{said}");
        let (_, nonce) = question.rsplit_once("nonce: ").unwrap();
        let reply = handoff(nonce, true);
        let taken = TurnEnd { again: true, reply: &reply, ..full() };
        assert!(matches!(better.meet(&Occasion::TurnEnded(taken)), PlanAction::Clear(_)));
    }
}

/// The same where the question was a prompt: so is the second one.
#[test]
fn a_second_question_comes_as_the_first_did() {
    let measured = Occasion::Measured { fill: WindowUse { tokens: 160_000, window: 200_000 }, nonce: "lh-1" };
    let mut story = Story::new();
    story.meet(&measured);
    for number in 1..=2 {
        let question = story.plan.text(&rules()).unwrap();
        assert_eq!(question.contains("once more"), number == 2, "{question}");
        assert_eq!(story.meet(&Occasion::Undelivered { why: "x" }), PlanAction::TypeAgain);
        assert_eq!(story.plan.text(&rules()).unwrap(), question, "its text stays");
        story.meet(&Occasion::Prompted { session: "a", prompt: &question });
        assert!(story.plan.state == State::Asked && !story.plan.waits_for_typing(), "{number}: {:?}", story.plan);
        let act = story.meet(&Occasion::TurnEnded(TurnEnd { reply: "Done.", ..full() }));
        assert_eq!(matches!(act, PlanAction::TypeAgain), number == 1, "{act:?}");
        assert_eq!(matches!(act, PlanAction::Notify(_)), number == 2, "{act:?}");
    }
    assert_eq!(story.meet(&Occasion::TurnEnded(full())), PlanAction::Nothing, "the limit is spent");
}

#[test]
fn a_turn_since_the_handoff_makes_it_stale() {
    let other_hook = TurnEnd { again: true, reply: "And one more thing is done.", ..full() };
    let shell_command = TurnEnd { reply: &handoff("lh-1", true), ..full() };
    let (other, finished) = (handoff("lh-0", true), handoff("lh-1", false));
    let other_question = TurnEnd { again: true, reply: &other, ..full() };
    let not_on = TurnEnd { again: true, reply: &finished, ..full() };
    for (name, turn) in [
        ("another hook blocked", other_hook),
        ("`!cmd`", shell_command),
        ("another question", other_question),
        ("not to continue", not_on),
    ] {
        for mut story in [Story::clearing(), Story::prompting()] {
            assert_eq!(story.meet(&Occasion::TurnEnded(turn.clone())), PlanAction::Nothing, "{name}");
            assert_eq!(story.plan.state, State::Cancelled, "{name}");
            assert!(story.plan.reason.contains("a turn ran"), "{name}: {}", story.plan.reason);
        }
    }
    for mut story in [Story::asked(), Story::clearing(), Story::prompting()] {
        assert_eq!(story.meet(&Occasion::Overtaken), PlanAction::Nothing);
        assert_eq!(story.plan.state, State::Cancelled);
    }
}

#[test]
fn two_hooks_on_one_stop_are_one() {
    let mut story = Story::asked();
    assert_eq!(story.meet(&Occasion::TurnEnded(full())), PlanAction::Nothing, "the answer is yet to come");
    assert_eq!(story.plan.state, State::Asked);
    let reply = handoff("lh-1", true);
    let taken = TurnEnd { again: true, reply: &reply, ..full() };
    assert!(matches!(story.meet(&Occasion::TurnEnded(taken.clone())), PlanAction::Clear(_)));
    assert_eq!(story.meet(&Occasion::TurnEnded(taken)), PlanAction::Nothing);
    assert_eq!((story.plan.state, story.plan.round), (State::Clearing, 1));
}

#[test]
fn a_clear_reported_twice_is_one_clear() {
    let mut story = Story::prompting();
    let before = story.plan.clone();
    assert_eq!(story.meet(&Occasion::Cleared { session: "b" }), PlanAction::Show);
    assert_eq!(story.meet(&Occasion::Ended { session: "a", reason: "clear" }), PlanAction::Nothing, "reported late");
    assert_eq!(story.plan, before);
    // The first was for a session that never lived.
    assert_eq!(story.meet(&Occasion::Cleared { session: "c" }), PlanAction::Show);
    assert_eq!((story.plan.state, story.plan.session.as_str(), story.plan.round), (State::Prompting, "c", 1));
}

#[test]
fn a_person_begins_the_count_of_rounds_anew() {
    let mut story = Story::prompting();
    story.meet(&Occasion::Prompted { session: "b", prompt: PROMPT });
    story.meet(&Occasion::Prompted { session: "b", prompt: PROMPT });
    assert_eq!(story.plan.round, 1, "our own prompt, twice");
    story.meet(&Occasion::Prompted { session: "b", prompt: "and now the rest" });
    assert_eq!(story.plan.round, 0);
}

#[test]
fn without_a_terminal_the_user_clears() {
    let rules = PlanRules { can_type: false, ..rules() };
    let mut story = Story::asked();
    let reply = handoff("lh-1", true);
    let taken = TurnEnd { again: true, reply: &reply, ..full() };
    assert!(matches!(story.meet_by(&Occasion::TurnEnded(taken), &rules), PlanAction::Clear(_)));
    // A person takes longer than a program: as long as the baton is there.
    story.now += TTL_MS - 2_000;
    assert_eq!(story.meet_by(&Occasion::Passed, &rules), PlanAction::Nothing);
    assert_eq!(story.meet_by(&Occasion::Cleared { session: "b" }, &rules), PlanAction::Show);
    assert_eq!(story.plan.state, State::Done);
}

#[test]
fn the_same_left_to_do_twice_is_a_loop() {
    let earlier = ["z".to_owned(), "y".to_owned()];
    let rules = PlanRules { remaining: &earlier, ..rules() };
    let mut story = Story::asked();
    let reply = handoff("lh-1", true);
    let act = story.meet_by(&Occasion::TurnEnded(TurnEnd { again: true, reply: &reply, ..full() }), &rules);
    let PlanAction::Notify(said) = act else { panic!("says so: {act:?}") };
    assert!(said.contains("loop") && said.contains("round 2"), "{said}");
    assert_eq!(story.plan.state, State::Failed);
    assert_eq!(story.meet_by(&Occasion::Resumed, &rules), PlanAction::Nothing);
}

#[test]
fn a_chain_has_so_many_rounds() {
    let rules = PlanRules { max_rounds: 1, ..rules() };
    let mut story = Story::prompting();
    story.meet(&Occasion::Prompted { session: "b", prompt: PROMPT });
    let PlanAction::Notify(said) = story.meet_by(&Occasion::TurnEnded(full()), &rules) else { panic!("says so") };
    assert!(said.contains("1 rounds"), "{said}");
    assert_eq!(story.meet_by(&Occasion::TurnEnded(full()), &rules), PlanAction::Nothing, "and only once");
}

#[test]
fn a_use_that_is_known_after_the_turn_is_asked_about_by_a_prompt() {
    let measured = Occasion::Measured { fill: WindowUse { tokens: 160_000, window: 200_000 }, nonce: "lh-1" };
    let mut story = Story::new();
    assert_eq!(
        story.meet(&Occasion::Measured { fill: WindowUse { tokens: 1, window: 2 }, nonce: "lh-0" }),
        PlanAction::Nothing
    );
    assert!(matches!(story.meet(&measured), PlanAction::Ask(_)));
    assert!(story.plan.state == State::Asked && story.plan.waits_for_typing());
    let question = story.plan.text(&rules()).unwrap();
    assert!(question.ends_with("nonce: lh-1") && !question.contains('\n'), "{question}");
    assert_eq!(story.meet(&measured), PlanAction::Nothing, "once");
    // The client may report a prompt twice.
    for _ in 0..2 {
        assert_eq!(story.meet(&Occasion::Prompted { session: "a", prompt: &question }), PlanAction::Nothing);
        assert!(story.plan.state == State::Asked && !story.plan.waits_for_typing());
    }
    let reply = handoff("lh-1", true);
    let answered = TurnEnd { reply: &reply, ..full() };
    assert!(matches!(story.meet(&Occasion::TurnEnded(answered)), PlanAction::Clear(_)));
}

#[test]
fn a_question_that_was_never_put_may_be_put_again() {
    let measured = Occasion::Measured { fill: WindowUse { tokens: 160_000, window: 200_000 }, nonce: "lh-1" };
    let mut story = Story::new();
    story.meet(&measured);
    assert_eq!(story.meet(&Occasion::Overtaken), PlanAction::Nothing);
    assert_eq!(story.plan.state, State::Armed);
    assert!(matches!(story.meet(&Occasion::TurnEnded(full())), PlanAction::Ask(_)));
}

#[test]
fn a_question_that_is_too_old_is_asked_again_after_the_next_turn() {
    let mut story = Story::asked();
    assert_eq!(story.meet(&Occasion::Resumed), PlanAction::Nothing, "the model writes the handoff");
    assert_eq!(story.plan.state, State::Asked);
    story.now += EXPIRES_MS;
    assert_eq!(story.meet(&Occasion::Resumed), PlanAction::Nothing);
    assert_eq!(story.plan.state, State::Armed);
    assert!(matches!(story.meet(&Occasion::TurnEnded(full())), PlanAction::Ask(_)));
}

#[test]
fn a_limit_of_one_is_the_whole_window() {
    let half = WindowUse { tokens: 1, window: 2 };
    assert!(!half.reaches(1.0) && half.reaches(0.5));
    assert!(WindowUse { tokens: 2, window: 2 }.reaches(1.0));
}

#[test]
fn states_are_stored_by_name() {
    assert_eq!(State::Armed.to_string(), "ready", "a word that users know");
    let names = State::ALL.map(State::as_str);
    assert_eq!(names, ["armed", "asked", "clearing", "prompting", "done", "failed", "cancelled"]);
    for state in State::ALL {
        assert_eq!(State::from_name(state.as_str()), Some(state));
    }
    assert_eq!(State::from_name("lost"), None);
}

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

#[test]
fn a_user_who_steps_in_cancels_it() {
    let typed = Occasion::Prompted { session: "a", prompt: "no, wait" };
    let exit = Occasion::Ended { session: "a", reason: "prompt_input_exit" };
    let new_exit = Occasion::Ended { session: "b", reason: "clear" };
    let cleared = Occasion::Cleared { session: "c" };
    for (name, mut story, occasion) in [
        ("asked, typed", Story::asked(), &typed),
        ("clearing, typed", Story::clearing(), &typed),
        ("prompting, typed", Story::prompting(), &typed),
        ("asked, left", Story::asked(), &exit),
        ("clearing, left", Story::clearing(), &exit),
        ("prompting, left", Story::prompting(), &new_exit),
        ("asked, cleared", Story::asked(), &cleared),
        ("asked, by hand", Story::asked(), &Occasion::Cancelled),
    ] {
        assert_eq!(story.meet(occasion), PlanAction::Nothing, "{name}");
        assert_eq!(story.plan.state, State::Cancelled, "{name}");
    }
}

#[test]
fn a_step_is_tried_twice() {
    for mut story in [Story::clearing(), Story::prompting()] {
        let stuck = story.plan.state;
        assert_eq!(story.meet(&Occasion::Undelivered { why: "no echo" }), PlanAction::TypeAgain);
        assert_eq!((story.plan.state, story.plan.deadline), (stuck, Millis(story.now + 60_000)));
        let PlanAction::Notify(said) = story.meet(&Occasion::Undelivered { why: "no echo" }) else { panic!("says so") };
        assert!(said.contains("no echo"), "{said}");
        assert_eq!((story.plan.state, story.plan.stuck_in), (State::Failed, Some(stuck)));
        assert_eq!(story.meet(&Occasion::Resumed), PlanAction::TypeAgain);
        assert_eq!(story.plan.state, stuck);
    }
}

#[test]
fn what_has_gone_on_by_other_means_is_not_resumed() {
    let mut story = Story::clearing();
    story.meet(&Occasion::Undelivered { why: "no echo" });
    story.meet(&Occasion::Undelivered { why: "no echo" });
    story.meet(&Occasion::Prompted { session: "a", prompt: "then do this" });
    assert_eq!(story.meet(&Occasion::Resumed), PlanAction::Nothing);
    assert_eq!(story.plan.state, State::Failed);
}

#[test]
fn a_step_without_progress_expires() {
    for mut story in [Story::asked(), Story::clearing(), Story::prompting()] {
        story.now += EXPIRES_MS - 2_000;
        assert_eq!(story.meet(&Occasion::Passed), PlanAction::Nothing);
        assert!(story.plan.state.is_open());
        story.now += 2_000;
        assert_eq!(story.meet(&Occasion::Passed), PlanAction::Nothing);
        assert_eq!(story.plan.state, State::Failed);
        assert!(story.plan.reason.ends_with("nothing happened for 15 minutes"), "{}", story.plan.reason);
    }
}

#[test]
fn after_a_crash_whoever_is_in_the_pane_goes_on() {
    for mut story in [Story::clearing(), Story::prompting()] {
        assert_eq!(story.meet(&Occasion::Restarted { session: "c" }), PlanAction::Show);
        assert_eq!((story.plan.state, story.plan.session.as_str()), (State::Prompting, "c"));
    }
    let mut late = Story::prompting();
    late.now += EXPIRES_MS;
    assert_eq!(late.meet(&Occasion::Restarted { session: "c" }), PlanAction::Nothing);
    assert_eq!(late.plan.state, State::Failed);
}

#[test]
fn a_used_up_limit_holds_it_up_until_it_is_resumed() {
    let mut story = Story::asked();
    story.meet(&Occasion::RateLimited);
    story.now += EXPIRES_MS;
    assert_eq!(story.meet(&Occasion::Passed), PlanAction::Nothing);
    assert!(story.plan.paused && story.plan.state == State::Asked);
    assert!(!story.plan.waits_for_typing() || story.plan.paused);
    assert_eq!(story.meet(&Occasion::Resumed), PlanAction::TypeAgain);
    assert!(story.plan.waits_for_typing());
    let question = story.plan.text(&rules()).unwrap();
    assert_eq!(question, "Please reply with the handoff that was asked for (nonce: lh-1).");
    story.meet(&Occasion::Prompted { session: "a", prompt: &question });
    assert_eq!(story.plan.state, State::Asked);
    // The model has as long as for the first question, and nothing is typed meanwhile.
    assert_eq!(story.plan.deadline.since(story.plan.since), EXPIRES_MS);
    assert!(!story.plan.waits_for_typing());
    // This turn is one of its own: no hook has blocked before it.
    let reply = handoff("lh-1", true);
    assert!(matches!(story.meet(&Occasion::TurnEnded(TurnEnd { reply: &reply, ..full() })), PlanAction::Clear(_)));
}

#[test]
fn a_limit_that_comes_back_at_once_is_not_waited_for_for_ever() {
    let mut story = Story::asked();
    for _ in 0..LIFTS {
        story.meet(&Occasion::RateLimited);
        assert_eq!(story.meet(&Occasion::Lifted), PlanAction::TypeAgain);
    }
    story.meet(&Occasion::RateLimited);
    assert_eq!(story.meet(&Occasion::Lifted), PlanAction::Nothing);
    assert!(story.plan.paused, "a person can still resume it");
    story.now += HELD_UP_MS;
    story.meet(&Occasion::Passed);
    assert_eq!(story.plan.state, State::Failed);
}

#[test]
fn a_user_who_stops_the_answer_stops_the_plan() {
    let reply = handoff("lh-1", true);
    let mut story = Story::asked();
    story.meet(&Occasion::TurnEnded(TurnEnd { again: true, by_user: true, reply: &reply, ..full() }));
    assert_eq!((story.plan.state, story.plan.reason.as_str()), (State::Armed, "the user stopped the turn"));
}

#[test]
fn only_a_plan_that_runs_is_held_up_or_tried_again() {
    let mut idle = Story::new();
    assert_eq!(idle.meet(&Occasion::RateLimited), PlanAction::Nothing);
    assert!(!idle.plan.paused);
    assert_eq!(idle.meet(&Occasion::Undelivered { why: "no echo" }), PlanAction::Nothing);
    let mut held = Story::clearing();
    held.meet(&Occasion::RateLimited);
    let before = held.plan.clone();
    assert_eq!(held.meet(&Occasion::RateLimited), PlanAction::Nothing);
    assert_eq!(held.meet(&Occasion::Undelivered { why: "no echo" }), PlanAction::Nothing);
    assert_eq!(held.plan, before);
}

#[test]
fn a_plan_is_stuck_where_a_user_can_resume_it() {
    let mut story = Story::clearing();
    assert!(!story.plan.is_stuck());
    story.meet(&Occasion::RateLimited);
    assert!(story.plan.is_stuck());
    story.meet(&Occasion::Resumed);
    assert!(!story.plan.is_stuck());
    story.meet(&Occasion::Undelivered { why: "no echo" });
    story.meet(&Occasion::Undelivered { why: "no echo" });
    assert!(story.plan.is_stuck());
    story.meet(&Occasion::Prompted { session: "a", prompt: "then do this" });
    assert!(!story.plan.is_stuck());
}

#[test]
fn the_limit_is_lifted_when_the_last_one_that_is_used_up_ends() {
    let limits = |five: f64, seven: f64| {
        format!(
            r#"{{"five_hour":{{"used_percentage":{five},"resets_at":20}},"seven_day":{{"used_percentage":{seven},"resets_at":90}}}}"#
        )
    };
    assert_eq!(lifted_at(&limits(100.0, 50.0)), Some(Millis(20_000)));
    assert_eq!(lifted_at(&limits(99.0, 99.0)), Some(Millis(90_000)));
    assert_eq!(lifted_at(&limits(98.9, 99.0)), Some(Millis(90_000)));
    assert_eq!(lifted_at(&limits(98.9, 98.9)), Some(Millis(20_000)), "none is used up: the next one");
    assert_eq!(lifted_at(r#"{"five_hour":{"used_percentage":100}}"#), None);
    assert_eq!(lifted_at("[]"), None);
}

#[test]
fn only_a_rate_limit_pauses() {
    assert!(is_rate_limit("rate_limit") && is_rate_limit("rate_limit_error"));
    assert!(!is_rate_limit("overloaded") && !is_rate_limit(""));
}

#[test]
fn messages_name_the_reason_and_the_next_step() {
    assert_eq!(texts::asked(0.756), "the context is 76 % full; asked for a handoff");
    assert_eq!(texts::goes_on(2), "goes on from the handoff, round 2");
    assert_eq!(texts::not_continued("a loop"), "not continued: a loop");
    let yet = texts::not_continued_yet("a loop");
    assert_eq!(yet, "not continued: a loop; `longhaul continuation resume` tries again");
    let codex = |goes_on| texts::near_limit_of_codex(0.5, goes_on);
    assert_eq!(codex(true), "the context is 50 % full; the baton is written: a new session goes on in a moment");
    assert!(codex(false).ends_with("the baton is written: type /new, and the new session goes on from here"));
}
