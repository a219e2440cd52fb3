use super::*;

#[test]
fn every_command_that_is_shown_is_in_one_group() {
    let command = Cli::command();
    let mut all: Vec<&str> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
    let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    all.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(grouped, all);
}

#[test]
fn the_help_begins_with_five_commands_and_ends_with_those_of_programs() {
    let help = command().render_help().to_string();
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text} is not in\n{help}"));
    let order = ["\nStart with:", "\nEvery day:", "\nLook back:", "\nSet up:", "\nFor programs:", "\nOptions:"];
    let places = order.map(at);
    assert!(places.is_sorted(), "{help}");
    assert_eq!(help[places[0]..places[1]].matches("\n  longhaul").count(), 5);
    assert!((places[4]..places[5]).contains(&at("\n  statusline")), "{help}");
    assert!(help.lines().all(|line| line.chars().count() <= WIDTH), "{help}");
    assert!(at("-V, --version") > places[5]);
}
