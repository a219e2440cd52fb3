//! Sums as JSON, with the names of their fields: the same for the command line and for HTTP.

use longhaul_cost::Sum;
use serde_json::{Value, json};

/// Returns a sum as JSON. `cost_usd` is null if no price is known.
pub fn sum_json(sum: &Sum) -> Value {
    json!({
        "requests": sum.requests,
        "input_tokens": sum.tokens.input,
        "output_tokens": sum.tokens.output,
        "cache_read_tokens": sum.tokens.cache_read,
        "cache_write_5m_tokens": sum.tokens.cache_write_5m,
        "cache_write_1h_tokens": sum.tokens.cache_write_1h,
        "total_tokens": sum.tokens.total(),
        "cost_usd": sum.known_cost().map(|cost| (cost.dollars() * 1e6).round() / 1e6),
        "unpriced_tokens": sum.unpriced_tokens,
    })
}
