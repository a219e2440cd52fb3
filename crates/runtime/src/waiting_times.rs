//! How long the crates above this one wait for something, and how often they check it, with the reason for each time. What
//! this crate waits for is beside its use.

use std::time::Duration;

// The database.

/// The database, in a command or in a detached process. A write takes milliseconds and a batch of an import below a
/// second, so that a longer wait means that a process hangs.
pub const DATABASE: Duration = Duration::from_secs(5);

/// The database, while Claude Code waits for the status line. What is not stored now is stored at the next rendering.
pub const DATABASE_FOR_STATUS_LINE: Duration = Duration::from_millis(100);

/// The database, in the doctor, which opens it several times while a person waits.
pub const DATABASE_FOR_DOCTOR: Duration = Duration::from_secs(2);

/// The database, during a request to the worker. The viewer shows an error afterwards and can try again.
pub const DATABASE_FOR_REQUEST: Duration = Duration::from_secs(3);

/// The database, for storing what an endpoint has computed. It would have to be computed, and perhaps paid for, again.
pub const DATABASE_FOR_COMPUTED: Duration = Duration::from_secs(30);

/// Between two transactions that merge the search index: a hook that waits for the database gets it.
pub const BETWEEN_MERGES: Duration = Duration::from_millis(20);

// Work of the hooks.

/// Reading the transcripts of predecessors, at the end of a turn.
pub const TRANSCRIPTS_OF_PREDECESSORS: Duration = Duration::from_millis(1000);

/// What the reading of those transcripts leaves for the following jobs.
pub const JOBS_AFTER_PREDECESSORS: Duration = Duration::from_millis(2000);

/// Reading of a transcript stops when less time than this is left.
pub const TRANSCRIPT_READ_NEEDED: Duration = Duration::from_millis(300);

/// Storing the spools of other sessions, at the start of a session.
pub const SPOOLS_AT_START: Duration = Duration::from_secs(1);

/// Storing of a spool stops when less time than this is left.
pub const SPOOL_READ_NEEDED: Duration = Duration::from_millis(100);

/// Computing missing vectors, while a search waits.
pub const VECTORS_IN_SEARCH: Duration = Duration::from_millis(40);

// Other programs.

/// git, for a request to the worker.
pub const GIT_FOR_REQUEST: Duration = Duration::from_secs(15);

/// git, for printing its version.
pub const GIT_VERSION: Duration = Duration::from_secs(5);

/// git, for `longhaul diff`.
pub const GIT_DIFF: Duration = Duration::from_secs(600);

/// A snapshot that is being taken, for `longhaul diff`.
pub const SNAPSHOT_FOR_DIFF: Duration = Duration::from_secs(60);

/// Counting the changes of all bookmarks of a work tree.
pub const CHANGES_OF_BOOKMARKS: Duration = Duration::from_secs(10);

/// `longhaul tmux setup`, run by the installation.
pub const TMUX_SETUP: Duration = Duration::from_secs(10);

/// The menu in tmux, which returns when it is closed.
pub const TMUX_MENU: Duration = Duration::from_secs(60 * 60);

/// The input of a command that another program runs and writes to at once.
pub const COMMAND_INPUT: Duration = Duration::from_secs(1);

/// The payload of a hook that cannot run. It is read so that the agent can write it.
pub const UNUSED_PAYLOAD: Duration = Duration::from_millis(500);

/// The user's own status line command. Claude Code shows nothing until it has ended.
pub const USER_STATUS_LINE: Duration = Duration::from_secs(2);

/// A command of `claude plugin` during installation: Claude Code may update itself first.
pub const CLAUDE_PLUGIN: Duration = Duration::from_secs(120);

/// The list of plugins, in the doctor. Claude Code starts within one or two seconds, and a person waits.
pub const CLAUDE_PLUGIN_LIST_FOR_DOCTOR: Duration = Duration::from_secs(6);

/// The answer of a model that writes better words for records.
pub const MODEL_ANSWER: Duration = Duration::from_secs(60);

/// `claude --help`.
pub const CLAUDE_HELP: Duration = Duration::from_secs(20);

/// `codex mcp add` and `codex mcp remove`. If Codex does not answer, its file is changed instead.
pub const CODEX_MCP: Duration = Duration::from_secs(20);

/// The version and the features of Codex, while a person waits for the doctor.
pub const CODEX_FOR_DOCTOR: Duration = Duration::from_secs(4);

/// The version of another `longhaul` on the path.
pub const OTHER_VERSION: Duration = Duration::from_secs(2);

// Tracker, view of all sessions, reopening.

/// Interval at which the monitor reads the sessions.
pub const MONITOR_READS: Duration = Duration::from_secs(1);

pub const VIEW_LOOKS_FOR_CHANGES: Duration = Duration::from_secs(1);

/// Interval at which the view corrects states that no hook reports.
pub const VIEW_CORRECTS_STATES: Duration = Duration::from_secs(3);

/// Interval at which the view reads everything, although nothing seems to have changed.
pub const VIEW_READS_ALL: Duration = Duration::from_secs(15);

/// Interval at which the view is drawn if nothing happens, because ages change.
pub const VIEW_REDRAWN: Duration = Duration::from_secs(1);

/// Interval at which the chosen pane is captured for the preview.
pub const VIEW_PREVIEW: Duration = Duration::from_secs(1);

/// Interval at which the last turn of a session without a pane is read for the preview.
pub const VIEW_LAST_TURN: Duration = Duration::from_secs(5);

/// Interval at which it is checked whether the dialog in the view is still open.
pub const VIEW_DIALOG: Duration = Duration::from_millis(400);

/// Another host's list of sessions, over ssh. The next attempt is a few seconds away.
pub const OTHER_HOST: Duration = Duration::from_secs(8);

/// The connection of ssh to another host.
pub const OTHER_HOST_CONNECT: Duration = Duration::from_secs(5);

/// After an answer, until a host is asked again.
pub const OTHER_HOST_ASKED_AGAIN: Duration = Duration::from_secs(4);

/// A host is asked for the costs of its sessions once in so many answers, about once a minute: it reads whole transcripts.
pub const OTHER_HOST_COSTS_EVERY: usize = 15;

/// A client that `longhaul reopen` has started, until it waits for a prompt. Afterwards the next one is started.
pub const REOPENED_CLIENT: Duration = Duration::from_secs(30);

/// The first hook of such a client, after its own record says that it is ready.
pub const FIRST_HOOK_OF_CLIENT: Duration = Duration::from_secs(5);

// Notifications.

/// Before a notification: a state that ends sooner is not reported.
pub const BEFORE_NOTIFICATION: Duration = Duration::from_secs(2);

/// The question of a dialog, which the hook writes before the process that sends the notification reads it.
pub const NOTIFICATION_QUESTION: Duration = Duration::from_secs(2);

/// One way of a notification. A server that does not answer by then probably never does.
pub const NOTIFICATION_WAY: Duration = Duration::from_secs(10);

/// How much longer than one way all of them together may take.
pub const ALL_WAYS_LONGER: Duration = Duration::from_secs(5);

/// All ways together, in `longhaul notify test`.
pub const ALL_WAYS_IN_TEST: Duration = Duration::from_secs(30);

/// A terminal that accepts no output, such as one that is stopped with Ctrl-S.
pub const TERMINAL_OUTPUT: Duration = Duration::from_secs(2);

/// A click on a notification of the desktop. Later, the notification is in a list, and a click does nothing.
pub const NOTIFICATION_CLICK: Duration = Duration::from_secs(10 * 60);

/// Interval at which the session is read while a click is waited for.
pub const SESSION_READ_FOR_CLICK: Duration = Duration::from_secs(5);

// Sync.

/// An exchange that a hook has started, for a command.
pub const OTHER_EXCHANGE: Duration = Duration::from_secs(120);

/// An exchange that runs already, for one that a hook has started.
pub const OTHER_EXCHANGE_IN_BACKGROUND: Duration = Duration::from_secs(30);

/// Another process that writes records of the same host to the folder.
pub const SYNC_FOLDER_LOCK: Duration = Duration::from_secs(30);

/// Interval at which the engine is told that this host is alive, if there is nothing to exchange.
pub const HOST_REPORTS_ITSELF: Duration = Duration::from_secs(10 * 60);

/// A connection to PostgreSQL, unless the address says otherwise.
pub const POSTGRES_CONNECT: Duration = Duration::from_secs(10);

/// One request to PostgreSQL. A page of a few megabytes over a slow line takes less.
pub const POSTGRES_REQUEST: Duration = Duration::from_secs(60);

// The worker.

/// The worker's answer to a request. It answers within milliseconds unless it hangs.
pub const WORKER_ANSWER: Duration = Duration::from_secs(3);

/// A worker that a hook has started stays for this long after the model has nothing left to do: another hook may follow soon.
pub const WORKER_STAYS: Duration = Duration::from_secs(5);

/// Without an open page or a request, a worker that the user has started runs for this long.
pub const WORKER_UNUSED: Duration = Duration::from_secs(30 * 60);

/// Interval at which the worker checks whether the model or the embedding endpoint has something to do.
pub const WORKER_LOOKS_FOR_WORK: Duration = Duration::from_secs(2);

/// Maximum interval at which it is checked whether the worker was unused for so long that it exits.
pub const WORKER_CHECKS_IDLE: Duration = Duration::from_secs(30);

/// Minimum interval between two readings of the transcripts of running sessions, for requests.
pub const SESSIONS_READ_FOR_REQUEST: Duration = Duration::from_secs(2);

pub const REQUEST_HEADERS: Duration = Duration::from_secs(10);

pub const REQUEST_BODY: Duration = Duration::from_secs(10);

/// A response of the worker, except for `/stream`.
pub const RESPONSE: Duration = Duration::from_secs(30);

/// Running responses, before the worker exits.
pub const RESPONSES_AT_END: Duration = Duration::from_secs(1);

/// A child process of the worker, before it exits. An HTTPS request is not waited for: it ends with the process.
pub const CHILD_AT_END: Duration = Duration::from_secs(2);

/// Interval at which an idle connection of `/stream` gets a `ping` event.
pub const STREAM_PING: Duration = Duration::from_secs(15);

/// Interval at which the context use of running sessions is read for `/stream`: transcripts are not in the database.
pub const STREAM_CONTEXT_READ: Duration = Duration::from_secs(2);

/// The embedding endpoint's answer to a question, while a search waits. Without it, the search uses words alone.
pub const ENDPOINT_ANSWER_FOR_SEARCH: Duration = Duration::from_secs(3);
