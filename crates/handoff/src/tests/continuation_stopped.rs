use longhaul_core::Millis;

use super::continuation_plan::{Story, full, handoff, rules};
use crate::continuation::{EXPIRES_MS, HELD_UP_MS, LIFTS, Occasion, PlanAction, State, TurnEnd};

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
