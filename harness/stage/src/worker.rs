//! Makes a process a worker: pinned to a core, and ended when its runner ends.
//!
//! Linux: `sched_setaffinity`, `PR_SET_PDEATHSIG`. Without the right to pin (a cpuset of one core), it only runs slower.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

/// Sets this process up as the `nth` worker.
///
/// # Errors
/// The kernel does not notify when the runner dies.
pub fn settle_in(nth: usize) -> Result<(), nix::Error> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    pin(nth);
    Ok(())
}

/// Pins this thread, and what it starts, to the `nth` of the cores that it may use. Nothing changes if that is not
/// permitted, or if there is only one core.
pub fn pin(nth: usize) {
    let here = Pid::from_raw(0);
    if let Ok(allowed) = sched_getaffinity(here) {
        let cores: Vec<usize> = (0..CpuSet::count()).filter(|&core| allowed.is_set(core).unwrap_or(false)).collect();
        let mut own = CpuSet::new();
        if let Some(&core) = cores.get(nth % cores.len().max(1))
            && own.set(core).is_ok()
        {
            let _ = sched_setaffinity(here, &own);
        }
    }
}

/// Makes this process the one that adopts the orphans of its workers, so that none is lost from sight.
pub fn adopt_orphans() {
    // if that is not permitted, only the workers themselves are seen when a run is over
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Lowers this process's priority below other processes', or (if that is allowed) raises it again.
pub fn give_way(give: bool) {
    let _ = rustix::process::setpriority_process(None, if give { 5 } else { 0 });
}
