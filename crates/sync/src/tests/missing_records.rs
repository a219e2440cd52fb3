use proptest::prelude::{ProptestConfig, any, proptest};

use super::host;
use crate::{Heads, IdxRange, OwnRecords, OwnRecordsAhead, own_records, plan};

fn heads(of: &[(u8, u64)]) -> Heads {
    of.iter().map(|&(number, idx)| (host(number), idx)).collect()
}

fn range(number: u8, after: u64, through: u64) -> IdxRange {
    IdxRange { host: host(number), after, through }
}

#[test]
fn equal_sides_have_nothing_to_do() {
    let plan = plan(&heads(&[(1, 4), (2, 9)]), &heads(&[(1, 4), (2, 9)]), host(1)).unwrap();
    assert!(plan.is_empty());
    assert_eq!(plan.fetch_len(), 0);
}

#[test]
fn own_records_are_sent_and_those_of_others_fetched() {
    let plan = plan(&heads(&[(1, 4), (2, 3)]), &heads(&[(1, 1), (2, 9), (3, 2)]), host(1)).unwrap();
    assert_eq!(plan.send, Some(range(1, 1, 4)));
    assert_eq!(plan.fetch, [range(2, 3, 9), range(3, 0, 2)]);
    assert_eq!(plan.fetch_len(), 8);
    assert!(!plan.is_empty());
}

#[test]
fn records_in_one_direction_are_enough_to_do() {
    let todo = |local: &[(u8, u64)], remote: &[(u8, u64)]| plan(&heads(local), &heads(remote), host(1)).unwrap();
    let (send, fetch) = (todo(&[(1, 4)], &[]), todo(&[], &[(2, 4)]));
    assert_eq!((send.fetch_len(), send.is_empty()), (0, false));
    assert_eq!((fetch.send, fetch.is_empty()), (None, false));
    assert_eq!((range(1, 3, 4).is_empty(), range(1, 4, 4).is_empty()), (false, true));
}

#[test]
fn what_the_engine_lacks_of_others_is_theirs_to_send() {
    let plan = plan(&heads(&[(2, 9)]), &heads(&[(2, 3)]), host(1)).unwrap();
    assert!(plan.is_empty());
}

#[test]
fn own_records_that_this_host_did_not_write_are_noticed() {
    let ahead = plan(&heads(&[(1, 4)]), &heads(&[(1, 5)]), host(1));
    assert_eq!(ahead, Err(OwnRecordsAhead { local: 4, remote: 5 }));
}

#[test]
fn own_records_beyond_the_confirmed_ones_are_compared() {
    assert_eq!(own_records(host(1), 4, 4), OwnRecords::Known);
    assert_eq!(own_records(host(1), 4, 2), OwnRecords::Known);
    assert_eq!(own_records(host(1), 4, 6), OwnRecords::Compare(range(1, 4, 6)));
}

#[test]
fn an_engine_that_claims_too_much_does_not_overflow() {
    let remote = heads(&[(2, u64::MAX), (3, u64::MAX)]);
    assert_eq!(plan(&Heads::new(), &remote, host(1)).unwrap().fetch_len(), u64::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// After the plan was carried out, in whatever parts, both sides have the same of everything that either may bring.
    #[test]
    fn a_plan_that_was_carried_out_leaves_nothing_to_do(own in 0_u64..20, there in 0_u64..20, others in any::<[(u8, u8); 3]>()) {
        let (mut local, mut remote) = (heads(&[(1, own)]), heads(&[(1, there.min(own))]));
        for (number, (here, there)) in (2..).zip(others) {
            local.insert(host(number), here.into());
            remote.insert(host(number), there.into());
        }
        let todo = plan(&local, &remote, host(1)).unwrap();
        if let Some(range) = todo.send {
            assert_eq!(range.after, remote[&range.host]);
            remote.insert(range.host, range.through);
        }
        for range in todo.fetch {
            assert!(!range.is_empty());
            assert_eq!(range.after, local[&range.host]);
            local.insert(range.host, range.through);
        }
        assert!(plan(&local, &remote, host(1)).unwrap().is_empty());
    }
}
