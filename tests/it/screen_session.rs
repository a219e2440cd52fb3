//! A GNU screen session for one test, with the stand-in in its only window.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::process::{Child, Command, Stdio};

use crate::sandbox::{Sandbox, tool};
use crate::standin::{Launch, Options, StandIn};

const NAME: &str = "longhaul";

/// A detached session whose sockets lie in the sandbox; killed when dropped.
pub(crate) struct ScreenSession {
    /// The stand-in in window 0.
    pub(crate) standin: StandIn,
    child: Child,
    environment: Vec<(String, String)>,
}

impl ScreenSession {
    /// Starts screen with the stand-in in it.
    pub(crate) fn start(sandbox: &Sandbox, options: &Options) -> Self {
        let directory = sandbox.path("screen");
        fs::DirBuilder::new().mode(0o700).create(&directory).expect("cannot make SCREENDIR");
        let settings = sandbox.path("screenrc");
        fs::write(&settings, "defutf8 on\nstartup_message off\n").expect("cannot write the screenrc");
        let launch = Launch::new(sandbox, options);
        let mut environment = sandbox.variables().to_vec();
        environment.push(("SCREENDIR".to_owned(), directory.to_str().expect("temporary paths are UTF-8").to_owned()));
        environment.push(("SYSSCREENRC".to_owned(), "/dev/null".to_owned()));
        environment.push(("TERM".to_owned(), "xterm-256color".to_owned()));
        let child = sandbox
            .program("screen")
            .envs(environment.iter().cloned())
            .envs(launch.variables.iter().cloned())
            .args(["-U", "-D", "-m", "-S", NAME, "-c"])
            .arg(settings)
            .args(&launch.program)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("cannot start screen");
        let standin = StandIn::connect(&launch);
        Self { standin, child, environment }
    }

    fn screen(&self) -> Command {
        let mut command = tool("screen");
        command.envs(self.environment.iter().cloned()).args(["-S", NAME]);
        command
    }
}

impl Drop for ScreenSession {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.screen().args(["-X", "quit"]).output();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
