//! Sums of a ledger by day, project, model or session.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_core::Millis;
use longhaul_core::clock::Date;
use serde_json::{Value, json};

use crate::ledger::{Counted, Ledger};
use crate::price::{Cost, ModelPrices, Prices, Tokens};

/// What requests are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// The day in local time.
    Day,
    Project,
    Model,
    Session,
}

/// Which requests are summed; the default is all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter<'a> {
    pub since: Option<Millis>,
    /// Only requests of the project with this key.
    pub project: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Sum {
    pub requests: u64,
    pub tokens: Tokens,
    /// The cost of the requests whose price is known.
    pub cost: Cost,
    /// The number of tokens whose price is not known.
    pub unpriced_tokens: u64,
}

impl Sum {
    /// Returns the cost; `None` if the price of no request is known.
    pub fn known_cost(&self) -> Option<Cost> {
        let is_known = self.unpriced_tokens == 0 || self.cost > Cost::default();
        is_known.then_some(self.cost)
    }

    fn add(&mut self, request: &Counted, prices: Option<ModelPrices>) {
        self.requests += 1;
        self.tokens.add(&request.tokens);
        match prices {
            Some(prices) => self.cost += prices.cost(&request.tokens, request.web_searches, request.is_us_only),
            None => self.unpriced_tokens = self.unpriced_tokens.saturating_add(request.tokens.total()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The day as `YYYY-MM-DD`, the key of the project, the id of the model, or the id of the session.
    pub key: String,
    /// The name of the project: of a project, or of a session.
    pub project: Option<String>,
    pub models: Vec<String>,
    /// The time of the last request.
    pub last: Millis,
    pub sum: Sum,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// The groups: days in order of time, everything else by cost, the highest first.
    pub rows: Vec<Row>,
    pub total: Sum,
    /// The models whose price is not known, sorted.
    pub unknown_models: Vec<String>,
}

#[derive(Default)]
struct Group {
    sum: Sum,
    models: BTreeSet<u32>,
    last: Millis,
    project: u32,
}

/// What distinguishes groups: the day, or the index of a name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum GroupKey {
    Day(Date),
    Index(u32),
}

impl Ledger {
    /// Sums requests. `date_of` returns the local day of a time.
    pub fn report(
        &self,
        by: By,
        prices: &Prices,
        filter: &Filter<'_>,
        mut date_of: impl FnMut(Millis) -> Date,
    ) -> Report {
        let prices = self.model_prices(prices);
        let mut groups: BTreeMap<GroupKey, Group> = BTreeMap::new();
        let (mut total, mut unknown) = (Sum::default(), BTreeSet::new());
        let is_wanted = |request: &&Counted| {
            let project = &self.projects[request.project as usize].key;
            filter.since.is_none_or(|since| request.at >= since) && filter.project.is_none_or(|key| key == project)
        };
        for request in self.requests.iter().filter(is_wanted) {
            let key = match by {
                By::Day => GroupKey::Day(date_of(request.at)),
                By::Project => GroupKey::Index(request.project),
                By::Model => GroupKey::Index(request.model),
                By::Session => GroupKey::Index(request.session),
            };
            let group = groups.entry(key).or_default();
            let price = prices[request.model as usize];
            group.sum.add(request, price);
            total.add(request, price);
            group.models.insert(request.model);
            if request.at >= group.last {
                (group.last, group.project) = (request.at, request.project);
            }
            if price.is_none() {
                unknown.insert(request.model);
            }
        }
        let mut rows: Vec<Row> = groups.into_iter().map(|(key, group)| self.row(by, &key, &group)).collect();
        if by != By::Day {
            rows.sort_by_key(|row| std::cmp::Reverse((row.sum.cost, row.sum.tokens.total())));
        }
        Report { rows, total, unknown_models: self.model_names(&unknown) }
    }

    pub fn session(&self, session: &str, prices: &Prices) -> Sum {
        let mut sum = Sum::default();
        let Some(session) = self.sessions.find(session) else { return sum };
        let prices = self.model_prices(prices);
        for request in self.requests.iter().filter(|request| request.session == session) {
            sum.add(request, prices[request.model as usize]);
        }
        sum
    }

    fn model_prices(&self, prices: &Prices) -> Vec<Option<ModelPrices>> {
        self.models.all().iter().map(|model| prices.of_model(model)).collect()
    }

    fn row(&self, by: By, key: &GroupKey, group: &Group) -> Row {
        let project = &self.projects[group.project as usize];
        let key = match key {
            GroupKey::Day(date) => date.to_string(),
            GroupKey::Index(index) => match by {
                By::Project => project.key.clone(),
                By::Model => self.models.all()[*index as usize].clone(),
                By::Session | By::Day => self.sessions.all()[*index as usize].clone(),
            },
        };
        let has_project = matches!(by, By::Project | By::Session);
        Row {
            key,
            project: has_project.then(|| project.name.clone()),
            models: self.model_names(&group.models),
            last: group.last,
            sum: group.sum,
        }
    }

    fn model_names(&self, models: &BTreeSet<u32>) -> Vec<String> {
        let mut names: Vec<String> = models.iter().map(|index| self.models.all()[*index as usize].clone()).collect();
        names.sort();
        names
    }
}

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
