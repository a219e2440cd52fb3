use super::{circle, host, key};
use crate::{CircleKey, HostId, JoinCode, JoinCodeError, RecordId, WordsError, host_name};

#[test]
fn a_key_survives_its_words_whatever_case_and_white_space() {
    let words = key(200).words();
    assert_eq!(words.split(' ').count(), 24);
    assert_eq!(CircleKey::from_words(&words), Ok(key(200)));
    assert_eq!(CircleKey::from_words(&words.to_uppercase().replace(' ', "\n  ")), Ok(key(200)));
}

#[test]
fn wrong_words_are_named() {
    let words = key(200).words();
    let all: Vec<&str> = words.split(' ').collect();
    assert_eq!(CircleKey::from_words(&all[1..].join(" ")), Err(WordsError::Count(23)));
    let mut wrong = all.clone();
    wrong[2] = "longhaul";
    assert_eq!(CircleKey::from_words(&wrong.join(" ")), Err(WordsError::Unknown(3)));
    let mut wrong = all;
    wrong[2] = "zoo";
    assert_eq!(CircleKey::from_words(&wrong.join(" ")), Err(WordsError::Checksum));
}

#[test]
fn a_join_code_survives_being_broken_over_lines_and_no_typing_error() {
    let code =
        JoinCode { circle: circle(), key: key(3), engine: "postgres://db.example/memory?sslmode=require".into() };
    let text = code.to_text();
    assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{text}");
    let (head, tail) = text.split_at(40);
    assert_eq!(JoinCode::from_text(&format!(" {head}\n{tail}\n")), Ok(code.clone()));
    let shown = format!("JoinCode {{ circle: {:?}, .. }}", circle());
    assert_eq!(format!("{code:?}"), shown, "an address may contain a password");
    let last = text.len() - 8;
    let replaced = if &text[last..=last] == "A" { "B" } else { "A" };
    let wrong = format!("{}{replaced}{}", &text[..last], &text[last + 1..]);
    assert_eq!(JoinCode::from_text(&wrong), Err(JoinCodeError::Damaged));
    assert_eq!(JoinCode::from_text(&text[..text.len() - 3]), Err(JoinCodeError::Damaged));
    assert_eq!(JoinCode::from_text("postgres://db.example"), Err(JoinCodeError::NoCode));
    assert_eq!(JoinCode::from_text("longhaul-join-1-"), Err(JoinCodeError::Damaged));
}

#[test]
fn ids_survive_their_text_and_record_ids_are_ordered_by_time() {
    let id = host(9);
    assert_eq!(id.to_string().parse(), Ok(id));
    assert_eq!(HostId::from_bytes(*id.as_bytes()), id);
    assert!("none".parse::<HostId>().is_err());
    let (early, late) = (RecordId::new(1_000, [255; 10]), RecordId::new(1_001, [0; 10]));
    assert!(early < late);
    assert_eq!(early.to_string().as_bytes()[14], b'7', "{early}");
}

#[test]
fn a_host_name_is_one_word() {
    for (text, name) in [("Laptop", "laptop"), ("Zoë @ work", "zoë---work"), (" \u{1b}[31m ", "31m"), ("", "host")] {
        assert_eq!(host_name(text), name);
    }
    assert_eq!(host_name(&"a".repeat(100)).len(), 64);
}
