//! The tool server of a scenario, which runs beside its agent.
//!
//! Invariants: it listens before the agent begins; it is no process of the agent, so that it is not left behind by it, and no
//! signal to the agent's processes reaches it.

use super::hub::Hub;
use rehang_fakes::mcp;
use rehang_os::kernel::InternalError;
use rehang_trace::role;

impl Hub<'_> {
    /// Starts the tool server, if the scenario has one over HTTP, and tells the agent's plan where it listens.
    ///
    /// # Errors
    /// An internal error; a server that does not say where it listens.
    pub fn start_tools(&mut self) -> Result<(), InternalError> {
        self.kernel.set_now(self.now);
        mcp::start(self.kernel, role::TOOLS, &mut self.launch.plan, self.now)?;
        self.drain()
    }
}
