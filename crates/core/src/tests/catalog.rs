use std::time::Duration;

use crate::catalog::{self, Job, REGISTRATIONS};
use crate::event::EventName;

#[test]
fn every_stdin_deadline_leaves_half_a_second() {
    for registration in REGISTRATIONS {
        // The limit that counts is the client's, which may be lower than that of the table.
        let allowed = catalog::time_allowed(registration.event);
        assert!(allowed <= Duration::from_secs(registration.timeout_seconds), "{}", registration.executable);
        let deadline = registration.stdin_deadline + Duration::from_millis(500);
        assert!(deadline <= allowed, "{}", registration.executable);
    }
}

#[test]
fn an_executable_has_the_name_of_its_event() {
    for registration in REGISTRATIONS {
        let kebab: String = registration.event.as_str().chars().fold("longhaul".to_owned(), |name, c| {
            if c.is_ascii_uppercase() { format!("{name}-{}", c.to_ascii_lowercase()) } else { format!("{name}{c}") }
        });
        assert_eq!(registration.executable, kebab);
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
    let all: Vec<&str> = catalog::executables(None).collect();
    assert_eq!(all.len(), REGISTRATIONS.len() + catalog::COMPANIONS.len());
    assert!(all.is_sorted());
    let memory: Vec<&str> = catalog::executables(Some(Job::Memory)).collect();
    assert!(memory.contains(&"longhaul") && memory.contains(&"longhaul-worker") && memory.contains(&"longhaul-stop"));
    assert!(!memory.contains(&"longhaul-injector") && !memory.contains(&"longhaul-permission-request"));
    assert!(!memory.contains(&"longhaul-codex"));
    let tracker: Vec<EventName> =
        catalog::registrations(Some(Job::Tracker)).map(|registration| registration.event).collect();
    assert!(tracker.contains(&EventName::PermissionRequest) && !tracker.contains(&EventName::PreCompact));
    assert_eq!(catalog::registrations(None).count(), REGISTRATIONS.len());
}

#[test]
fn jobs_have_their_own_names_and_descriptions() {
    assert_eq!(Job::ALL.map(Job::name), ["bookmarks", "tracker", "handoff", "continuation", "memory"]);
    for job in Job::ALL {
        assert!(job.about().len() > 20);
        assert_eq!(Job::ALL.iter().filter(|other| other.about() == job.about()).count(), 1);
    }
}
