use std::time::Duration;

use crate::catalog::{self, Job, REGISTRATIONS};
use crate::event::EventName;

#[test]
fn every_stdin_deadline_leaves_half_a_second() {
    for registration in REGISTRATIONS {
        // The limit that counts is the client's, which may be lower than that of the table.
        let allowed = catalog::time_allowed(registration.event);
        assert!(allowed <= Duration::from_secs(registration.timeout_seconds), "{}", registration.event);
        let deadline = registration.stdin_deadline + Duration::from_millis(500);
        assert!(deadline <= allowed, "{}", registration.event);
    }
}

#[test]
fn the_argument_names_the_event_unless_the_executable_does() {
    for registration in REGISTRATIONS {
        let kebab: String = registration.event.as_str().chars().fold(String::new(), |name, c| {
            if c.is_ascii_uppercase() { format!("{name}-{}", c.to_ascii_lowercase()) } else { format!("{name}{c}") }
        });
        let command = [&[registration.executable], registration.arguments].concat().join(" ");
        let expected = if registration.event == EventName::PostToolUse {
            "longhaul-post-tool-use".to_owned()
        } else {
            format!("longhaul-hook {}", &kebab[1..])
        };
        assert_eq!(command, expected);
    }
}

#[test]
fn limits_come_from_the_table() {
    assert_eq!(catalog::time_allowed(EventName::SessionStart), Duration::from_secs(5));
    assert_eq!(catalog::time_allowed(EventName::PostToolUse), Duration::from_secs(3));
    assert_eq!(catalog::time_allowed(EventName::SessionEnd), Duration::from_millis(1500));
    assert_eq!(catalog::time_allowed(EventName::Unknown), Duration::from_secs(3));
    assert_eq!(catalog::stdin_deadline(EventName::Stop), Duration::from_millis(4000));
    assert_eq!(catalog::stdin_deadline(EventName::PostToolUse), Duration::from_millis(2500));
    assert_eq!(catalog::stdin_deadline(EventName::Unknown), Duration::from_millis(2500));
}

#[test]
fn a_bundle_has_what_its_job_needs() {
    let executables = |job| catalog::executables(job).collect::<Vec<_>>();
    assert_eq!(executables(None), ["longhaul", "longhaul-hook", "longhaul-post-tool-use"]);
    assert_eq!(executables(Some(Job::Memory)), executables(None));
    assert_eq!(executables(Some(Job::Handoff)), ["longhaul", "longhaul-hook"]);
    let tracker: Vec<EventName> =
        catalog::registrations(Some(Job::Tracker)).map(|registration| registration.event).collect();
    assert!(tracker.contains(&EventName::PermissionRequest) && !tracker.contains(&EventName::PreCompact));
    assert_eq!(catalog::registrations(None).count(), REGISTRATIONS.len());
}

#[test]
fn jobs_have_their_own_names_and_descriptions() {
    assert_eq!(Job::ALL.map(Job::as_str), ["bookmarks", "tracker", "handoff", "continuation", "memory"]);
    for job in Job::ALL {
        assert!(job.about().len() > 20);
        assert_eq!(Job::ALL.iter().filter(|other| other.about() == job.about()).count(), 1);
    }
}
