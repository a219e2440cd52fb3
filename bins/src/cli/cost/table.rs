//! Lays out the sums as a table.

use longhaul_core::short_session;
use longhaul_cost::{By, PRICES_DATE, Report, Row, Sum};
use longhaul_inject::printable;

use crate::cli::paint::{columns, fit, tokens};

/// The maximum width of the name of a group.
const MAX_NAME: usize = 40;

/// The columns with numbers.
const NUMBERS: [usize; 7] = [1, 2, 3, 4, 5, 6, 7];

/// Returns the lines of the table, with a heading that marks the numbers as an estimate.
pub(crate) fn lines(by: By, report: &Report) -> Vec<String> {
    let heading = match by {
        By::Day => "DAY",
        By::Project => "PROJECT",
        By::Model => "MODEL",
        By::Session => "SESSION",
    };
    let headings = [heading, "REQUESTS", "INPUT", "OUTPUT", "CACHE WRITE", "CACHE READ", "TOKENS", "COST"];
    let mut rows = vec![headings.map(str::to_owned)];
    rows.extend(report.rows.iter().map(|row| cells(&name(by, row), &row.sum)));
    rows.push(cells("total", &report.total));
    let mut lines = vec![
        format!("Estimate by the prices of the Claude API of {PRICES_DATE}; a subscription is not paid by tokens."),
        String::new(),
    ];
    lines.extend(columns(&rows, &NUMBERS));
    if !report.unknown_models.is_empty() {
        let models: Vec<String> = report.unknown_models.iter().map(|model| shown(model)).collect();
        lines.push(String::new());
        lines.push(format!(
            "The price of {} is not known: set it with cost.prices in the configuration.",
            models.join(", ")
        ));
    }
    lines
}

fn name(by: By, row: &Row) -> String {
    let project = shown(row.project.as_deref().unwrap_or_default());
    match by {
        By::Day | By::Model => shown(&row.key),
        By::Project => project,
        By::Session => format!("{} {project}", shown(short_session(&row.key))),
    }
}

/// Returns text from a transcript, for a terminal.
fn shown(text: &str) -> String {
    fit(&printable(text), MAX_NAME)
}

fn cells(name: &str, sum: &Sum) -> [String; 8] {
    let counts = [sum.tokens.input, sum.tokens.output, sum.tokens.cache_write(), sum.tokens.cache_read];
    let [input, output, cache_write, cache_read] = counts.map(tokens);
    let requests = sum.requests.to_string();
    [name.to_owned(), requests, input, output, cache_write, cache_read, tokens(sum.tokens.total()), cost(sum)]
}

/// Returns the cost, such as `$1.20`; `$1.20 + ?` if the price of some of the tokens is not known.
fn cost(sum: &Sum) -> String {
    match sum.known_cost() {
        None => "unknown".to_owned(),
        Some(cost) if sum.unpriced_tokens > 0 => format!("${:.2} + ?", cost.dollars()),
        Some(cost) => format!("${:.2}", cost.dollars()),
    }
}
