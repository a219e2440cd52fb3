//! Observations of the web, of subagents, and of unknown tools.

use super::{Seen, TITLE_CHARS};
use crate::observation::{Kind, Observation};
use crate::text::{count, first_lines, one_line, passage};

/// Maximum length of the question, and of the answer.
const ASKED_CHARS: usize = 700;
const ANSWER_CHARS: usize = 1_200;

pub(super) fn fetched(seen: &Seen<'_>) -> Observation {
    let url = seen.input.text("url").unwrap_or_default();
    if seen.call.is_error {
        return seen.failure(format!("Could not fetch {url}"));
    }
    let mut observation = seen.observation(Kind::Discovery, format!("Fetched {url}"));
    let status = seen.response.number("code").filter(|code| *code != 200).map(|code| format!("status {code}"));
    observation.narrative = asked_and_answered(seen.input.text("prompt"), &seen.response.said());
    observation.facts = [Some(url), status].into_iter().flatten().collect();
    observation
}

pub(super) fn searched_web(seen: &Seen<'_>) -> Observation {
    let query = seen.input.text("query").unwrap_or_default();
    if seen.call.is_error {
        return seen.failure(format!("Could not search the web for “{query}”"));
    }
    let mut observation = seen.observation(Kind::Discovery, format!("Searched the web for “{query}”"));
    let (titles, urls) = (seen.response.every("title"), seen.response.every("url"));
    let found: Vec<String> = titles.iter().zip(&urls).map(|(title, url)| format!("{title} <{url}>")).collect();
    observation.narrative = if found.is_empty() { seen.response.said() } else { found.join("\n") };
    observation.facts = [format!("query: {query}")].into_iter().chain(urls).collect();
    observation
}

pub(super) fn delegated(seen: &Seen<'_>) -> Observation {
    let prompt = seen.input.text("prompt");
    let what = seen.input.text("description").or_else(|| prompt.as_deref().map(|prompt| first_lines(prompt, 1)));
    let what = what.unwrap_or_else(|| "a task".to_owned());
    let (title, answer) = if seen.call.is_error {
        (format!("Agent failed: {what}"), seen.response.said())
    } else if seen.response.flag("isAsync") {
        (format!("Delegated: {what} (in the background)"), String::new())
    } else {
        (format!("Delegated: {what}"), seen.response.every("text").join("\n"))
    };
    let answer = if answer.is_empty() && !seen.response.flag("isAsync") { seen.response.said() } else { answer };
    let mut observation = seen.observation(Kind::Delegation, title);
    observation.narrative = asked_and_answered(prompt, &answer);
    let agent = seen.input.text("subagent_type").map(|agent| format!("agent {agent}"));
    let tools = seen.response.number("totalToolUseCount").map(|calls| count(calls, "tool call"));
    let tokens = seen.response.number("totalTokens").map(|tokens| count(tokens, "token"));
    observation.facts = [agent, tools, tokens].into_iter().flatten().collect();
    observation
}

fn asked_and_answered(asked: Option<String>, answer: &str) -> String {
    let asked = asked.map(|asked| format!("Asked: {}", passage(&asked, ASKED_CHARS)));
    let answer = Some(answer).filter(|answer| !answer.trim().is_empty());
    let answer = answer.map(|answer| format!("Came back: {}", passage(answer, ANSWER_CHARS)));
    asked.into_iter().chain(answer).collect::<Vec<_>>().join("\n")
}

/// Describes a call of an unknown tool by its name.
pub(super) fn used(seen: &Seen<'_>, server: Option<&str>, name: &str) -> Observation {
    let label = server.map_or_else(|| name.to_owned(), |server| format!("{server}: {name}"));
    if seen.call.is_error {
        return seen.failure(format!("{label} failed"));
    }
    let telling = ["query", "url", "path", "file_path", "name", "id", "title", "command", "description", "prompt"];
    let about = seen.input.first_text(&telling).map(|about| format!(" – {}", one_line(&about, TITLE_CHARS / 2)));
    // A tool that only reads is recognised by the verb in its name.
    let looks = ["get", "list", "read", "search", "find", "fetch", "query", "show", "describe"];
    let verb = name.split(['_', '-', '.']).next().unwrap_or_default().to_ascii_lowercase();
    let kind = if looks.contains(&verb.as_str()) { Kind::Discovery } else { Kind::Command };
    let mut observation = seen.observation(kind, format!("{label}{}", about.unwrap_or_default()));
    let input = Some(seen.call.input.trim()).filter(|input| !matches!(*input, "" | "{}" | "null"));
    observation.narrative = asked_and_answered(input.map(str::to_owned), &seen.response.said());
    observation.facts = server.map(|server| format!("MCP server {server}")).into_iter().collect();
    observation
}

/// Describes a call that was refused.
pub(super) fn refused(seen: &Seen<'_>) -> Observation {
    let telling = ["command", "file_path", "notebook_path", "url", "query", "pattern", "description"];
    let what = seen.input.first_text(&telling).map(|what| if what.starts_with('/') { seen.path(&what) } else { what });
    let what = what.map(|what| format!(" `{}`", one_line(&what, TITLE_CHARS / 2)));
    seen.failure(format!("Not allowed: {}{}", seen.call.tool, what.unwrap_or_default()))
}
