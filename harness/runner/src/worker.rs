//! A worker process: units, and the orders of a torture, in on stdin, answers out on stdout, a line each.
//!
//! Invariant: it ends with its runner. It is pinned to a core, so that its participants, which inherit that, pass
//! control to each other without crossing to another.

use crate::unit::{Answer, Unit, run};
use rehang_scenario::Stage;
use rehang_search::torture::{Order, examine};
use rehang_stage::lockstep;
use rehang_stage::sim;
use rehang_stage::world::World;
use std::io::{BufRead, Write};
use std::path::Path;

/// Works until stdin ends; the exit code.
pub fn main(core: usize, fakes: &Path) -> i32 {
    if rehang_stage::worker::settle_in(core).is_err() {
        return 70;
    }
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let worlds = &mut |stage| world(stage, fakes);
        let answer = match serde_json::from_str::<Unit>(&line) {
            Ok(unit) => serde_json::to_vec(&run(&unit, worlds)),
            Err(_) => match serde_json::from_str::<Order>(&line) {
                Ok(order) => {
                    let worlds = &mut |stage| world(stage, fakes).map_err(|error| error.to_string());
                    serde_json::to_vec(&examine(&order, worlds))
                }
                Err(_) => serde_json::to_vec(&Answer::default()),
            },
        };
        let Ok(mut text) = answer else { return 70 };
        text.push(b'\n');
        if stdout.write_all(&text).and_then(|()| stdout.flush()).is_err() {
            break;
        }
    }
    0
}

/// Why there is no world for a stage.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The machine does not give what real processes in virtual time take.
    #[error("{0}")]
    Lockstep(String),
    /// Real releases run on the wall clock, and never in a worker.
    #[error("real releases run under `rehang upstream`, not in a worker")]
    Live,
}

/// A world for a stage.
///
/// # Errors
/// Why there is none.
pub fn world(stage: Stage, fakes: &Path) -> Result<Box<dyn World>, WorldError> {
    match stage {
        Stage::Sim => Ok(Box::new(sim::Kernel::new())),
        Stage::Lockstep => {
            let kernel = lockstep::Kernel::new(fakes).map_err(|fault| WorldError::Lockstep(fault.to_string()))?;
            Ok(Box::new(kernel))
        }
        Stage::Live => Err(WorldError::Live),
    }
}
