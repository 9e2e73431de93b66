//! Worker processes: one per core, each owning one cell at a time.
//!
//! Invariant: a worker outlives its runner by no more than a signal (PR_SET_PDEATHSIG), and its participants
//! outlive it by no more than the end of their control socket. Subreaper and reaping are per process, so cells
//! never share one.

use rehang_processes::machine;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// The first argument that makes one of our binaries a worker.
pub const WORKER_ARG: &str = "__worker";

/// Why a worker gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// It could not be started, usually because the machine is out of processes or files.
    #[error("a worker could not be started: {}", machine::start(.0))]
    Start(std::io::Error),
    /// It ended, or gave an answer that cannot be read, in the middle of a unit.
    #[error("a worker broke off: {0}")]
    Broke(String),
    /// It gave no answer within this span of real time, and was killed.
    #[error("a worker gave no answer for {} s of real time", .0.as_secs())]
    Late(Duration),
}

/// How workers are started.
#[derive(Debug, Clone)]
pub struct Workers {
    /// The binary: one of ours, so that [`WORKER_ARG`] makes it a worker.
    pub exe: PathBuf,
    /// The binary of the fakes.
    pub fakes: PathBuf,
    /// How many.
    pub jobs: usize,
}

/// Worker processes that wait for work.
pub struct Pool {
    jobs: usize,
    state: Mutex<State>,
    freed: Condvar,
    starter: Mutex<Option<Sender<Start>>>,
}

/// A worker to start on this core, and where to send it.
///
/// PR_SET_PDEATHSIG refers to the thread that started a process, not to its process: so one thread starts all workers
/// and lives as long as the pool.
type Start = (usize, Sender<Result<Worker, PoolError>>);

struct State {
    idle: Vec<Worker>,
    /// For each core, whether a worker has it.
    taken: Vec<bool>,
}

struct Worker {
    core: usize,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Pool {
    /// A pool; workers are started when they are needed.
    pub fn new(workers: Workers) -> Pool {
        let jobs = workers.jobs.max(1);
        let (starter, orders): (Sender<Start>, Receiver<Start>) = channel();
        let starts = std::thread::Builder::new().spawn(move || {
            for (core, reply) in orders {
                // the asker may be gone; then the worker ends with its stdin
                let _ = reply.send(Worker::start(&workers, core));
            }
        });
        // without that thread the first unit reports the error
        let starter = starts.is_ok().then_some(starter);
        let state = Mutex::new(State { idle: Vec::new(), taken: vec![false; jobs] });
        Pool { jobs, state, freed: Condvar::new(), starter: Mutex::new(starter) }
    }

    /// How many units can run at once.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// Lets a free worker do a unit, and waits for its answer.
    ///
    /// # Errors
    /// A worker that could not be started, or that broke off; the next unit gets a new one.
    pub fn submit<Q: Serialize, A: DeserializeOwned>(&self, unit: &Q) -> Result<A, PoolError> {
        let mut worker = self.take()?;
        let answer = worker.ask(unit);
        self.settle(worker, answer)
    }

    /// As [`Pool::submit`]; a worker that gives no answer within `limit` of real time is killed.
    ///
    /// # Errors
    /// As [`Pool::submit`], and [`PoolError::Late`].
    pub fn submit_within<Q: Serialize, A: DeserializeOwned>(&self, unit: &Q, limit: Duration) -> Result<A, PoolError> {
        let mut worker = self.take()?;
        let pid = Pid::from_child(&worker.child);
        // unlike a pid, it never comes to mean another process
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| PoolError::Start(error.into()));
        let (answered, waits) = channel::<()>();
        let (answer, is_late) = match process {
            Ok(process) => std::thread::scope(|scope| {
                let watch = scope.spawn(move || {
                    let is_late = waits.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
                    is_late && pidfd_send_signal(process, Signal::KILL).is_ok()
                });
                let answer = worker.ask(unit);
                drop(answered);
                (answer, watch.join().unwrap_or(false))
            }),
            Err(error) => (Err(error), false),
        };
        let answer = if is_late { Err(PoolError::Late(limit)) } else { answer };
        self.settle(worker, answer)
    }

    /// A worker that answered waits for more; any other is ended.
    fn settle<A>(&self, mut worker: Worker, answer: Result<A, PoolError>) -> Result<A, PoolError> {
        if answer.is_err() {
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &answer {
            Ok(_) => state.idle.push(worker),
            Err(_) => state.taken[worker.core] = false,
        }
        self.freed.notify_one();
        answer
    }

    fn take(&self) -> Result<Worker, PoolError> {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            if let Some(worker) = state.idle.pop() {
                return Ok(worker);
            }
            if let Some(core) = state.taken.iter().position(|taken| !taken) {
                match self.start(core) {
                    Ok(worker) => {
                        state.taken[core] = true;
                        return Ok(worker);
                    }
                    Err(error) if !state.taken.contains(&true) => return Err(error),
                    // the machine has room for fewer workers: wait for one of those
                    Err(_) => {}
                }
            }
            state = self.freed.wait(state).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    fn start(&self, core: usize) -> Result<Worker, PoolError> {
        let (reply, worker) = channel();
        let starter = self.starter.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let gone = || PoolError::Broke("nobody starts workers any more".to_owned());
        let no_thread = || PoolError::Start(std::io::Error::from_raw_os_error(libc::EAGAIN));
        starter.as_ref().ok_or_else(no_thread)?.send((core, reply)).map_err(|_| gone())?;
        worker.recv().map_err(|_| gone())?
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        for worker in state.idle.drain(..) {
            let Worker { mut child, stdin, .. } = worker;
            // the end of its input ends a worker
            drop(stdin);
            let _ = child.wait();
        }
    }
}

impl Worker {
    fn start(workers: &Workers, core: usize) -> Result<Worker, PoolError> {
        let mut child = Command::new(&workers.exe)
            .arg(WORKER_ARG)
            .arg(core.to_string())
            .arg(&workers.fakes)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(PoolError::Start)?;
        let missing = || PoolError::Broke("it has no streams".to_owned());
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        Ok(Worker { core, child, stdin, stdout })
    }

    fn ask<Q: Serialize, A: DeserializeOwned>(&mut self, unit: &Q) -> Result<A, PoolError> {
        let broke = |error: &dyn std::fmt::Display| PoolError::Broke(error.to_string());
        let mut line = serde_json::to_vec(unit).map_err(|e| broke(&e))?;
        line.push(b'\n');
        self.stdin.write_all(&line).and_then(|()| self.stdin.flush()).map_err(|e| broke(&e))?;
        let mut answer = String::new();
        match self.stdout.read_line(&mut answer).map_err(|e| broke(&e))? {
            0 => {
                let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                Err(PoolError::Broke(format!("it ended ({status})")))
            }
            _ => serde_json::from_str(&answer).map_err(|e| broke(&e)),
        }
    }
}
