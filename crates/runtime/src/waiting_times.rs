//! How long something is waited for, and how often it is checked: one table for all programs, with the reason for each time.
//!
//! Not here: settings (`core/src/config.rs`); the time of a hook (`core/src/catalog.rs`; `Hook` divides it among its jobs);
//! how long something stays valid, and pauses after failures, which are with the decisions of their parts; the pauses of
//! less than a second in loops that wait for something; what `store`, which does not know this crate, waits for
//! (`checkpoint.rs`, `foreign/limits.rs`, `vectors/scan.rs`); until changed key bindings are loaded
//! (`inject/src/submit_key.rs`); and the bridge's time for an answer (`plugin/hooks/bridge.ts`).

use std::time::Duration;

// The database.

/// The database, in a command or in a detached process. A write takes milliseconds and a batch of an import below a
/// second, so that a longer wait means that a process hangs.
pub const DATABASE: Duration = Duration::from_secs(5);

/// The database, while Claude Code waits for the status line. What is not stored now is stored at the next rendering.
pub const DATABASE_FOR_STATUS_LINE: Duration = Duration::from_millis(100);

/// The database, all waits of a hook together, while the user waits for a prompt to be sent or for a turn to end.
pub const DATABASE_FOR_PROMPT: Duration = Duration::from_millis(600);

/// All waits of the end of a turn for the database together: nobody types yet, and the state of the session depends on it.
pub const DATABASE_FOR_TURN_END: Duration = Duration::from_millis(1_500);

/// The database, while another agent waits for the context use to be stored.
pub const DATABASE_FOR_AGENT: Duration = Duration::from_millis(500);

/// The database, while the module inside Claude Code waits for an answer. The module gives up after five seconds.
pub const DATABASE_FOR_BRIDGE: Duration = Duration::from_secs(2);

/// The database, in the search process, for which a hook waits.
pub const DATABASE_FOR_SEARCH_PROCESS: Duration = Duration::from_millis(50);

/// The database, in the doctor, which opens it several times while a person waits.
pub const DATABASE_FOR_DOCTOR: Duration = Duration::from_secs(2);

/// The database, during a request to the worker. The viewer shows an error afterwards and can try again.
pub const DATABASE_FOR_REQUEST: Duration = Duration::from_secs(3);

/// The database, for storing what an endpoint has computed. It would have to be computed, and perhaps paid for, again.
pub const DATABASE_FOR_COMPUTED: Duration = Duration::from_secs(30);

/// Between two transactions that merge the search index: a hook that waits for the database gets it.
pub const BETWEEN_MERGES: Duration = Duration::from_millis(20);

// Typing into a terminal.

/// A draft of the user must be unchanged for this long before it is stashed, because the user may still be typing it.
pub const DRAFT_UNCHANGED: Duration = Duration::from_secs(2);

/// Interval at which a pane that cannot be typed into is inspected again.
pub const PANE_INSPECTED_AGAIN: Duration = Duration::from_millis(150);

/// One call of tmux, screen or another terminal.
pub const TERMINAL_CALL: Duration = Duration::from_millis(1_500);

/// Typed text, until it appears in the input.
pub const TYPED_TEXT_SHOWN: Duration = Duration::from_millis(1_000);

/// Typed text, until the input shows that it was erased.
pub const TYPED_TEXT_ERASED: Duration = Duration::from_millis(1_000);

/// Enter is not pressed if less time than this is left, because Claude Code would no longer wait for the hook.
pub const ENTER_MARGIN: Duration = Duration::from_millis(300);

/// A client with an unproven chord, until it has emptied its input. A busy client needs more time.
pub const CHORD_SUBMITS: Duration = Duration::from_millis(3_000);

/// What a hook needs after that, to erase the text and to press Enter.
pub const AFTER_CHORD: Duration = Duration::from_millis(1_200);

/// A client is observed for at least this long before it counts as ignoring the chord.
pub const CHORD_LEAST_OBSERVED: Duration = Duration::from_millis(700);

/// A key without effect is pressed again after this time: a dialog ignores keys for a moment after it is drawn.
pub const DIALOG_KEY_AGAIN: Duration = Duration::from_millis(1_200);

/// A key that went to the input because the dialog closed by itself, until it appears there.
pub const DIALOG_KEY_IN_INPUT: Duration = Duration::from_millis(500);

/// The receipt of a bookmark during a turn. The hook waits for it so that the next tool call finds the bookmark in the log.
pub const MID_TURN_RECEIPT: Duration = Duration::from_millis(800);

/// During a turn, no bookmark is typed if the hook has less time left than this.
pub const MID_TURN_NEEDED: Duration = Duration::from_millis(1_500);

// Continuation, Codex, and the module inside Claude Code.

/// The bridge, until it takes a step that could also be typed, at most a quarter of the step's time. The bridge reports
/// when the turn has ended, which the hooks of other programs may delay.
pub const BRIDGE_TAKES_STEP: Duration = Duration::from_secs(8);

/// The SessionStart hook of a new session, for the bridge. The bridge itself waits a little longer.
pub const SESSION_START_FOR_BRIDGE: Duration = Duration::from_secs(4);

/// The lock of a continuation. A hook may hold it for a moment in order to test it.
pub const CONTINUATION_LOCK: Duration = Duration::from_millis(500);

/// Interval at which a plan is read that waits for the account's rate limit.
pub const RATE_LIMIT_CHECKED: Duration = Duration::from_secs(5);

/// The input of Codex, while it is in use. Afterwards the continuation is given up, and the baton stays.
pub const CODEX_INPUT_FREE: Duration = Duration::from_secs(60);

/// Codex, until it shows what was typed, and until it has started the session.
pub const CODEX_SHOWS: Duration = Duration::from_secs(10);

/// Codex, until `/clear` has had its effect. Afterwards the command is typed again.
pub const CODEX_CLEARS: Duration = Duration::from_secs(3);

/// One command of tmux, for a continuation in Codex.
pub const TMUX_FOR_CODEX: Duration = Duration::from_secs(2);

/// The prompt of an event, on the screens of Codex. Codex draws it a moment before or after the hook starts.
pub const CODEX_PROMPT_ON_SCREEN: Duration = Duration::from_millis(600);

/// One screen of Codex, until it is read.
pub const CODEX_SCREEN_READ: Duration = Duration::from_millis(300);

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

/// The search process, in a hook: afterwards the hook searches by itself. A search takes a few milliseconds.
pub const SEARCH_PROCESS: Duration = Duration::from_millis(150);

/// The search process ends after this time without a prompt.
pub const SEARCH_PROCESS_IDLE: Duration = Duration::from_secs(30 * 60);

/// Interval at which the search process checks whether its executable and its socket are still there.
pub const SEARCH_PROCESS_CHECKED: Duration = Duration::from_secs(5);

/// A search process that could not listen on its socket, until hooks start another one.
pub const SEARCH_PROCESS_AGAIN: Duration = Duration::from_secs(10 * 60);

/// Counting the files that differ from a snapshot, after a rewind.
pub const COUNT_AFTER_REWIND: Duration = Duration::from_secs(2);

/// What `/longhaul:restore` and `/longhaul:bookmarks` leave for the answer, after the command line has done its work.
pub const ANSWER_AFTER_COMMAND: Duration = Duration::from_millis(300);

/// More input, when the payload of a hook looks complete but the input is not closed.
pub const INPUT_QUIET: Duration = Duration::from_millis(50);

/// A line of the activity log without a newline, until it is complete.
pub const LOG_LINE_COMPLETE: Duration = Duration::from_millis(3);

// Other programs.

/// git, in a hook. In a huge work tree the result is not worth a longer wait.
pub const GIT_IN_HOOK: Duration = Duration::from_millis(700);

/// git, for finding the root commit of a project.
pub const GIT_ROOT_COMMIT: Duration = Duration::from_secs(30);

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

/// A tmux server, in a hook: a server that hangs must not hold up the hook.
pub const TMUX_IN_HOOK: Duration = Duration::from_millis(800);

/// A tmux server, in the hook of a prompt, for which the user waits. Afterwards another process shows what has changed.
pub const TMUX_FOR_PROMPT: Duration = Duration::from_millis(250);

/// Interval at which the lock of tmux's display is tried again.
pub const DISPLAY_LOCK_TRIED: Duration = Duration::from_millis(2);

/// A tmux server, where no hook waits. A loaded machine needs more than [`TMUX_IN_HOOK`] now and then.
pub const TMUX: Duration = Duration::from_secs(10);

/// A tmux server, for the preview of a pane. A person waits, and the next preview is a second away.
pub const TMUX_FOR_PREVIEW: Duration = Duration::from_secs(2);

/// `longhaul tmux setup`, run by the installation.
pub const TMUX_SETUP: Duration = Duration::from_secs(10);

/// The menu in tmux. tmux returns when it is closed.
pub const TMUX_MENU: Duration = Duration::from_secs(60 * 60);

/// `ps`, where there is no `/proc`.
pub const PS: Duration = Duration::from_millis(500);

/// `hostname`, where there is no `/proc`.
pub const HOST_NAME: Duration = Duration::from_secs(2);

/// A command that prints a secret. A password manager may ask the user to unlock it.
pub const SECRET_COMMAND: Duration = Duration::from_secs(60);

/// A child process that is killed when its parent dies, until it is dead.
pub const TIED_CHILD_KILLED: Duration = Duration::from_secs(5);

/// The input of a command that another program runs and writes to at once.
pub const COMMAND_INPUT: Duration = Duration::from_secs(1);

/// The payload of a hook that cannot run. It is read so that the agent can write it.
pub const UNUSED_PAYLOAD: Duration = Duration::from_millis(500);

/// The user's own status line command. Claude Code shows nothing until it has ended.
pub const USER_STATUS_LINE: Duration = Duration::from_secs(2);

/// The output of that command after it has ended. A process that it left running may still hold the pipe.
pub const USER_STATUS_LINE_OUTPUT: Duration = Duration::from_millis(50);

/// A command of `claude plugin` during installation: Claude Code may update itself first.
pub const CLAUDE_PLUGIN: Duration = Duration::from_secs(120);

/// The list of plugins, in the doctor. Claude Code starts within one or two seconds, and a person waits.
pub const CLAUDE_PLUGIN_LIST_FOR_DOCTOR: Duration = Duration::from_secs(6);

/// `claude --help`.
pub const CLAUDE_HELP: Duration = Duration::from_secs(20);

/// `codex mcp add` and `codex mcp remove`. If Codex does not answer, its file is changed instead.
pub const CODEX_MCP: Duration = Duration::from_secs(20);

/// The version and the features of Codex, while a person waits for the doctor.
pub const CODEX_FOR_DOCTOR: Duration = Duration::from_secs(4);

/// The version of another `longhaul` on the path.
pub const OTHER_VERSION: Duration = Duration::from_secs(2);

// Snapshots.

/// Taking a snapshot. The first one of a large work tree reads every file, perhaps while the machine is busy.
pub const TAKE_SNAPSHOT: Duration = Duration::from_secs(300);

/// The lock of a work tree's snapshots, in the background: another process takes a snapshot or packs them, or is about to end.
pub const SNAPSHOT_LOCK: Duration = Duration::from_secs(10);

/// Packing all snapshots of a work tree.
pub const PACK_SNAPSHOTS: Duration = Duration::from_secs(600);

/// Each part of a restore, in which git reads and writes objects.
pub const RESTORE_PART: Duration = Duration::from_secs(600);

/// The lock, for a restore: a snapshot is being taken.
pub const SNAPSHOT_LOCK_FOR_RESTORE: Duration = Duration::from_secs(60);

/// Packing new objects after a snapshot.
pub const PACK_NEW_OBJECTS: Duration = Duration::from_secs(60);

/// Counting the changed lines of a snapshot. Of a larger difference, only the files are counted.
pub const COUNT_CHANGED_LINES: Duration = Duration::from_secs(10);

/// git, for finding the work tree of a folder.
pub const FIND_WORK_TREE: Duration = Duration::from_secs(10);

/// git, for listing the files of a work tree. After this time, it is checked whether a file stops git, which lists the files
/// of most work trees in much less.
pub const LIST_FILES: Duration = Duration::from_secs(3);

/// git, for finding out whether a folder is ignored.
pub const GIT_IGNORED_FOLDER: Duration = Duration::from_secs(5);

// Tracker, view of all sessions, reopening.

/// Minimum interval between two searches for dead sessions.
pub const DEAD_SESSIONS_SEARCHED: Duration = Duration::from_secs(10);

/// Interval at which the monitor reads the sessions.
pub const MONITOR_READS: Duration = Duration::from_secs(1);

/// Interval at which the view looks for changes.
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

/// The worker's start, until it answers, and its end. A loaded machine takes seconds for either.
pub const WORKER_START_OR_STOP: Duration = Duration::from_secs(10);

/// The worker's lock. A process that only checks whether a worker runs holds it for less.
pub const WORKER_LOCK: Duration = Duration::from_millis(300);

/// A worker that a hook has started stays for this long after the model has nothing left to do: another hook may follow soon.
pub const WORKER_STAYS: Duration = Duration::from_secs(5);

/// Interval at which the worker checks whether the model or the embedding endpoint has something to do.
pub const WORKER_LOOKS_FOR_WORK: Duration = Duration::from_secs(2);

/// Maximum interval at which it is checked whether the worker was unused for so long that it exits.
pub const WORKER_CHECKS_IDLE: Duration = Duration::from_secs(30);

/// Minimum interval between two readings of the transcripts of running sessions, for requests.
pub const SESSIONS_READ_FOR_REQUEST: Duration = Duration::from_secs(2);

/// The headers of a request.
pub const REQUEST_HEADERS: Duration = Duration::from_secs(10);

/// The body of a request.
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
