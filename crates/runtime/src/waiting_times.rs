//! How long a process waits for another one: one table, with the reason for each time.
//!
//! The times that a hook has are not here: `core::catalog` sets its deadlines, and `Hook` divides them among its jobs.

use std::time::Duration;

/// The database, in a command or in a detached process. A write takes milliseconds and a batch of an import below a
/// second, so that a longer wait means that a process hangs.
pub const DATABASE: Duration = Duration::from_secs(5);

/// The database, while Claude Code waits for the status line. What is not stored now is stored at the next rendering.
pub const DATABASE_FOR_STATUS_LINE: Duration = Duration::from_millis(100);

/// The database, while the module inside Claude Code waits for an answer. The module gives up after four seconds.
pub const DATABASE_FOR_BRIDGE: Duration = Duration::from_secs(2);

/// The database, in the doctor, which opens it several times while a person waits.
pub const DATABASE_FOR_DOCTOR: Duration = Duration::from_secs(2);

/// The database, during a request to the worker. The viewer shows an error afterwards and can try again.
pub const DATABASE_FOR_REQUEST: Duration = Duration::from_secs(3);

/// The database, for storing what an endpoint has computed. It would have to be computed, and perhaps paid for, again.
pub const DATABASE_FOR_COMPUTED: Duration = Duration::from_secs(30);

/// Between two transactions that merge the search index: a hook that waits for the database gets it.
pub const BETWEEN_MERGES: Duration = Duration::from_millis(20);

/// The worker's answer to a request. It answers within milliseconds unless it hangs.
pub const WORKER_ANSWER: Duration = Duration::from_secs(3);

/// The worker's start, until it answers, and its end. A loaded machine takes seconds for either.
pub const WORKER_START_OR_STOP: Duration = Duration::from_secs(10);

/// The worker's lock. A process that only checks whether a worker runs holds it for less.
pub const WORKER_LOCK: Duration = Duration::from_millis(300);

/// The embedding endpoint's answer to a question, while a search waits. Without it, the search uses words alone.
pub const ENDPOINT_ANSWER_FOR_SEARCH: Duration = Duration::from_secs(3);

/// The input of a command that another program runs and writes to at once.
pub const COMMAND_INPUT: Duration = Duration::from_secs(1);

/// The user's own status line command. Claude Code shows nothing until it has ended.
pub const USER_STATUS_LINE: Duration = Duration::from_secs(2);

/// A command of `claude plugin` during installation: Claude Code may update itself first.
pub const CLAUDE_PLUGIN: Duration = Duration::from_secs(120);

/// The list of plugins, in the doctor. Claude Code starts within one or two seconds, and a person waits.
pub const CLAUDE_PLUGIN_LIST_FOR_DOCTOR: Duration = Duration::from_secs(6);

/// `codex mcp add` and `codex mcp remove`. If Codex does not answer, its file is changed instead.
pub const CODEX_MCP: Duration = Duration::from_secs(20);

/// The version and the features of Codex, while a person waits for the doctor.
pub const CODEX_FOR_DOCTOR: Duration = Duration::from_secs(4);

/// The version of another `longhaul` on the path.
pub const OTHER_VERSION: Duration = Duration::from_secs(2);

/// `longhaul tmux setup`, run by the installation.
pub const TMUX_SETUP: Duration = Duration::from_secs(10);

/// A tmux server, in a hook: a server that hangs must not hold up the hook.
pub const TMUX_IN_HOOK: Duration = Duration::from_millis(800);

/// A tmux server, for the preview of a pane. A person waits, and the next preview is a second away.
pub const TMUX_FOR_PREVIEW: Duration = Duration::from_secs(2);

/// Another host's list of sessions, over ssh. The next attempt is a few seconds away.
pub const OTHER_HOST: Duration = Duration::from_secs(8);

/// A tmux server, where no hook waits. A loaded machine needs more than [`TMUX_IN_HOOK`] now and then.
pub const TMUX: Duration = Duration::from_secs(10);

/// Before a notification: a state that ends sooner is not reported.
pub const BEFORE_NOTIFICATION: Duration = Duration::from_secs(2);

/// One way of a notification. A server that does not answer by then probably never does.
pub const NOTIFICATION_WAY: Duration = Duration::from_secs(10);

/// A click on a notification of the desktop. Later, the notification is in a list, and a click does nothing.
pub const NOTIFICATION_CLICK: Duration = Duration::from_secs(10 * 60);
/// A client that `longhaul reopen` has started, until it waits for a prompt. Afterwards the next one is started.
pub const REOPENED_CLIENT: Duration = Duration::from_secs(30);
