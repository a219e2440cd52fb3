use longhaul_core::config::SpendLimit;
use proptest::prelude::*;

use crate::limits::{
    Measure, Scope, Spent, Step, Subagents, Told, blind_message, denial, goes_on, near_message, reach, stop_reason,
};
use crate::{Cost, Tokens};

fn dollars(amount: f64) -> Spent {
    Spent { cost: Cost::from_dollars(amount), tokens: (amount * 1e5) as u64, unpriced_tokens: 0 }
}

fn of_session(limit: SpendLimit, spent: Spent) -> Measure {
    Measure { scope: Scope::Session, limit, spent }
}

fn limits() -> impl Strategy<Value = SpendLimit> {
    prop_oneof![
        Just(SpendLimit::Off),
        (1..1_000_u32).prop_map(|cents| SpendLimit::Dollars(f64::from(cents) / 100.0)),
        (1..1_000_000_u64).prop_map(SpendLimit::Tokens),
    ]
}

fn spent() -> impl Strategy<Value = Spent> {
    (0..2_000_u32, 0..2_000_000_u64, 0..1_000_u64).prop_map(|(cents, tokens, unpriced_tokens)| Spent {
        cost: Cost::from_dollars(f64::from(cents) / 100.0),
        tokens,
        unpriced_tokens,
    })
}

fn measures() -> impl Strategy<Value = Vec<Measure>> {
    let measure = |scope| (limits(), spent()).prop_map(move |(limit, spent)| Measure { scope, limit, spent });
    (measure(Scope::Session), measure(Scope::Day), measure(Scope::ProjectDay)).prop_map(|(a, b, c)| vec![a, b, c])
}

proptest! {
    #[test]
    fn a_session_is_stopped_exactly_when_a_limit_is_reached(measures in measures(), near: u8, blind: u8) {
        let stops = matches!(reach(&measures, Told { near, blind }), Step::Stop(_));
        prop_assert_eq!(stops, measures.iter().any(|measure| measure.share() >= 1.0));
    }

    #[test]
    fn without_a_limit_nothing_happens(spent in spent()) {
        let measures = Scope::ALL.map(|scope| Measure { scope, limit: SpendLimit::Off, spent });
        prop_assert_eq!(reach(&measures, Told::default()), Step::Nothing);
    }

    #[test]
    fn everything_is_told_once(measures in measures()) {
        let mut told = Told::default();
        let mut steps = 0;
        while let step @ (Step::Near(_) | Step::Blind(_)) = reach(&measures, told) {
            told = told.after(&step);
            steps += 1;
            prop_assert!(steps <= 6, "it is told again and again");
        }
    }

    #[test]
    fn whoever_spends_more_is_not_let_further(limit in limits(), spent in spent(), more in spent()) {
        let before = of_session(limit, spent);
        let mut after = before;
        after.spent.add(&more);
        prop_assert!(after.share() >= before.share());
        after.spent.take_away(&more);
        prop_assert_eq!(after, before);
    }

    #[test]
    fn a_raised_limit_lets_spend_exactly_that_much(limit in limits(), spent in spent(), cents in 1..1_000_u32) {
        let measure = of_session(limit, spent);
        let amount = match limit {
            SpendLimit::Tokens(_) => SpendLimit::Tokens(u64::from(cents)),
            SpendLimit::Off | SpendLimit::Dollars(_) => SpendLimit::Dollars(f64::from(cents) / 100.0),
        };
        match measure.raised_by(amount) {
            None => prop_assert!(limit.is_off()),
            Some(raised) => prop_assert!(!of_session(raised, spent).is_reached()),
        }
    }

    #[test]
    fn another_subagent_starts_exactly_while_there_is_room(
        at_once in 0..5_u64, most_in_turn in 0..5_u64, running in 0..8_u64, in_turn in 0..8_u64,
    ) {
        let most = Subagents { running: at_once, in_turn: most_in_turn };
        let has_room = (at_once == 0 || running < at_once) && (most_in_turn == 0 || in_turn < most_in_turn);
        prop_assert_eq!(denial(most, Subagents { running, in_turn }).is_none(), has_room);
    }

    #[test]
    fn the_order_of_requests_makes_no_difference(requests in prop::collection::vec((0..1_000_u64, any::<bool>()), 0..20)) {
        let sum = |requests: &[(u64, bool)]| {
            requests.iter().fold(Spent::default(), |mut sum, (tokens, has_price)| {
                let cost = has_price.then(|| Cost::from_dollars(*tokens as f64));
                sum.add(&Spent::by_request(&Tokens::new(*tokens, 0), cost));
                sum
            })
        };
        let reversed: Vec<_> = requests.iter().rev().copied().collect();
        prop_assert_eq!(sum(&requests), sum(&reversed));
        let unpriced: u64 = requests.iter().filter(|(_, has_price)| !has_price).map(|(tokens, _)| tokens).sum();
        prop_assert_eq!(sum(&requests).unpriced_tokens, unpriced);
    }
}

#[test]
fn units_are_not_mixed_when_a_limit_is_raised() {
    let measure = of_session(SpendLimit::Dollars(5.0), dollars(7.0));
    assert_eq!(measure.raised_by(SpendLimit::Dollars(5.0)), Some(SpendLimit::Dollars(12.0)));
    assert_eq!(measure.raised_by(SpendLimit::Tokens(5)), None);
    let below = of_session(SpendLimit::Tokens(100), Spent { tokens: 40, ..Spent::default() });
    assert_eq!(below.raised_by(SpendLimit::Tokens(10)), Some(SpendLimit::Tokens(110)));
}

#[test]
fn the_texts_name_the_limit_what_was_spent_and_how_to_go_on() {
    let measure = of_session(SpendLimit::Dollars(5.0), dollars(5.02));
    let reason = stop_reason(&measure);
    for part in ["this session has spent $5.02 of $5 (limits.session)", "longhaul limit raise 5`", "`!!`", "`/clear`"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    let tokens = Spent { tokens: 20_000_000, ..Spent::default() };
    let day = Measure { scope: Scope::Day, limit: SpendLimit::Tokens(20_000_000), spent: tokens };
    let reason = stop_reason(&day);
    assert!(reason.contains("all sessions have spent 20M of 20M tokens today (limits.day)"), "{reason}");
    assert!(reason.contains("raise 5M`") && reason.contains("tomorrow"), "{reason}");
    let near = of_session(SpendLimit::Dollars(5.0), dollars(4.1));
    assert_eq!(near_message(&near), "this session has spent $4.10 of $5, 82 % of limits.session");
    let blind = of_session(SpendLimit::Dollars(5.0), Spent { unpriced_tokens: 1_000, ..dollars(1.0) });
    assert!(blind_message(&blind).contains("the price of 1k tokens is not known"));
    assert!(
        stop_reason(&Measure { spent: Spent { unpriced_tokens: 1_000, ..dollars(6.0) }, ..blind })
            .contains("without 1k tokens of unknown price")
    );
}

#[test]
fn a_prompt_goes_on_by_how_it_begins() {
    assert!(goes_on("!!go on") && goes_on("  !! go on") && goes_on("!!"));
    assert!(!goes_on("go on!!") && !goes_on("!go on") && !goes_on(""));
}
