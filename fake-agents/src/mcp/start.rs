//! How a stage starts a tool server.
//!
//! Invariant: when the server has been started, the plan of its agent says where it listens.

use super::{argv, port_in};
use rehang_os::kernel::{InternalError, Kernel, Launch};
use rehang_os::os::Read;
use rehang_scenario::{Terminal, Transport, VTime, plan::Plan};

/// The most bytes of the line with the address.
const LINE_MAX: usize = 256;

/// Starts the server of a plan under this role, if it has one over HTTP, and lets it run until it listens.
///
/// # Errors
/// An internal error; a server that does not say where it listens.
pub fn start(kernel: &mut dyn Kernel, role: &str, plan: &mut Plan, now: VTime) -> Result<(), InternalError> {
    let tools = plan.tools.as_ref().filter(|tools| tools.server.over == Transport::Http);
    let Some(argv) = tools.map(|tools| argv(&tools.server, 0)) else { return Ok(()) };
    let (role, plan_of_it) = (role.to_owned(), plan.clone());
    let launch = Launch { role, argv, env: Vec::new(), plan: plan_of_it, terminal: Terminal::Null };
    let (server, streams) = kernel.start(&launch)?;
    kernel.run(server, now)?;
    let said = match streams.stdout {
        Some(stdout) => kernel.read(stdout, LINE_MAX)?,
        None => Read::Later,
    };
    for handle in [streams.stdout, streams.stderr].into_iter().flatten() {
        kernel.close(handle, false)?;
    }
    let port = match &said {
        Read::Data(bytes) => port_in(&String::from_utf8_lossy(bytes)),
        Read::Eof | Read::Later | Read::Failed(_) => None,
    };
    let port =
        port.ok_or_else(|| InternalError::Fake(format!("the tool server does not say where it listens: {said:?}")))?;
    if let Some(tools) = &mut plan.tools {
        tools.port = Some(port);
    }
    Ok(())
}
