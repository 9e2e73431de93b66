//! The tool server of a scenario, which runs beside its agent.
//!
//! Invariants: it listens before the agent begins; it is no process of the agent, so that it is not left behind by it, and no
//! signal to the agent's processes reaches it.

use super::hub::Hub;
use rehang_fakes::mcp;
use rehang_os::{
    kernel::{InternalError, Launch},
    os::Read,
};
use rehang_scenario::{Terminal, Transport};
use rehang_trace::role;

/// The most bytes of the line with the address.
const LINE_MAX: usize = 256;

impl Hub<'_> {
    /// Starts the tool server, if the scenario has one over HTTP, and tells the agent's plan where it listens.
    ///
    /// # Errors
    /// An internal error; a server that does not say where it listens.
    pub fn start_tools(&mut self) -> Result<(), InternalError> {
        let tools = self.launch.plan.tools.as_ref().filter(|tools| tools.server.over == Transport::Http);
        let Some(argv) = tools.map(|tools| mcp::argv(&tools.server, 0)) else { return Ok(()) };
        let launch = Launch {
            role: role::TOOLS.to_owned(),
            argv,
            env: Vec::new(),
            plan: self.launch.plan.clone(),
            terminal: Terminal::Null,
        };
        self.kernel.set_now(self.now);
        let (server, streams) = self.kernel.start(&launch)?;
        self.kernel.run(server, self.now)?;
        let said = match streams.stdout {
            Some(stdout) => self.kernel.read(stdout, LINE_MAX)?,
            None => Read::Later,
        };
        for handle in [streams.stdout, streams.stderr].into_iter().flatten() {
            self.kernel.close(handle, false)?;
        }
        let port = match &said {
            Read::Data(bytes) => mcp::port_in(&String::from_utf8_lossy(bytes)),
            Read::Eof | Read::Later | Read::Failed(_) => None,
        };
        let Some(port) = port else {
            return Err(InternalError::Fake(format!("the tool server does not say where it listens: {said:?}")));
        };
        if let Some(tools) = &mut self.launch.plan.tools {
            tools.port = Some(port);
        }
        self.drain()
    }
}
