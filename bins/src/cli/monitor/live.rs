//! The live view: draws the table once a second until the user quits.

use std::time::Instant;

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use longhaul_core::Env;
use longhaul_runtime::waiting_times;
use ratatui::DefaultTerminal;
use ratatui::text::{Line, Text};

use super::View;
use crate::cli::paint::{Span, Tone};
use crate::cli::terminal_lines::to_line;

/// Shows the view until `q`, Esc or Ctrl-C; the terminal is then as it was, also after an error or a panic.
pub(crate) fn run(view: &mut View<'_>) -> anyhow::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let watched = watch(&mut terminal, view);
    ratatui::try_restore()?;
    watched
}

fn watch(terminal: &mut DefaultTerminal, view: &mut View<'_>) -> anyhow::Result<()> {
    loop {
        // Read for every frame: the time has changed.
        let env = longhaul_runtime::env();
        draw(terminal, view, &env)?;
        let end = Instant::now() + waiting_times::MONITOR_READS;
        loop {
            if !event::poll(end.saturating_duration_since(Instant::now()))? {
                break;
            }
            match event::read()? {
                Event::Key(key) if ends(&key) => return Ok(()),
                Event::Resize(..) => break,
                _ => {}
            }
        }
    }
}

fn ends(key: &KeyEvent) -> bool {
    let is_ctrl_c = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    key.kind == KeyEventKind::Press && (is_ctrl_c || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc))
}

fn draw(terminal: &mut DefaultTerminal, view: &mut View<'_>, env: &Env) -> anyhow::Result<()> {
    let size = terminal.size()?;
    // The last line shows the key.
    let lines = usize::from(size.height).saturating_sub(1);
    // An error may be gone a second later.
    let content = match view.frame(env, usize::from(size.width), Some(lines)) {
        Ok(frame) => frame.lines,
        Err(error) => vec![vec![Span::new(format!("{error:#}"), Tone::Bad)]],
    };
    let mut text: Vec<Line<'_>> = content.iter().map(|line| to_line(line, env.no_color)).collect();
    text.resize(lines, Line::default());
    text.push(to_line(&[Span::new("q quits", Tone::Dim)], env.no_color));
    terminal.draw(|frame| frame.render_widget(Text::from(text), frame.area()))?;
    Ok(())
}
