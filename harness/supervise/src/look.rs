//! Looks that take their time, beside the relay; and the one at what is about to be ended.

use rehang_evidence::{AgentNames, Limits, Look, Options, look};
use rehang_processes::tree::{self, Below};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

/// Something that takes its time, on a thread of its own: a look, as a rule. The relay goes on meanwhile, and is woken by
/// a descriptor when it is done.
pub struct Beside<T> {
    done: Receiver<T>,
    wakes: OwnedFd,
}

impl<T: Send + 'static> Beside<T> {
    /// Begins it.
    ///
    /// # Errors
    /// The machine gives no more pipes or threads.
    pub fn begin(does: impl FnOnce() -> T + Send + 'static) -> io::Result<Beside<T>> {
        let (wakes, held) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (tell, done) = channel();
        std::thread::Builder::new().name("beside".to_owned()).spawn(move || {
            // nobody listens any more if the run has ended meanwhile
            let _ = tell.send(does());
            // closed after the result is there, and also if there is none
            drop(held);
        })?;
        Ok(Beside { done, wakes })
    }

    /// Readable once it is done.
    pub fn wakes(&self) -> BorrowedFd<'_> {
        self.wakes.as_fd()
    }

    /// The result if it is done; `Some(None)`: there will be none.
    pub fn result(&self) -> Option<Option<T>> {
        match self.done.try_recv() {
            Ok(done) => Some(Some(done)),
            Err(TryRecvError::Disconnected) => Some(None),
            Err(TryRecvError::Empty) => None,
        }
    }
}

/// How long processes that are about to be ended are looked at: a process that computes uses many ticks of 10 ms in
/// this time.
const WINDOW: Duration = Duration::from_millis(500);

/// What is about to be ended, as it was before the first signal: once it is dead, nothing shows why it hung.
#[derive(Default)]
pub struct Before {
    /// `None` if no process was left.
    pub look: Option<Look>,
    /// The processes that were there.
    pub there: Vec<Below>,
}

impl Before {
    /// Looks at a command, or at what it has left if it has exited. Takes as long as a look does.
    pub fn look(pid: i32, exited: bool, agents: &AgentNames) -> Before {
        let there = tree::below();
        let pids: Vec<i32> = if exited { there.iter().map(|left| left.pid).collect() } else { vec![pid] };
        let look = look(&pids, &Options { records: true, ..Options::default() }, &Limits::default(), WINDOW);
        let named = |mut look: Look| {
            look.count_as_agents(agents, &Limits::default());
            look
        };
        Before { look: look.ok().map(named), there }
    }
}
