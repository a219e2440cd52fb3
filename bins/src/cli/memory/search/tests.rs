use clap::ValueEnum;
use longhaul_store::{Order, What};

use super::{Ordering, Type, typed, with_excluded_words};

#[test]
fn a_word_after_a_minus_is_excluded_and_options_stay() {
    let typed_line = |line: &str| {
        let line = with_excluded_words(line.split(' ').map(Into::into).collect());
        let line: Vec<String> = line.into_iter().map(|word| word.into_string().unwrap()).collect();
        line.join(" ").replace(super::EXCLUDED, "NOT ")
    };
    assert_eq!(
        typed_line("longhaul memory search a -parser --json -h"),
        "longhaul memory search a NOT parser --json -h"
    );
    assert_eq!(typed_line("longhaul memory search -- -parser"), "longhaul memory search -- -parser");
    assert_eq!(typed_line("longhaul memory recall why -parser"), "longhaul memory recall why NOT parser");
    assert_eq!(typed_line("longhaul memory get -parser"), "longhaul memory get -parser");
}

#[test]
fn arguments_do_what_they_look_like() {
    let join = |arguments: &[&str]| typed(&arguments.iter().map(|argument| (*argument).to_owned()).collect::<Vec<_>>());
    assert_eq!(join(&["why did the importer stall"]), "why did the importer stall");
    assert_eq!(join(&["why", "did", "it", "-parser"]), "why did it -parser");
    assert_eq!(join(&["importer", "two words"]), "importer \"two words\"");
    assert_eq!(join(&["importer", "-two words", "file:my app"]), "importer -\"two words\" file:\"my app\"");
    assert_eq!(join(&[]), "");
}

/// The command line, MCP and the worker's API say the same.
#[test]
fn types_and_orders_have_the_names_of_the_store() {
    let name = |named: Option<clap::builder::PossibleValue>| named.unwrap().get_name().to_owned();
    for named in Type::value_variants() {
        assert_eq!(What::parse(&name(named.to_possible_value())), Some((*named).into()));
    }
    for named in Ordering::value_variants() {
        assert_eq!(Order::from_name(&name(named.to_possible_value())), Some((*named).into()));
    }
    let counts = (Type::value_variants().len(), Ordering::value_variants().len());
    assert_eq!(counts, (What::ALL.len(), Order::ALL.len()));
}
