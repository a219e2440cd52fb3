use super::place;
use crate::{model_name, resume};

#[test]
fn model_permission_mode_and_configuration_are_those_of_before() {
    let mut place = place("0b5c", 1, "main", 0, 1);
    assert_eq!(resume("/bin/claude", &place).argv, ["/bin/claude", "--resume", "0b5c"]);
    place.permission_mode = Some("acceptEdits".to_owned());
    place.model = Some("claude-opus-5-5[1m]".to_owned());
    place.config_dir = Some("/home/u/.claude-work".to_owned());
    let resumed = resume("/bin/claude", &place);
    let expected = ["--resume", "0b5c", "--permission-mode", "acceptEdits", "--model", "claude-opus-5-5[1m]"];
    assert_eq!(resumed.argv[1..], expected);
    assert_eq!(resumed.variables, ["CLAUDE_CONFIG_DIR=/home/u/.claude-work"]);
}

#[test]
fn a_value_that_is_no_mode_or_model_is_left_out() {
    let mut place = place("0b5c", 1, "main", 0, 1);
    for hostile in ["--dangerously-skip-permissions", "-p", "", "a b", "<synthetic>", "x\ny", &"m".repeat(101)] {
        place.permission_mode = Some(hostile.to_owned());
        place.model = Some(hostile.to_owned());
        assert_eq!(resume("claude", &place).argv, ["claude", "--resume", "0b5c"], "{hostile}");
        assert_eq!(model_name(hostile), None);
    }
    assert_eq!(model_name("us.anthropic.claude-opus-5-5-v1:0"), Some("us.anthropic.claude-opus-5-5-v1:0"));
}
