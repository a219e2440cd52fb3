//! A small repository with the history of a few sessions, and twenty questions.

use super::*;

#[test]
fn twenty_lines_are_explained() {
    let start = "mod config;\n\nfn main() {\n    println!(\"hello\");\n}\n";
    let work = Work::new("main.rs", start);
    let mut turn = work.prompt(A, "read the configuration at the start");
    turn.edit(
        "main.rs",
        "    println!(\"hello\");\n",
        "    let config = config::read();\n    println!(\"hello {}\", config.name);\n",
    );
    turn.write("config.rs", "pub struct Config {\n    pub name: String,\n}\n\npub fn read() -> Config {\n    Config { name: \"world\".to_owned() }\n}\n");
    turn.end();
    work.commit("read the configuration");
    let mut turn = work.prompt(A, "let the name come from the environment");
    turn.edit(
        "config.rs",
        "    Config { name: \"world\".to_owned() }\n",
        "    let name = std::env::var(\"NAME\").unwrap_or_default();\n    Config { name }\n",
    );
    turn.command("sed -i 's/hello/welcome/' main.rs", |work| work.change("main.rs", "hello", "welcome"));
    turn.end();
    work.write("main.rs", &format!("// Greets whoever runs it.\n// NAME says who.\n{}", work.read("main.rs")));
    let mut turn = work.prompt(B, "check that the name is not empty");
    turn.edit(
        "config.rs",
        "    Config { name }\n",
        "    if name.is_empty() {\n        eprintln!(\"NAME is empty\");\n    }\n    Config { name }\n",
    );
    turn.edit_as("main.rs", "mod config;\n", "mod config;\nmod checks;\n", Some("agent-7"));
    turn.end();
    work.commit("check the name");
    work.git(&["commit", "-q", "--amend", "-m", "check the name of the user"]);
    let (first, second, third) = (
        "read the configuration at the start",
        "let the name come from the environment",
        "check that the name is not empty",
    );
    let main = ["outside", "outside", "commit", third, "commit", "commit", first, second, "commit"];
    let config = [first, first, first, first, first, second, third, third, third, second, first];
    let mut answers = Vec::new();
    for (file, expected) in [("main.rs", &main[..]), ("config.rs", &config[..])] {
        for (at, expected) in expected.iter().enumerate() {
            let named = format!("{file}:{}", at + 1);
            let json = work.sandbox.longhaul(&["why", &named, "--json"]).json();
            let found = json["text"].as_str().or(json["kind"].as_str()).unwrap().to_owned();
            answers.push(work.sandbox.longhaul(&["why", &named]).stdout);
            assert_eq!(found, *expected, "{named}: {json}");
        }
    }
    assert_eq!(answers.len(), 20);
    let before = work.sandbox.longhaul(&["why", "main.rs:8", "--json"]).json();
    assert_eq!(before["kind"], "command");
    assert!(before["before"]["line_text"].as_str().unwrap().contains("hello"), "{before}");
    if std::env::var_os("LONGHAUL_SHOW_ANSWERS").is_some() {
        eprintln!("{}", answers.join("\n"));
    }
}
