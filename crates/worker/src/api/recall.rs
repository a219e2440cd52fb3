//! The answer to a question.

use axum::extract::{Request, State};
use longhaul_runtime::memory::{self, ANSWER_TOKENS, ANSWER_TOKENS_RANGE, Recall, Wanted, answer_json, meaning};

use super::named_project;
use super::search::check;
use crate::params::Params;
use crate::response::{Answer, Problem, json};
use crate::routes::Shared;

/// Answers a question with the best passages.
pub(crate) async fn recall(State(worker): State<Shared>, request: Request) -> Answer {
    let params = Params::of(request.uri());
    let query = memory::question(params.needed("q")?)
        .map_err(|_| Problem::unreadable("q has no words to search for", "ask in a sentence"))?;
    let wanted = Wanted { query, since: params.day("since")?, before: params.day("before")?, ..Wanted::default() };
    check(&wanted)?;
    let range = *ANSWER_TOKENS_RANGE.start() as i64..=*ANSWER_TOKENS_RANGE.end() as i64;
    let tokens = params.number("tokens", range, ANSWER_TOKENS as i64)?;
    let tokens = usize::try_from(tokens).unwrap_or(ANSWER_TOKENS);
    let ((env, config), home) = (worker.now()?, worker.home.clone());
    let answer = worker.database.ask(move |store| {
        let project = params.text("project").or(wanted.query.project.as_deref());
        let project = project.map(|name| named_project(store, name)).transpose()?;
        let key = project.as_ref().map(|project| project.key.as_str());
        Ok(meaning::recall(&env, &home, &config, store, &Recall::new(wanted, key, tokens))?)
    });
    Ok(json(&answer_json(&answer.await?)))
}
