use crate::{ProjectId, normalised_url};

#[test]
fn the_ways_to_write_a_remote_are_the_same_project() {
    for url in [
        "git@example.com:Team/Tool.git",
        "ssh://git@example.com:22/team/tool",
        "https://example.com/team/tool.git",
        "https://anna:secret@EXAMPLE.com/team/tool/",
        "git://example.com:9418/team/tool?x=1#y",
        "example.com:team/tool",
    ] {
        assert_eq!(normalised_url(url), "example.com/team/tool", "{url}");
    }
    assert_eq!(normalised_url("/srv/git/tool.git"), "/srv/git/tool");
    assert_eq!(normalised_url("file:///srv/git/tool.git"), "/srv/git/tool");
    assert_eq!(normalised_url("host:tool"), "host/tool");
    assert_eq!(normalised_url("https://example.com:8443"), "example.com/", "a port is no path");
}

#[test]
fn a_project_is_its_remote_with_its_root_commit_or_its_name() {
    let project = ProjectId::of_remote("git@example.com:team/tool.git", "ABC");
    assert_eq!(project, ProjectId::of_remote("https://example.com/team/tool", "abc\n"));
    assert_ne!(project, ProjectId::of_remote("https://example.com/team/tool", "abd"));
    assert_ne!(project, ProjectId::of_remote("https://example.com/team/other", "abc"));
    assert_ne!(ProjectId::of_name("tool"), ProjectId::of_name("other"));
    assert_eq!(ProjectId::of_name("tool"), ProjectId::of_name(" tool "));
    assert_eq!(ProjectId::from_bytes(*project.as_bytes()), project);
}
