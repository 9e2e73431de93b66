//! The persona `fake-opencode`.

use crate::Plan;
use crate::os::Program;

/// The program for this command line.
///
/// # Errors
/// A text for the user: arguments that do not fit.
pub fn program(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, String> {
    let _ = (argv, plan);
    Err("not built yet".to_owned())
}
