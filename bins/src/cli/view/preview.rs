//! The preview of the chosen session: the last lines of its screen, or its last turn. Read in a thread of its own, because
//! a tmux server may hang.

use std::sync::mpsc::{self, Receiver, Sender};

use longhaul_inject::TmuxPane;
use longhaul_runtime::{DialogPane, Home, SeenDialog, inspect_pane, plain_rows};
use longhaul_view::{PaneAddress, RowId};

use super::app::News;

/// What is to be read.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    /// The screen of a pane.
    Screen(RowId, PaneAddress),
    /// The last turn of a session without a pane.
    LastTurn(RowId),
    /// A dialog that is shown to the user, and may have closed meanwhile.
    Dialog(RowId, DialogPane),
}

/// The preview of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preview {
    pub(crate) id: RowId,
    pub(crate) rows: Vec<String>,
}

/// What has become of a dialog that is shown.
#[derive(Debug)]
pub(crate) struct DialogNow {
    pub(crate) id: RowId,
    pub(crate) seen: Result<SeenDialog, String>,
}

/// Starts the thread. It ends when the returned sender is dropped.
pub(crate) fn start(home: Home, news: Sender<News>) -> Sender<Task> {
    let (tasks, received) = mpsc::channel();
    std::thread::spawn(move || work(&home, &received, &news));
    tasks
}

fn work(home: &Home, tasks: &Receiver<Task>, news: &Sender<News>) {
    while let Ok(mut task) = tasks.recv() {
        // Only the newest is still wanted.
        while let Ok(newer) = tasks.try_recv() {
            task = newer;
        }
        let result = match task {
            Task::Screen(id, pane) => News::Preview(Preview { rows: screen(&pane), id }),
            Task::LastTurn(id) => News::Preview(Preview { rows: last_turn(home, &id.session), id }),
            Task::Dialog(id, pane) => News::DialogNow(DialogNow { seen: pane.read(&longhaul_runtime::env()), id }),
        };
        if news.send(result).is_err() {
            return;
        }
    }
}

fn screen(pane: &PaneAddress) -> Vec<String> {
    let pane = TmuxPane { socket: pane.socket.clone(), pane: pane.id.clone() };
    match inspect_pane(&pane) {
        Ok(Some(inspection)) => plain_rows(&inspection),
        Ok(None) => vec![format!("Pane {} does not exist any more.", pane.pane)],
        Err(error) => vec![error.chain()],
    }
}

fn last_turn(home: &Home, session: &str) -> Vec<String> {
    let turns = home.existing_store().ok().flatten().and_then(|store| store.newest_turns(session, 1).ok());
    let Some(turn) = turns.and_then(|mut turns| turns.pop()) else {
        return vec!["No turn is recorded yet.".to_owned()];
    };
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    [vec![format!("❯ {}", turn.asked.lines().next().unwrap_or_default()), String::new()], lines(&turn.replied)].concat()
}
