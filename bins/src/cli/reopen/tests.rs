use longhaul_core::Millis;
use longhaul_tracker::reopen::SessionPlace;

use super::{Candidate, choose, parse};

#[test]
fn only_numbers_that_were_listed_are_taken() {
    let candidate = |session: &str, is_chosen: bool| Candidate {
        place: SessionPlace::new(session, "claude", 0),
        refusal: None,
        command: Vec::new(),
        variables: Vec::new(),
        is_chosen,
    };
    let mut candidates = [candidate("a", false), candidate("b", true), candidate("c", true)];
    for wrong in ["1", "0", "4", "x", "2 1"] {
        assert!(choose(&mut candidates, wrong).is_err(), "{wrong}");
        assert_eq!(candidates.each_ref().map(|candidate| candidate.is_chosen), [false, true, true], "{wrong}");
    }
    choose(&mut candidates, "3").unwrap();
    assert_eq!(candidates.each_ref().map(|candidate| candidate.is_chosen), [false, false, true]);
}

#[test]
fn a_time_is_an_age_or_a_day() {
    let now = Millis(1_800_000_000_000);
    let age = |text: &str| parse(text, now).map(|since| now.0 - since.0).map_err(|error| error.to_string());
    assert_eq!(age("90m"), Ok(5_400_000));
    assert_eq!(age("12h"), Ok(43_200_000));
    assert_eq!(age("3d"), Ok(259_200_000));
    assert!(age("2026-11-16").is_ok_and(|age| age > 0));
    for wrong in ["", "h", "3", "3w", "-3d", "2026-13-01", "é", "3é"] {
        let message = format!("{wrong:?} is not a time: write it as 90m, 12h, 3d or 2026-01-31");
        assert_eq!(age(wrong), Err(message));
    }
}
