//! `cargo xtask pictures`: turns captures of terminal screens into the pictures of the README.
//!
//! A capture, docs/pictures/NAME.ansi, is the output of `tmux capture-pane -p -e -N` (`-N` keeps coloured blanks); its
//! picture is NAME.svg beside it. The pictures of the viewer are taken in a browser, with `--viewer`.

mod screen;
mod svg;

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use xtask::codegen::{self, Mode};
use xtask::workspace::{PACKAGE, Workspace};
use xtask::{run, test};

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
    let names: Vec<String> = captures(folder)?.iter().map(|name| format!("{name}.svg")).collect();
    let mut pictures = Vec::new();
    for name in &names {
        pictures.push((name.as_str(), draw(&folder.join(name).with_extension("ansi"))?));
    }
    Ok(codegen::update(folder, &pictures, mode)?.into_iter().map(str::to_owned).collect())
}

/// Returns the picture of `capture`, with the file's name in its title.
fn draw(capture: &Path) -> Result<String> {
    let text = fs::read_to_string(capture).with_context(|| format!("cannot read {}", capture.display()))?;
    let title = format!("Terminal screen: {}", capture.file_stem().unwrap_or_default().to_string_lossy());
    Ok(svg::draw(&screen::parse(&text), &title))
}

/// Returns the names of the captures in `folder`, without their extension, sorted.
fn captures(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".ansi").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests;
