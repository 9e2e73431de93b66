//! The scenario's tool server over HTTP: a process beside the sandbox, in its network.
//!
//! Invariants: it listens before the agent begins; it is no process of the sandbox, so that nobody who counts the agent's
//! processes finds it; it is ended with the cell.

use crate::input::Input;
use crate::report::Via;
use crate::spec::{CellSpec, TOOLS_PORT};
use rehang_fakes::mcp;
use rehang_scenario::Transport;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::Builder;
use tokio::sync::mpsc;

/// A tool server that runs; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Tools {
    child: Child,
    says: Option<BufReader<ChildStdout>>,
}

/// Starts the tool server of a scenario that has one over HTTP, and waits until it listens. The caller is in the sandbox's
/// network.
///
/// # Errors
/// It cannot be started, or says something else first.
pub(crate) fn start(order: &CellSpec) -> io::Result<Option<Tools>> {
    let Some(server) = order.scenario.tool_server.as_ref().filter(|server| server.over == Transport::Http) else {
        return Ok(None);
    };
    let argv = mcp::argv(server, TOOLS_PORT);
    let mut command = Command::new(&order.fakes);
    command.arg0(mcp::NAME).args(&argv[1..]).env_clear().stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let says = child.stdout.take().map(BufReader::new);
    let mut tools = Tools { child, says };
    let mut line = String::new();
    if let Some(says) = &mut tools.says {
        says.read_line(&mut line)?;
    }
    match line.starts_with(mcp::LISTENING) {
        true => Ok(Some(tools)),
        false => Err(io::Error::other(format!("the tool server said {line:?}"))),
    }
}

impl Tools {
    /// Passes on what it says, from a thread of its own.
    ///
    /// # Errors
    /// No thread.
    pub(crate) fn tell(&mut self, tell: &mpsc::Sender<Input>) -> io::Result<()> {
        let Some(says) = self.says.take() else { return Ok(()) };
        let tell = tell.clone();
        let reads = move || {
            for line in says.lines().map_while(Result::ok) {
                if tell.blocking_send(Input::Client(Via::Tools, line)).is_err() {
                    return;
                }
            }
        };
        Builder::new().spawn(reads).map(drop)
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        // it may have ended by itself: that is one of its faults
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
