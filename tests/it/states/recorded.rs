//! The cases that were recorded from Claude Code 2.1.325.

use super::replay::replay;

#[test]
fn a_subagents_permission_is_answered_in_the_client_while_the_main_turn_waits() {
    // The main turn stops while the dialog is open, and the notification comes six seconds later.
    replay("subagent_permission_answered_in_client", &[(10_000, "blocked"), (20_000, "completed")]);
}

#[test]
fn a_subagents_permission_is_refused_in_the_client() {
    replay("subagent_permission_refused_in_client", &[(5_000, "blocked"), (15_000, "completed")]);
}

#[test]
fn a_notification_comes_after_stop() {
    // The reminder that the client waits for a prompt, a minute after the turn: nobody is asked for an answer.
    replay("notification_after_stop", &[(10_000, "completed"), (70_000, "completed")]);
}

#[test]
fn the_notification_of_a_dialog_comes_while_it_is_open() {
    replay("permission_granted_late_notification", &[(5_000, "blocked"), (10_000, "blocked"), (15_000, "completed")]);
}

#[test]
fn a_permission_is_granted_before_the_notification() {
    replay("permission_granted_quickly", &[(5_000, "blocked"), (10_000, "completed")]);
}

#[test]
fn esc_in_a_dialog() {
    replay("esc_in_dialog", &[(10_000, "idle")]);
}

#[test]
fn esc_twice_opens_the_list_of_rewind() {
    replay("esc_twice", &[(5_000, "idle"), (10_000, "idle")]);
}

#[test]
fn a_prompt_is_queued_during_a_turn_and_taken_in_by_it() {
    replay("queued_prompt_taken_in_turn", &[(5_000, "working"), (10_000, "completed")]);
}

#[test]
fn a_prompt_is_queued_during_a_turn_and_answered_after_it() {
    replay("queued_prompt", &[(5_000, "working"), (30_000, "completed")]);
}

#[test]
fn a_shell_command_goes_on_in_the_background() {
    // The turn is over while it runs; its end begins another one.
    replay("background_shell", &[(5_000, "completed"), (15_000, "completed"), (20_000, "completed")]);
}

#[test]
fn subagents_go_on_in_the_background() {
    replay("background_agents", &[(5_000, "working"), (15_000, "completed")]);
}

#[test]
fn a_teammate_that_is_idle_does_not_make_its_lead_a_teammate() {
    replay("teammate", &[(5_000, "completed"), (10_000, "completed")]);
}

#[test]
fn an_elicitation_is_answered() {
    replay("elicitation_answered", &[(5_000, "blocked"), (15_000, "completed")]);
}

#[test]
fn an_elicitation_is_declined() {
    replay("elicitation_declined", &[(10_000, "blocked"), (20_000, "completed")]);
}

#[test]
fn a_question_of_the_model_is_answered() {
    replay("question_answered", &[(10_000, "blocked"), (20_000, "completed")]);
}

#[test]
fn a_plan_is_approved() {
    replay("plan_approved", &[(10_000, "blocked"), (20_000, "completed")]);
}

#[test]
fn a_plan_is_refused() {
    replay("plan_refused", &[(15_000, "idle")]);
}

#[test]
fn clear_in_a_pane() {
    replay("clear_in_pane", &[(5_000, "idle"), (15_000, "completed")]);
}

#[test]
fn compact_in_a_pane() {
    // The user was there to type it.
    replay("compact_in_pane", &[(5_000, "working"), (10_000, "idle")]);
}

#[test]
fn resume_in_a_pane() {
    replay("resume_in_pane", &[(15_000, "idle"), (20_000, "completed")]);
}

#[test]
fn fork_in_a_pane() {
    replay("fork_in_pane", &[(10_000, "completed")]);
}

#[test]
fn the_client_is_killed() {
    replay("killed", &[(10_000, "gone")]);
}

#[test]
fn the_pane_is_closed() {
    replay("closed_pane", &[(10_000, "gone")]);
}
