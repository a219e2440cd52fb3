//! How the cost of a request is computed from its tokens: cache writes, long prompts, web searches, the user's own prices.
//! The table of prices is `price_table.rs`.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use longhaul_core::config::ModelPrice;

use crate::price_table::{LONG_PROMPTS, TABLE, US_ONLY_PERCENT, WEB_SEARCH};
use crate::tokens::Tokens;
use crate::usage_line::Request;

/// An amount of money, in picodollars, so that sums do not depend on the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Cost(u64);

impl Cost {
    /// Returns the amount in dollars.
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns an amount in dollars, rounded to a picodollar.
    pub fn from_dollars(dollars: f64) -> Self {
        Self((dollars * 1e12).round() as u64)
    }
}

impl AddAssign for Cost {
    /// Adds an amount. A sum that is too large stays at the largest amount.
    fn add_assign(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }
}

/// The prices of one model, in picodollars per token. A price of one dollar per million tokens is one million of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rates {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write_5m: u64,
    cache_write_1h: u64,
}

impl Rates {
    /// Returns prices from dollars per million tokens. A cache write costs 1.25 times the input for five minutes, and
    /// twice the input for an hour: so it is for every model in the table.
    pub(crate) fn new(input: f64, output: f64, cache_read: f64) -> Self {
        let rate = |dollars: f64| (dollars * 1e6).round() as u64;
        Self {
            input: rate(input),
            output: rate(output),
            cache_read: rate(cache_read),
            cache_write_5m: rate(input * 1.25),
            cache_write_1h: rate(input * 2.0),
        }
    }

    fn of_config(price: &ModelPrice) -> Self {
        let rate = |dollars: f64| (dollars * 1e6).round() as u64;
        let usual = Self::new(price.input, price.output, price.input / 10.0);
        Self {
            cache_read: price.cache_read.map_or(usual.cache_read, rate),
            cache_write_5m: price.cache_write_5m.map_or(usual.cache_write_5m, rate),
            cache_write_1h: price.cache_write_1h.map_or(usual.cache_write_1h, rate),
            ..usual
        }
    }

    fn cost(&self, tokens: &Tokens) -> u128 {
        let parts = [
            (tokens.input, self.input),
            (tokens.output, self.output),
            (tokens.cache_read, self.cache_read),
            (tokens.cache_write_5m, self.cache_write_5m),
            (tokens.cache_write_1h, self.cache_write_1h),
        ];
        parts.iter().map(|(count, rate)| u128::from(*count) * u128::from(*rate)).sum()
    }
}

/// The prices of a model, some of which depend on the length of the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelPrices {
    usual: Rates,
    /// Above how many tokens of the prompt there are other prices.
    long: Option<(u64, Rates)>,
}

impl ModelPrices {
    /// Returns what a request cost.
    pub(crate) fn cost(&self, tokens: &Tokens, web_searches: u64, is_us_only: bool) -> Cost {
        let long = self.long.filter(|(above, _)| tokens.prompt() > *above);
        let sum = long.map_or(self.usual, |(_, rates)| rates).cost(tokens);
        let sum = if is_us_only { sum + sum * US_ONLY_PERCENT / 100 } else { sum };
        let searches = u128::from(web_searches) * u128::from(Cost::from_dollars(WEB_SEARCH).0);
        Cost(u64::try_from(sum + searches).unwrap_or(u64::MAX))
    }
}

/// The prices of all models: the built-in table, and the user's own prices over it.
#[derive(Debug, Clone, Default)]
pub struct Prices {
    own: BTreeMap<String, Rates>,
}

impl Prices {
    /// Returns the built-in prices, with the user's own ones over them.
    ///
    /// A user's price is for every model whose id begins with its key; the longest key counts.
    pub fn new(own: &BTreeMap<String, ModelPrice>) -> Self {
        Self { own: own.iter().map(|(model, price)| (model.clone(), Rates::of_config(price))).collect() }
    }

    /// Returns what a request cost; `None` if the price of its model is not known.
    pub fn cost(&self, request: &Request) -> Option<Cost> {
        let prices = self.of_model(&request.model)?;
        Some(prices.cost(&request.tokens, request.web_searches, request.is_us_only))
    }

    /// Returns the prices of a model; `None` if they are not known.
    pub(crate) fn of_model(&self, model: &str) -> Option<ModelPrices> {
        let name = plain_name(model);
        let begins = |key: &str| model.starts_with(key) || name.starts_with(key);
        let own = self.own.iter().filter(|(key, _)| begins(key)).max_by_key(|(key, _)| key.len());
        if let Some((_, rates)) = own {
            return Some(ModelPrices { usual: *rates, long: None });
        }
        let rates = |(input, output, cache_read)| Rates::new(input, output, cache_read);
        let (_, usual) = TABLE.iter().find(|(models, _)| models.contains(&name.as_str()))?;
        let long = LONG_PROMPTS.iter().find(|(model, ..)| *model == name);
        Some(ModelPrices { usual: rates(*usual), long: long.map(|(_, above, price)| (*above, rates(*price))) })
    }
}

/// Returns the id of a model as the price table spells it: without the date, and without what a cloud adds to it.
///
/// `us.anthropic.claude-opus-4-5-20251101-v1:0`, `claude-opus-4-5@20251101` and `claude-opus-4-5[1m]` are all
/// `claude-opus-4-5`.
fn plain_name(model: &str) -> String {
    let (model, fast) = model.strip_suffix("-fast").map_or((model, ""), |model| (model, "-fast"));
    let model = model.rfind("claude-").map_or(model, |at| &model[at..]);
    let model = model.split(['@', '[', ':']).next().unwrap_or(model);
    let is_version = |end: &str| end.strip_prefix('v').is_some_and(is_number);
    let model = model.rsplit_once('-').filter(|(_, end)| is_version(end)).map_or(model, |(start, _)| start);
    let is_date = |end: &str| end == "latest" || (end.len() == 8 && is_number(end));
    let model = model.rsplit_once('-').filter(|(_, end)| is_date(end)).map_or(model, |(start, _)| start);
    format!("{model}{fast}")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
