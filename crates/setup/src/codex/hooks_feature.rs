//! The feature of Codex that runs hooks: whether it is off, and how it is switched on in config.toml, edited as text.

use std::path::Path;

use longhaul_inject::TerminalCommand;
use longhaul_runtime::{run_program_in, waiting_times};

use crate::claude_command::ROOT;
use crate::settings::{Change, Refusal};

/// The names of the feature: the current one, and that of earlier versions, which still works.
pub(crate) const NAMES: [&str; 2] = ["hooks", "codex_hooks"];

/// The table of all features.
const TABLE: &str = "features";

/// Returns the name of the feature if Codex says that it is off, or else if config.toml does.
pub(crate) fn switched_off(program: Option<&Path>, config: Option<&str>) -> Option<&'static str> {
    match program.and_then(|program| ask(program, &["features", "list"])) {
        Some(list) if NAMES.iter().any(|name| value_in_list(&list, name).is_some()) => {
            NAMES.into_iter().find(|name| value_in_list(&list, name) == Some(false))
        }
        // An older version has no such command.
        _ => NAMES.into_iter().find(|name| config.is_some_and(|text| in_config(text, name).is_some())),
    }
}

/// Runs Codex outside of any project, whose configuration the user may not trust.
pub(crate) fn ask(program: &Path, arguments: &[&str]) -> Option<String> {
    let words = std::iter::once(program.to_str()?).chain(arguments.iter().copied());
    let step = TerminalCommand { argv: words.map(str::to_owned).collect(), stdin: None };
    run_program_in(Path::new(ROOT), &step, waiting_times::CODEX_FOR_DOCTOR).ok()
}

/// Returns whether the list of features says that one is on; `None` if it does not have it.
fn value_in_list(list: &str, feature: &str) -> Option<bool> {
    let mut rows = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    rows.find(|words| words.first() == Some(&feature)).and_then(|words| words.last()?.parse().ok())
}

/// Returns config.toml with the feature switched on; `None` if the file switches it on already.
///
/// Only a `false` is replaced, or a line is added. An inline table is refused.
pub(crate) fn with_feature(text: Option<&str>, name: &str) -> Change {
    let text = text.unwrap_or_default();
    if let Some((start, end)) = in_config(text, name) {
        return Ok(Some(format!("{}true{}", &text[..start], &text[end..])));
    }
    if lines(text).any(|(_, table, key, _)| is_feature(&table, &key, name)) {
        return Ok(None);
    }
    if lines(text).any(|(_, table, key, _)| table.is_empty() && key == TABLE) {
        return Err(Refusal::Shape(TABLE.to_owned()));
    }
    let line = format!("{name} = true\n");
    let header = text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at, line))
    });
    let after_header = header.filter(|(_, line)| table_name(line).as_deref() == Some(TABLE)).map(|(end, _)| end).next();
    Ok(Some(match after_header {
        Some(end) if text[..end].ends_with('\n') => format!("{}{line}{}", &text[..end], &text[end..]),
        Some(end) => format!("{}\n{line}{}", &text[..end], &text[end..]),
        None if text.is_empty() => format!("[{TABLE}]\n{line}"),
        None => format!("{}\n\n[{TABLE}]\n{line}", text.trim_end_matches('\n')),
    }))
}

/// Returns the place of the `false` that switches the feature off.
fn in_config(text: &str, name: &str) -> Option<(usize, usize)> {
    let (start, ..) =
        lines(text).find(|(_, table, key, value)| is_feature(table, key, name) && value.starts_with("false"))?;
    let line = text[start..].lines().next()?;
    let at = start + line.find('=')? + 1;
    let at = at + text[at..].find("false")?;
    Some((at, at + "false".len()))
}

fn is_feature(table: &str, key: &str, name: &str) -> bool {
    match table {
        "" => key.strip_prefix(TABLE).and_then(|key| key.strip_prefix('.')) == Some(name),
        table => table == TABLE && key == name,
    }
}

/// Returns every line with a key: where it begins, its table, the key and the value.
fn lines(text: &str) -> impl Iterator<Item = (usize, String, String, &str)> {
    let (mut at, mut table) = (0, String::new());
    text.split_inclusive('\n').filter_map(move |line| {
        let start = at;
        at += line.len();
        if let Some(name) = table_name(line) {
            table = name;
            return None;
        }
        let (key, value) = line.split_once('=').filter(|(key, _)| !key.trim_start().starts_with('#'))?;
        Some((start, table.clone(), key.replace(['"', '\'', ' ', '\t'], ""), value.trim()))
    })
}

/// Returns the name of the table that a line begins.
fn table_name(line: &str) -> Option<String> {
    let name = line.trim().strip_prefix('[')?;
    Some(name.split(']').next().unwrap_or_default().replace(['"', '\'', ' ', '['], ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let changed = with_feature(Some(text), "hooks").unwrap().unwrap();
        assert_eq!(changed, expected);
        assert_eq!(with_feature(Some(&changed), "hooks"), Ok(None), "it is on now");
    }

    #[test]
    fn the_feature_is_switched_on_and_every_other_byte_stays() {
        check("", "[features]\nhooks = true\n");
        check("# mine\nmodel = \"x\"", "# mine\nmodel = \"x\"\n\n[features]\nhooks = true\n");
        check("[features]\nhooks  =  false # no\nweb = false\n", "[features]\nhooks  =  true # no\nweb = false\n");
        check(
            "[features] # all\nweb = false\n[tui]\nhooks = false\n",
            "[features] # all\nhooks = true\nweb = false\n[tui]\nhooks = false\n",
        );
        check("features.hooks = false\n[a]\n", "features.hooks = true\n[a]\n");
        check("[features]", "[features]\nhooks = true\n");
        assert_eq!(with_feature(Some("[features]\nhooks = true"), "hooks"), Ok(None));
        assert_eq!(
            with_feature(Some("features = { hooks = false }"), "hooks"),
            Err(Refusal::Shape("features".to_owned()))
        );
    }

    #[test]
    fn off_is_what_codex_says_or_else_what_its_configuration_says() {
        assert_eq!(value_in_list("hooks   stable   false\nweb x true\n", "hooks"), Some(false));
        assert_eq!(value_in_list("web x true\n", "hooks"), None);
        assert_eq!(switched_off(None, Some("[features]\ncodex_hooks = false\n")), Some("codex_hooks"));
        assert_eq!(switched_off(None, Some("[features]\n# hooks = false\nhooks = true\n")), None);
        assert_eq!(switched_off(None, None), None);
    }
}
