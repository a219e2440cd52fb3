//! A command that reads a terminal or types into it.

/// A program to run to its end, without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The program's standard input; `None` for an empty one.
    pub stdin: Option<String>,
}

impl TerminalCommand {
    pub(crate) fn new<'a>(argv: impl IntoIterator<Item = &'a str>) -> Self {
        Self { argv: argv.into_iter().map(str::to_owned).collect(), stdin: None }
    }

    /// Returns the path of the socket that a command of tmux connects to, if it names one.
    ///
    /// tmux checks neither the owner of this socket nor that of its folder, and sends its environment there.
    pub fn tmux_socket(&self) -> Option<&str> {
        let (program, arguments) = self.argv.split_first()?;
        let at = arguments.iter().position(|argument| argument == "-S").filter(|_| program == "tmux")?;
        arguments.get(at + 1).map(String::as_str)
    }
}
