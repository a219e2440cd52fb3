//! The order in which results of words and of meaning are joined.

/// A record with every word of the query that is among this many first results by words stays among them.
pub const FIRST_RESULTS: usize = 10;

/// Moves protected items that are behind the first `results` to the end of those. The order is otherwise kept.
pub fn keep_among_first<T>(order: Vec<T>, results: usize, is_protected: impl Fn(&T) -> bool) -> Vec<T> {
    let protected = order.iter().filter(|item| is_protected(item)).count();
    let mut room = results.saturating_sub(protected);
    let (mut first, mut rest) = (Vec::new(), Vec::new());
    for item in order {
        let is_first = is_protected(&item) || room > 0;
        if is_first && !is_protected(&item) {
            room -= 1;
        }
        if is_first { first.push(item) } else { rest.push(item) }
    }
    first.extend(rest);
    first
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FIRST_RESULTS, keep_among_first};

    #[test]
    fn what_is_protected_moves_to_the_end_of_the_first() {
        let order: Vec<u32> = (0..20).collect();
        let kept = keep_among_first(order, FIRST_RESULTS, |item| *item == 15);
        assert_eq!(kept[..11], [0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 9]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_what_is_protected_is_among_the_first(
            order in prop::collection::btree_set(0_u32..60, 0..40),
            protected in prop::collection::btree_set(0_u32..60, 0..FIRST_RESULTS),
        ) {
            let order: Vec<u32> = order.into_iter().collect();
            let kept = keep_among_first(order.clone(), FIRST_RESULTS, |item| protected.contains(item));
            for item in &protected {
                let place = kept.iter().position(|other| other == item);
                prop_assert!(place.is_none_or(|place| place < FIRST_RESULTS));
            }
            let mut sorted = kept;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, order);
        }
    }
}
