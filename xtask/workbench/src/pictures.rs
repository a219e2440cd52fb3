//! `cargo xtask pictures`: turns captures of terminal screens into the pictures of the README.
//!
//! A capture, docs/pictures/NAME.ansi, is the output of `tmux capture-pane -p -e -N` (`-N` keeps coloured blanks); its
//! picture is NAME.svg beside it. The pictures of the viewer are taken in a browser, with `--viewer`.

mod screen;
mod svg;

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use xtask::codegen::Mode;
use xtask::workspace::{PACKAGE, Workspace};
use xtask::{run, test};

use self::screen::Screen;

/// The folder of captures and pictures, relative to the workspace.
const FOLDER: &str = "docs/pictures";

/// Draws the picture of every capture, or checks that it is up to date.
///
/// An SVG without a capture is not changed.
pub(crate) fn draw_all(workspace: &Workspace, mode: Mode) -> Result<()> {
    let mut stdout = io::stdout();
    match (update(&workspace.root.join(FOLDER), mode)?.as_slice(), mode) {
        ([], _) => writeln!(stdout, "the pictures are up to date")?,
        (changed, Mode::Write) => writeln!(stdout, "updated: {}", changed.join(", "))?,
        (stale, Mode::Check) => bail!("out of date: {}\nto fix it: cargo xtask pictures", stale.join(", ")),
    }
    Ok(())
}

/// Takes the pictures of the viewer, by running the test that plays what they show.
pub(crate) fn take_of_viewer(workspace: &Workspace) -> Result<()> {
    test::ensure(&["chromedriver"])?;
    let mut test = run::cargo();
    test.current_dir(&workspace.root).args([
        "test",
        "--package",
        PACKAGE,
        "--test",
        "it",
        "viewer::numbers_and_pictures",
    ]);
    test.env("LONGHAUL_PICTURES", workspace.root.join(FOLDER)).env("LONGHAUL_REQUIRE_BROWSER", "1");
    run::aloud(&mut test)
}

/// Returns the names of the pictures in `folder` that are out of date, sorted; in [`Mode::Write`] they are updated.
fn update(folder: &Path, mode: Mode) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for capture in captures(folder)? {
        let picture = capture.with_extension("svg");
        let text = draw(&capture)?;
        if read(&picture)?.as_deref() != Some(&text) {
            stale.push(name(&picture));
            if mode == Mode::Write {
                fs::write(&picture, text).with_context(|| format!("cannot write {}", picture.display()))?;
            }
        }
    }
    Ok(stale)
}

/// Returns the picture of `capture`, with the file's name in its title.
fn draw(capture: &Path) -> Result<String> {
    let text = read(capture)?.with_context(|| format!("{} is gone", capture.display()))?;
    let title = format!("Terminal screen: {}", capture.file_stem().unwrap_or_default().to_string_lossy());
    Ok(svg::draw(&Screen::parse(&text), &title))
}

/// Returns the captures in `folder`, sorted, so that the result does not depend on the file system.
fn captures(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("cannot list {}", folder.display());
    let entries = fs::read_dir(folder).with_context(context)?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().with_context(context)?;
    let mut paths: Vec<_> = paths.into_iter().filter(|path| path.extension().is_some_and(|it| it == "ansi")).collect();
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::update;
    use xtask::codegen::Mode;

    #[test]
    fn a_check_names_what_writing_would_change_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file("new.ansi"), "hello\n").unwrap();
        fs::write(file("drawn-by-hand.svg"), "<svg/>").unwrap();
        fs::write(file("README.md"), "not ours").unwrap();

        assert_eq!(update(folder.path(), Mode::Check).unwrap(), ["new.svg"]);
        assert!(!file("new.svg").exists());

        assert_eq!(update(folder.path(), Mode::Write).unwrap(), ["new.svg"]);
        assert!(file("new.svg").exists());
        assert_eq!(fs::read_to_string(file("drawn-by-hand.svg")).unwrap(), "<svg/>");
        assert!(update(folder.path(), Mode::Check).unwrap().is_empty());

        fs::write(file("new.ansi"), "other\n").unwrap();
        assert_eq!(update(folder.path(), Mode::Check).unwrap(), ["new.svg"]);
    }
}
