use std::path::Path;

use crate::codex::{is_registered, with_server, without_server};
use crate::settings::Refusal;

const PROGRAM: &str = "/home/dev/.local/bin/longhaul";

fn added(text: Option<&str>) -> String {
    with_server(text, Path::new(PROGRAM)).unwrap().expect("it is not there yet")
}

#[track_caller]
fn goes_and_comes(before: &str) {
    let with = added(Some(before));
    assert!(with.starts_with(before) && is_registered(&with), "{with}");
    assert_eq!(with_server(Some(&with), Path::new(PROGRAM)), Ok(None));
    assert_eq!(without_server(&with).as_deref(), Some(before));
}

#[test]
fn every_byte_of_the_user_stays() {
    goes_and_comes("");
    goes_and_comes("# mine\nmodel   =  \"x\"   # odd\n\n[tui]  # c\ntheme=\"a\"\n");
    goes_and_comes("model = \"x\"\n\n\n# the end");
    goes_and_comes("[mcp_servers.other]\ncommand = \"o\"\n");
    assert_eq!(added(None), format!("[mcp_servers.longhaul]\ncommand = \"{PROGRAM}\"\nargs = [\"mcp\"]\n"));
}

/// As `codex mcp add` writes it: above a comment at the end.
#[test]
fn what_codex_itself_has_added_goes_as_well() {
    let before = "[tui]  # c\ntheme=\"a\"\n\n# end comment";
    let table = "[mcp_servers.longhaul]\ncommand = \"/home/a b/longhaul\"\nargs = [\"mcp\"]\n";
    let with = before.replace("\n# end", &format!("\n{table}\n# end"));
    assert_eq!(without_server(&with).as_deref(), Some(before));
    let tools = format!("{table}\n[mcp_servers.longhaul.tools.search]\napproval_mode = \"approve\"\n\n[z]\na = 1\n");
    assert_eq!(without_server(&tools).as_deref(), Some("\n[z]\na = 1\n"));
}

#[test]
fn an_old_path_is_renewed_and_another_server_of_the_name_is_left_alone() {
    let old = added(None).replace(PROGRAM, "/old/longhaul") + "startup_timeout_sec = 20\n\n[z]\n";
    let renewed = with_server(Some(&old), Path::new(PROGRAM)).unwrap().unwrap();
    assert_eq!(renewed, old.replace("/old/longhaul", PROGRAM));
    let theirs = "[mcp_servers.longhaul]\ncommand = \"npx\"\n";
    assert_eq!(with_server(Some(theirs), Path::new(PROGRAM)), Ok(None));
    assert_eq!(without_server(theirs), None);
    assert_eq!(without_server("model = 1\n"), None);
}

#[test]
fn an_inline_table_is_refused_and_a_server_in_another_form_is_left_alone() {
    let inline = "mcp_servers = { a = { command = \"x\" } }\n";
    let refused = Err(Refusal::Shape("mcp_servers".to_owned()));
    assert_eq!(with_server(Some(inline), Path::new(PROGRAM)), refused);
    for text in [
        "mcp_servers = { longhaul = { command = \"x\" } }\n",
        "mcp_servers.longhaul.command = \"x\"\n",
        "[mcp_servers]\nlonghaul = { command = \"x\" }\n",
    ] {
        assert_eq!(with_server(Some(text), Path::new(PROGRAM)), Ok(None), "{text}");
        assert!(is_registered(text));
    }
    assert!(with_server(Some("[other]\nlonghaul = 1\nmcp_servers = 2\n"), Path::new(PROGRAM)).is_ok());
}
