//! Whether a socket belongs to this user. tmux sends its whole environment to the process that listens there.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::Error;

/// The sticky bit: only its owner can rename or remove a file in the folder.
const STICKY: u32 = 0o1000;

/// The permission of others to write.
const WRITABLE_BY_OTHERS: u32 = 0o002;

/// Checks that no other user can listen on a socket.
///
/// tmux checks the folder of the sockets that it names itself, but no socket that is named with `-S`. After a restart of the
/// machine, another user could create that folder in `/tmp` first.
pub(crate) fn check(socket: &str) -> Result<(), Error> {
    let path = Path::new(socket);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unsafe_socket = |problem| Error::UnsafeSocket { path: path.to_owned(), problem };
    let not_running =
        || Error::Program { program: "tmux".to_owned(), message: format!("no server running on {socket}") };
    let read = |result: std::io::Result<Metadata>| match result {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    };
    // Whoever creates a missing folder next may be another user.
    let Some(entry) = read(fs::symlink_metadata(folder))? else { return Err(not_running()) };
    // The folder may be a link, such as /tmp on macOS. Then both count.
    let Some(real) = read(fs::metadata(folder))? else { return Err(not_running()) };
    let me = rustix::process::getuid().as_raw();
    if let Some(problem) = [&entry, &real].into_iter().find_map(|folder| folder_problem(folder.uid(), me)) {
        return Err(unsafe_socket(problem));
    }
    if let Some(problem) = mode_problem(real.mode()) {
        return Err(unsafe_socket(problem));
    }
    match read(fs::symlink_metadata(path))? {
        Some(socket) if !is_trusted(socket.uid(), me) => Err(unsafe_socket("it belongs to another user")),
        Some(_) => Ok(()),
        // In a folder of this user, only this user can create it before tmux does.
        None if real.mode() & WRITABLE_BY_OTHERS == 0 => Ok(()),
        None => Err(not_running()),
    }
}

fn is_trusted(owner: u32, me: u32) -> bool {
    owner == me || owner == 0
}

fn folder_problem(owner: u32, me: u32) -> Option<&'static str> {
    (!is_trusted(owner, me)).then_some("its folder belongs to another user")
}

fn mode_problem(mode: u32) -> Option<&'static str> {
    let is_open = mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0;
    is_open.then_some("every user can replace it, because its folder is writable for others")
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, symlink};
    use std::os::unix::net::UnixListener;

    use super::{check, folder_problem, is_trusted};

    #[track_caller]
    fn refused(socket: &std::path::Path, with: &str) {
        let error = check(socket.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains(with), "{error}");
    }

    #[test]
    fn a_folder_in_which_others_can_replace_the_socket_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let set = |mode| fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
        assert!(check(socket.to_str().unwrap()).is_ok(), "a server may be started in a folder of one's own");
        set(0o1777);
        refused(&socket, "no server running on");
        let _listener = UnixListener::bind(&socket).unwrap();
        assert!(check(socket.to_str().unwrap()).is_ok(), "as in /tmp");
        set(0o777);
        refused(&socket, "every user can replace it");
        refused(&dir.path().join("none/s"), "no server running on");
    }

    #[test]
    fn only_the_user_and_root_are_trusted() {
        assert!(is_trusted(1000, 1000) && is_trusted(0, 1000) && !is_trusted(1001, 1000) && !is_trusted(1000, 0));
        assert_eq!(folder_problem(1001, 1000), Some("its folder belongs to another user"));
        if !rustix::process::getuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (folder, link) = (dir.path().join("tmux-0"), dir.path().join("link"));
        fs::create_dir(&folder).unwrap();
        let _listener = UnixListener::bind(folder.join("s")).unwrap();
        chown(folder.join("s"), Some(65534), None).unwrap();
        refused(&folder.join("s"), "it belongs to another user");
        chown(&folder, Some(65534), None).unwrap();
        symlink(&folder, &link).unwrap();
        refused(&folder.join("s"), "its folder belongs to another user");
        refused(&link.join("s"), "its folder belongs to another user");
    }
}
