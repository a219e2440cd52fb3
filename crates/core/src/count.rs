//! Numbers as text: `2 files`, `1,234,567`.

/// Returns a number with the name of what is counted: `1 turn`, `2 turns`.
pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// Returns a number with a comma after every three digits: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut grouped = digits[..first].to_owned();
    for start in (first..digits.len()).step_by(3) {
        grouped.push_str(if grouped.is_empty() { "" } else { "," });
        grouped.push_str(&digits[start..start + 3]);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::{counted, grouped};

    #[test]
    fn one_is_singular() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "turn")), ["0 turns", "1 turn", "2 turns"]);
    }

    #[test]
    fn numbers_have_commas() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345, "12,345"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
