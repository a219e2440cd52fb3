//! Words that are frequent in prompts of every project: verbs of orders, and common terms of programming.
//!
//! The index of a project shows which words are rare in it. In a new project with few records every word is rare, but
//! these are ordinary.

/// Endings of inflections, and the endings of the words themselves.
///
/// `er` is not among them: a printer, a scanner or a counter is a thing of its own.
const ENDINGS: [(&str, &str); 8] =
    [("s", ""), ("es", ""), ("d", ""), ("ed", ""), ("ing", ""), ("ing", "e"), ("ly", ""), ("ies", "y")];

/// Returns whether a lower-case word is an ordinary one, in any inflection.
pub(crate) fn is_ordinary(word: &str) -> bool {
    let is_listed = |word: &str| ORDINARY.binary_search(&word).is_ok();
    let is_inflected = |(ending, before): &(&str, &str)| {
        let Some(stem) = word.strip_suffix(ending).filter(|stem| stem.len() > 1) else { return false };
        let doubled = || stem.len() > 3 && stem.as_bytes()[stem.len() - 1] == stem.as_bytes()[stem.len() - 2];
        is_listed(&format!("{stem}{before}"))
            || (ending.len() > 1 && stem.is_ascii() && doubled() && is_listed(&stem[..stem.len() - 1]))
    };
    is_listed(word)
        || word.bytes().all(|byte| byte.is_ascii_digit()) && word.len() < 3
        || ENDINGS.iter().any(is_inflected)
}

/// Returns whether a lower-case word begins an order. `next` is the word after it; empty if there is none.
pub(crate) fn is_order(word: &str, next: &str) -> bool {
    let can_be_noun = NOUNS.binary_search(&word).is_ok() && !next.is_empty();
    // "split src/amounts.rs" is an order: a noun is not followed by a path.
    let is_noun = can_be_noun && AFTER_VERBS.binary_search(&next).is_err() && !next.contains(['/', '.', '_']);
    ORDERS.binary_search(&word).is_ok() && !is_noun && next != "of"
}

/// Returns whether a word is the verb of an order, confirmed by the word after it: `run it`, `add the`.
///
/// Inside a text, a verb alone is not enough: "…, test data" is not an order.
pub(crate) fn is_verb_before(word: &str, next: &str) -> bool {
    ORDERS.binary_search(&word).is_ok() && begins_object(next)
}

/// Returns whether a word begins the object of a verb: `the`, `it`.
pub(crate) fn begins_object(word: &str) -> bool {
    OBJECTS.binary_search(&word).is_ok()
}

/// Verbs that orders begin with, sorted.
#[rustfmt::skip]
const ORDERS: &[&str] = &[
    "abort", "accept", "add", "adjust", "affiche", "aggiungi", "agrega", "ajoute", "aktualisiere", "align", "allow",
    "amend", "analyse", "analyze", "annotate", "append", "apply", "approve", "assume", "attach", "avoid", "añade",
    "baue", "beautify", "behebe", "benchmark", "benenne", "bisect", "borra", "build", "bump", "bundle", "call",
    "cambia", "cancel", "catch", "center", "centre", "change", "check", "cherry-pick", "choose", "clean", "cleanup",
    "clear", "clone", "close", "collapse", "combine", "comment", "commit", "committe", "compare", "compile",
    "complete", "configure", "continue", "convert", "copy", "correggi", "corrige", "count", "crea", "create", "crée",
    "cut", "debug", "decrease", "deduplicate", "define", "delete", "deploy", "deprecate", "describe", "detach",
    "disable", "discard", "display", "do", "document", "download", "draft", "draw", "drop", "dump", "duplicate",
    "edit", "ejecuta", "elimina", "enable", "ensure", "entferne", "erklär", "erkläre", "ersetze", "erstelle",
    "esegui", "estimate", "exclude", "execute", "expand", "explain", "export", "expose", "extend", "extract",
    "factor", "fetch", "figure", "fill", "finish", "fix", "fold", "follow", "force", "format", "füge", "führe",
    "generate", "get", "git", "give", "go", "grep", "group", "handle", "hardcode", "hide", "highlight", "ignore",
    "implement", "import", "improve", "include", "increase", "inline", "insert", "install", "integrate", "introduce",
    "investigate", "keep", "kill", "korrigiere", "lance", "lass", "lassen", "lint", "list", "load", "lock", "log",
    "look", "lower", "lösche", "mach", "mache", "make", "mark", "measure", "mention", "merge", "mets", "migrate",
    "mock", "modifie", "modify", "mostra", "move", "muestra", "multiply", "mute", "name", "narrow", "nimm",
    "normalise", "normalize", "note", "notify", "open", "optimise", "optimize", "organise", "organize", "package",
    "paint", "parameterize", "parametrize", "paraphrase", "parse", "passe", "paste", "patch", "pick", "pin", "plan",
    "polish", "port", "prefer", "prepare", "prepend", "print", "prioritise", "proceed", "profile", "proofread",
    "prova", "prueba", "prüfe", "publish", "pull", "push", "pushe", "put", "quote", "raise", "rank", "read",
    "rearrange", "rebase", "rebuild", "recompile", "record", "recreate", "redo", "reduce", "refactor", "reformat",
    "refresh", "regenerate", "reject", "release", "reload", "remove", "rename", "render", "renomme", "reorder",
    "reorganise", "repair", "repariere", "repeat", "rephrase", "replace", "report", "repro", "reproduce", "request",
    "require", "rerun", "reset", "resolve", "resort", "restart", "restore", "restructure", "resume", "retest",
    "retry", "return", "reuse", "revert", "review", "reword", "rework", "rewrite", "rimuovi", "rip", "rm", "roll",
    "rollback", "rotate", "round", "run", "räum", "räume", "sanitize", "save", "scaffold", "scan", "schreib",
    "schreibe", "search", "send", "separate", "serve", "set", "setup", "setze", "shift", "ship", "shorten", "show",
    "shrink", "shuffle", "shut", "sigue", "silence", "simplify", "simulate", "sketch", "skip", "sleep", "slice",
    "sort", "speed", "spell", "split", "squash", "stage", "start", "starte", "stash", "state", "step", "stop",
    "stoppe", "store", "stub", "submit", "suggest", "summarise", "summarize", "support", "supprime", "surround",
    "swap", "switch", "sync", "tag", "take", "tell", "test", "teste", "tidy", "tighten", "toggle", "touch", "trace",
    "track", "translate", "treat", "trim", "try", "tune", "turn", "tweak", "type", "undo", "unify", "uninstall",
    "unpack", "unstage", "update", "upgrade", "upload", "use", "validate", "verify", "vérifie", "wait", "walk",
    "warte", "watch", "weiter", "wire", "wrap", "write", "zeig", "zeige", "zip", "ändere", "öffne", "übersetze",
];

/// Those that can also be nouns, unless one of [`AFTER_VERBS`] follows: "track list" is not an order. Sorted.
#[rustfmt::skip]
const NOUNS: &[&str] = &[
    "backup", "build", "call", "change", "comment", "copy", "display", "document", "draft", "dump", "end", "export",
    "file", "filter", "format", "function", "group", "import", "key", "link", "list", "load", "lock", "log", "map",
    "mark", "match", "merge", "name", "need", "note", "order", "patch", "plan", "port", "print", "profile", "query",
    "record", "release", "report", "request", "return", "review", "round", "scan", "search", "set", "share", "sort",
    "split", "stage", "start", "state", "step", "stop", "store", "switch", "sync", "tag", "test", "time", "trace",
    "track", "type", "update", "value", "view", "watch", "wire", "work",
];

/// Words that follow the verb of an order, sorted.
#[rustfmt::skip]
const AFTER_VERBS: &[&str] = &[
    "a", "about", "again", "all", "also", "an", "and", "another", "any", "back", "both", "each", "every",
    "everything", "forward", "her", "him", "in", "instead", "into", "it", "its", "just", "me", "my", "new", "now",
    "on", "one", "only", "our", "out", "some", "that", "the", "their", "them", "then", "these", "this", "those", "to",
    "two", "up", "us", "with", "your",
];

/// Words that begin the object of a verb, sorted.
#[rustfmt::skip]
const OBJECTS: &[&str] = &[
    "a", "all", "an", "another", "any", "both", "each", "every", "everything", "her", "him", "it", "me", "my", "our",
    "some", "that", "the", "their", "them", "these", "this", "those", "us", "your",
];

/// Ordinary words, sorted; of scripts without spaces, pairs of characters.
#[rustfmt::skip]
const ORDINARY: &[&str] = &[
    "able", "abort", "accept", "add", "adjust", "affiche", "aggiungi", "agree", "agrega", "ahead", "ajoute",
    "aktualisiere", "align", "all-good", "alles", "allow", "already", "alright", "alternative", "amend", "analyse",
    "analyze", "annotate", "another", "answer", "anymore", "anyway", "apart", "app", "append", "application",
    "apply", "approach", "approve", "archivo", "arg", "argument", "around", "array", "assert", "assume", "attach",
    "attempt", "available", "avoid", "away", "añade", "back", "bad", "base", "basic", "batch", "baue", "beautify",
    "before", "begin", "behave", "behavior", "behaviour", "behebe", "below", "benchmark", "benenne", "best",
    "better", "bien", "big", "bigger", "bisect", "bit", "bitte", "blank", "block", "body", "bool", "boolean",
    "borra", "both", "bottom", "branch", "brauche", "break", "bring", "broken", "bug", "build", "bump", "bundle",
    "button", "bye", "call", "cambia", "cancel", "cargo", "case", "catch", "cause", "center", "centre", "chance",
    "change", "changelog", "char", "character", "check", "cherry-pick", "choose", "ci", "class", "clean", "cleanup",
    "clear", "cli", "clippy", "clone", "close", "code", "coding", "collapse", "color", "colour", "column", "combine",
    "come", "command", "comment", "commit", "committe", "compare", "compile", "complain", "complete", "component",
    "conclude", "condition", "config", "configuration", "configure", "confirm", "console", "const", "constant",
    "contain", "content", "context", "continue", "convert", "copy", "correct", "correctly", "correggi", "corrige",
    "count", "couple", "coverage", "crash", "crea", "create", "crée", "current", "currently", "cut", "danke", "data",
    "date", "datei", "day", "debug", "decide", "decision", "decrease", "deduplicate", "default", "define", "delete",
    "dependency", "deploy", "deprecate", "describe", "detach", "detail", "diff", "difference", "different",
    "difficult", "dir", "directory", "disable", "discard", "display", "do", "doc", "dockerfile", "docs", "document",
    "documentation", "does", "doing", "don't", "double", "download", "drop", "dry", "dump", "duplicate", "early",
    "easy", "edit", "either", "ejecuta", "elimina", "else", "empty", "enable", "encore", "end", "enough", "ensure",
    "entferne", "entire", "entry", "enum", "erklär", "erkläre", "erreur", "error", "ersetze", "erstelle", "erstmal",
    "esegui", "estimate", "even", "every", "everybody", "everything", "everywhere", "exact", "example", "exception",
    "exclude", "execute", "exist", "exit", "expand", "expect", "explain", "explicit", "expose", "expression",
    "extend", "extra", "extract", "fail", "failed", "failing", "failure", "fair", "false", "far", "fast", "faster",
    "fault", "feature", "feel", "fehler", "fetch", "few", "fichier", "field", "figure", "file", "fill", "final",
    "find", "fine", "finish", "first", "fix", "flag", "flaky", "fn", "fold", "folder", "follow", "following",
    "fonction", "font", "force", "forget", "fork", "form", "format", "forward", "found", "free", "friday", "full",
    "fully", "fun", "func", "función", "function", "funktion", "further", "future", "füge", "führe", "gave", "genau",
    "generate", "generic", "get", "git", "github", "gitignore", "give", "given", "go", "go-ahead", "good", "gracias",
    "great", "green", "grep", "group", "gut", "handle", "happen", "happy", "hard", "hardcode", "has", "hello",
    "helper", "here", "hide", "high", "highlight", "hint", "hold", "home", "hour", "however", "hundred", "icon",
    "idea", "ideally", "identical", "if", "ignore", "immediately", "implement", "important", "improve", "include",
    "increase", "indeed", "info", "initial", "inline", "inner", "input", "insert", "inside", "install", "instance",
    "instead", "integer", "integrate", "interface", "internal", "introduce", "investigate", "issue", "item", "ja",
    "jetzt", "job", "json", "just", "keep", "kill", "kind", "know", "known", "kommentar", "korrigiere", "kurz",
    "lance", "large", "larger", "lass", "lassen", "last", "late", "later", "latest", "laufen", "layout", "least",
    "leave", "left", "length", "less", "level", "lgtm", "lib", "library", "ligne", "like", "line", "link", "lint",
    "linter", "list", "literal", "little", "load", "local", "locally", "location", "lockfile", "log", "logic",
    "long", "longer", "look", "looks", "loop", "lot", "low", "lower", "línea", "lösche", "mach", "mache", "main",
    "make", "makefile", "manual", "manually", "mark", "master", "match", "matter", "max", "maximum", "may", "mean",
    "meant", "measure", "mehr", "mention", "merci", "merge", "method", "mets", "middle", "migrate", "min", "mind",
    "minimal", "minimum", "minor", "minute", "miss", "mistake", "mode", "modern", "modifie", "modify", "module",
    "moment", "monday", "month", "more", "morning", "most", "mostra", "move", "mr", "much", "muestra", "multiple",
    "multiply", "must", "mutable", "mute", "name", "namen", "narrow", "near", "need", "nein", "never", "new",
    "newer", "newline", "next", "nice", "nimm", "nit", "no-op", "nobody", "nochmal", "none", "nope", "normal",
    "normalise", "normalize", "note", "nothing", "notice", "notify", "now", "npm", "null", "number", "obvious",
    "odd", "ok", "okay", "old", "older", "once", "one", "only", "onto", "oops", "open", "optimise", "optimize",
    "option", "optional", "ordner", "organise", "organize", "original", "otherwise", "out", "outer", "output",
    "outside", "over", "own", "pair", "paragraph", "parallel", "param", "parameter", "parameterize", "parametrize",
    "paraphrase", "parse", "part", "pass", "passe", "passt", "paste", "path", "pause", "pending", "per", "perfect",
    "perform", "perhaps", "pick", "piece", "pin", "place", "plain", "please", "plus", "point", "polish", "position",
    "possible", "pr", "prefer", "prepare", "prepend", "previous", "print", "prioritise", "private", "probably",
    "problem", "proceed", "process", "profile", "program", "progress", "project", "prompt", "proofread", "proper",
    "property", "prova", "prueba", "prüfe", "pub", "public", "publish", "pull", "pull-request", "purpose", "push",
    "pushe", "put", "pytest", "question", "quick", "quickly", "quiet", "quite", "quote", "raise", "rank", "rather",
    "read", "readme", "ready", "real", "really", "rearrange", "reason", "rebase", "rebuild", "recent", "recompile",
    "recreate", "red", "redo", "reduce", "ref", "refactor", "reference", "reformat", "refresh", "regenerate",
    "regex", "regression", "reject", "related", "relevant", "reload", "remain", "remote", "remove", "rename",
    "render", "renomme", "reorder", "reorganise", "repariere", "repeat", "rephrase", "replace", "repo", "report",
    "repository", "repro", "reproduce", "request", "require", "requirement", "rerun", "reset", "resolve", "resort",
    "response", "rest", "restart", "restore", "restructure", "result", "resume", "retest", "retry", "return",
    "reuse", "revert", "review", "reword", "rework", "rewrite", "right", "rimuovi", "rip", "rm", "rollback", "row",
    "rule", "run", "runtime", "räum", "räume", "safe", "same", "sanitize", "sanity", "saturday", "save", "say",
    "scaffold", "scan", "schreib", "schreibe", "scope", "script", "second", "section", "see", "seem", "select",
    "self", "send", "sense", "sentence", "separate", "serve", "set", "settle", "setup", "setze", "several", "shape",
    "shell", "short", "shorten", "shorter", "should", "show", "shrink", "shuffle", "shut", "side", "sigue",
    "similar", "simple", "simplify", "simulate", "since", "single", "size", "sketch", "skip", "slice", "slow",
    "slower", "small", "smaller", "snippet", "so", "some", "somebody", "something", "sometimes", "soon", "sorry",
    "sort", "source", "space", "spec", "special", "specific", "speed", "spell", "split", "später", "squash", "src",
    "standard", "start", "starte", "stash", "state", "static", "status", "stay", "stelle", "stellen", "step",
    "still", "stop", "stoppe", "straight", "strange", "string", "struct", "structure", "stub", "stuff", "stupid",
    "style", "subject", "submit", "such", "suggest", "suite", "summarise", "summarize", "sunday", "support",
    "supprime", "sure", "surround", "swap", "switch", "sync", "syntax", "system", "tag", "take", "takes", "target",
    "task", "team", "tell", "temp", "temporary", "ten", "term", "terminal", "terrible", "test", "teste", "tests",
    "text", "thank", "thanks", "then", "there", "thing", "think", "third", "thought", "three", "through", "tidy",
    "tighten", "time", "times", "tiny", "tip", "title", "to-do", "today", "todo", "together", "toggle", "tomorrow",
    "tone", "too", "took", "tool", "top", "topic", "total", "touch", "toward", "trace", "translate", "treat", "trim",
    "true", "try", "tune", "turn", "tweak", "twice", "two", "type", "typing", "typo", "under", "undo", "unify",
    "uninstall", "unit", "unless", "unnecessary", "unpack", "unrelated", "unstage", "until", "unused", "up",
    "update", "upgrade", "upload", "upper", "usage", "use", "useful", "user", "usual", "vale", "validate", "value",
    "var", "variable", "variant", "various", "verify", "version", "view", "visible", "vérifie", "wait", "want",
    "warn", "warning", "warte", "watch", "way", "week", "weird", "weiter", "well", "whatever", "whenever", "whole",
    "why", "wide", "wild", "window", "wip", "wire", "wish", "with", "without", "wonder", "word", "work", "workspace",
    "world", "worth", "would", "wow", "wrap", "write", "wrong", "yeah", "year", "yep", "yes", "yesterday", "yet",
    "yours", "zeig", "zeige", "zeile", "zero", "zip", "ändere", "öffne", "übersetze", "お願", "ァイ", "イル", "エラ", "コー",
    "スト", "テス", "ファ", "ラー", "ード", "一下", "代码", "作成", "修复", "修改", "修正", "函数", "删除", "削除", "可以", "変え", "変更", "好的", "実行",
    "提交", "教え", "文件", "检查", "没有", "测试", "添加", "直し", "確認", "続け", "继续", "请你", "谢谢", "运行", "这个", "追加", "願い",
];

#[cfg(test)]
mod tests {
    use super::{AFTER_VERBS, NOUNS, OBJECTS, ORDERS, ORDINARY, is_order, is_ordinary};

    #[test]
    fn the_lists_can_be_searched() {
        assert!([ORDERS, NOUNS, AFTER_VERBS, OBJECTS, ORDINARY].iter().all(|list| list.is_sorted()));
    }

    #[test]
    fn inflections_are_ordinary_too() {
        for word in ["tests", "testing", "renamed", "renaming", "committing", "files", "fixes", "quickly", "retries"] {
            assert!(is_ordinary(word), "{word}");
        }
        for word in ["importer", "occupancy", "parsehttpurl", "iban", "closures", "printer", "shipping", "samples"] {
            assert!(!is_ordinary(word), "{word}");
        }
        for word in ["running", "dropped", "skipping"] {
            assert!(is_ordinary(word), "the doubled letter of {word}");
        }
        assert!(!is_ordinary("filexing"), "only a doubled letter is left out");
        assert!(is_ordinary("7") && is_ordinary("42") && !is_ordinary("123") && !is_ordinary("4x"));
        assert!(is_order("rename", "it") && is_order("rename", "foo") && !is_order("renaming", "it"));
        assert!(is_order("import", "the") && is_order("test", "") && !is_order("import", "of"));
        assert!(is_order("split", "src/amounts.rs") && !is_order("split", "amounts"));
        assert!(is_order("use", "ggplot's") && !is_order("use", "of"));
    }
}
