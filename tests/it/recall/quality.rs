//! A floor for how well questions are answered, with a part of the corpus. `cargo xtask recall` measures all of it.

use std::fs;
use std::path::Path;

use super::{import, memory, sandbox};
use crate::recall_corpus::{self, Corpus, Half, QuestionSet, id_of};

#[test]
fn most_questions_of_a_sample_are_answered() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/recall");
    let mut corpus = Corpus::read(&folder).unwrap();
    for half in Half::ALL {
        assert!(corpus.sessions.iter().any(|(of, _)| *of == half), "{} has no sessions", half.name());
    }
    for set in QuestionSet::ALL {
        let own: Vec<_> = corpus.questions.iter().chain(&corpus.reports).filter(|one| one.set == set).collect();
        assert!(own.len() >= 60, "{} has {} questions", set.name(), own.len());
        let is_misplaced = |place: &Option<(String, usize)>| place.as_ref().is_some_and(|(_, prompt)| *prompt == 0);
        let misplaced = own.iter().find(|one| is_misplaced(&one.answer) || is_misplaced(&one.older));
        assert!(misplaced.is_none(), "names a turn that does not exist: {misplaced:?}");
    }
    let is_sampled = |name: &str| ["ledger", "compiler"].iter().any(|subject| name.starts_with(subject));
    corpus.sessions.retain(|(_, session)| is_sampled(&session.name));
    let has_no_answer = |one: &&recall_corpus::Question| one.set == QuestionSet::Tuning && one.answer.is_none();
    let unanswered: Vec<String> = corpus.questions.iter().filter(has_no_answer).map(|one| one.text.clone()).collect();
    let ids: Vec<String> = corpus.sessions.iter().map(|(_, session)| id_of(&session.name)).collect();
    corpus.questions.retain(|one| {
        one.set == QuestionSet::Tuning && one.answer.as_ref().is_some_and(|(session, _)| ids.contains(session))
    });
    assert!(corpus.questions.iter().all(|one| one.project == Half::Tuning) && corpus.questions.len() > 60);
    let sandbox = sandbox();
    let project = sandbox.project();
    let transcripts = sandbox.home().join(".claude/projects").join(project.to_string_lossy().replace(['/', '.'], "-"));
    fs::create_dir_all(&transcripts).unwrap();
    for (_, session) in &corpus.sessions {
        let file = transcripts.join(format!("{}.jsonl", id_of(&session.name)));
        fs::write(file, session.transcript(&project)).unwrap();
    }
    import(&sandbox);
    // Every third: starting a program for each takes time.
    let asked: Vec<_> = corpus.questions.iter().step_by(3).collect();
    let mut missed = Vec::new();
    let (mut first, mut weak) = (0, Vec::new());
    for question in &asked {
        let (session, prompt) = question.answer.clone().unwrap();
        let found = memory(&sandbox, &["search", "--json", "--limit", "10", "--", &question.text]).json();
        let is_it = |hit: &serde_json::Value| hit["session_id"] == session.as_str() && hit["prompt_number"] == prompt;
        let found = found.as_array().unwrap();
        let Some(place) = found.iter().position(is_it) else {
            missed.push((&question.category, &question.text));
            continue;
        };
        first += usize::from(place == 0);
        if found[place]["weak"] == true {
            weak.push(&question.text);
        }
    }
    assert!(missed.len() * 10 <= asked.len() * 2, "{} of {}: {missed:#?}", missed.len(), asked.len());
    assert!(first * 10 >= asked.len() * 6, "only {first} of {} come first", asked.len());
    let answered = asked.len() - missed.len();
    assert!(weak.len() * 10 <= answered, "{} of {answered} right answers are called weak: {weak:#?}", weak.len());
    // Where there is no answer, that is said, or no passage is claimed to be one.
    let (mut silent, mut claimed) = (0, Vec::new());
    for text in &unanswered {
        let outcome = memory(&sandbox, &["recall", "--json", "--", text]);
        silent += usize::from(outcome.status == Some(1));
        if outcome.status == Some(0) && outcome.json()["weak"] == false {
            claimed.push(text);
        }
    }
    assert!(claimed.len() * 4 <= unanswered.len(), "{claimed:#?}");
    assert!(silent * 3 >= unanswered.len(), "only {silent} of {} are said to have none", unanswered.len());
}
