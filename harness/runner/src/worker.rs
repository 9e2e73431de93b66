//! A worker process: reads units and the orders of a torture from stdin, and writes answers to stdout, one per line.
//!
//! Invariant: it ends with its runner. It is pinned to a core, so that its participants, which inherit that, pass
//! control to each other without crossing to another core.

use crate::kernel::kernel;
use crate::unit::{Answer, Unit, run};
use rehang_search::torture::{Order, examine};
use std::io::{BufRead, Write};
use std::path::Path;

/// Works until stdin ends; returns the exit code.
pub fn main(core: usize, fakes: &Path) -> i32 {
    if rehang_stage::worker::settle_in(core).is_err() {
        return 70;
    }
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let kernels = &mut |stage| kernel(stage, fakes);
        let answer = match serde_json::from_str::<Unit>(&line) {
            Ok(unit) => serde_json::to_vec(&run(&unit, kernels)),
            Err(_) => match serde_json::from_str::<Order>(&line) {
                Ok(order) => serde_json::to_vec(&examine(&order, kernels)),
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
