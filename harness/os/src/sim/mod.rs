//! The simulated kernel: processes, pipes, terminals, sessions and loopback in one address space.
//!
//! Invariant: it behaves as the real kernel does; `docs/kernel-behaviours.md` lists what is compared, and
//! `tests/kernel.rs` compares it. A scenario that needs what is not modelled says so in `stages`.

#[cfg(test)]
mod behaviours;
mod net;
mod os;
mod pipe;
mod process;
mod snapshot;
mod tty;

use crate::kernel::{Change, Few, Handle, Happened, InternalError, Kernel, Launch, Left, Party, Proc, Streams};
use crate::line_discipline::LineDiscipline;
use crate::os::{BACKLOG, Errno, Programs, Read, Sig, TTY_ROOM_MIN, Write, tty_takes};
use crate::tables::Used;
use net::{Connection, Listener};
use pipe::Pipe;
use process::{Desc, Process, State};
use rehang_evidence::Snapshot;
use rehang_scenario::{Canon, Terminal, VTime};
use std::collections::BTreeMap;
use tty::Tty;

/// The port of a cell's first listener: it has five digits, as those that Linux gives, so that texts which name it are
/// as long as in lockstep.
const FIRST_PORT: u16 = 40_960;

/// The number of the shell that leads a background terminal's session. The scheduler plays that shell.
fn shell_of(tty: usize) -> u32 {
    u32::MAX - tty as u32
}

/// The simulated kernel, with the processes and objects of one cell.
pub struct SimKernel {
    programs: Programs,
    processes: Vec<Process>,
    pipes: Vec<Pipe>,
    ttys: Vec<Tty>,
    connections: Vec<Connection>,
    listeners: Vec<Listener>,
    /// How many FIFOs were opened.
    fifos: usize,
    /// How many files were opened that are locked.
    locked: usize,
    /// Who has the lock of the cell, and by which of its descriptors.
    locker: Option<(Proc, u32)>,
    handles: Vec<Option<Desc>>,
    happened: Vec<Happened>,
    stops: u64,
    now: VTime,
    /// How often a process was let run, or the scheduler wrote.
    turns: u64,
}

impl SimKernel {
    /// A kernel without processes; `programs` finds those that are started on it.
    pub fn new(programs: Programs) -> SimKernel {
        SimKernel {
            programs,
            processes: Vec::new(),
            pipes: Vec::new(),
            ttys: Vec::new(),
            connections: Vec::new(),
            listeners: Vec::new(),
            fifos: 0,
            locked: 0,
            locker: None,
            handles: Vec::new(),
            happened: Vec::new(),
            stops: 0,
            now: VTime::ZERO,
            turns: 0,
        }
    }

    fn say(&mut self, proc: Proc, what: Change) {
        let role = self.processes[proc.0 as usize].role.as_str().into();
        self.happened.push(Happened { role, what });
    }

    fn get(&self, proc: Proc) -> &Process {
        &self.processes[proc.0 as usize]
    }

    fn get_mut(&mut self, proc: Proc) -> &mut Process {
        &mut self.processes[proc.0 as usize]
    }

    fn all(&self) -> impl Iterator<Item = Proc> + use<> {
        (0..self.processes.len() as u32).map(Proc)
    }

    // --- descriptors ---

    fn open(&mut self, desc: Desc) {
        match desc {
            Desc::PipeRead(id) => self.pipes[id].readers += 1,
            Desc::PipeWrite(id) => self.pipes[id].writers += 1,
            Desc::Tty(id) => self.ttys[id].slaves += 1,
            Desc::Null | Desc::Master(_) | Desc::Listener(_) | Desc::Socket(..) => {}
            Desc::Fifo(_) | Desc::Locked(..) | Desc::Lock => {}
        }
    }

    fn shut(&mut self, desc: Desc, reset: bool) {
        match desc {
            Desc::PipeRead(id) => self.pipes[id].readers -= 1,
            Desc::PipeWrite(id) => self.pipes[id].writers -= 1,
            Desc::Tty(id) => self.ttys[id].slaves -= 1,
            Desc::Null | Desc::Fifo(_) | Desc::Locked(..) | Desc::Lock => {}
            Desc::Master(id) => self.hang_up(id),
            Desc::Listener(id) => {
                self.listeners[id].open = false;
                for waiting in std::mem::take(&mut self.listeners[id].waiting) {
                    self.connections[waiting].close(1, true);
                }
            }
            Desc::Socket(id, side) => self.connections[id].close(side, reset),
        }
    }

    /// A descriptor of a process is closed: if it had the lock of the cell, nobody has it now.
    fn let_go(&mut self, proc: Proc, fd: u32) {
        self.locker = self.locker.filter(|locker| *locker != (proc, fd));
    }

    fn new_pipe(&mut self) -> usize {
        self.pipes.push(Pipe::default());
        self.pipes.len() - 1
    }

    fn handle(&mut self, desc: Desc) -> Handle {
        self.open(desc);
        self.handles.push(Some(desc));
        Handle(self.handles.len() as u32 - 1)
    }

    fn desc(&self, handle: Handle) -> Option<Desc> {
        self.handles.get(handle.0 as usize).copied().flatten()
    }

    fn readable(&self, desc: Desc) -> bool {
        match desc {
            Desc::Null => true,
            Desc::PipeRead(id) => self.pipes[id].readable(),
            Desc::PipeWrite(_) | Desc::Fifo(_) | Desc::Locked(..) => false,
            Desc::Lock => self.locker.is_none(),
            Desc::Tty(id) => self.ttys[id].readable(),
            Desc::Master(id) => self.ttys[id].line.has_output(),
            Desc::Listener(id) => !self.listeners[id].waiting.is_empty(),
            Desc::Socket(id, side) => self.connections[id].readable(side),
        }
    }

    fn writable(&self, desc: Desc) -> bool {
        match desc {
            Desc::PipeWrite(id) => self.pipes[id].writable(),
            Desc::Socket(id, side) => self.connections[id].room(side) > 0,
            // a terminal that was hung up gives an error at once
            Desc::Tty(id) => !self.ttys[id].master || self.ttys[id].line.room() >= TTY_ROOM_MIN,
            Desc::Null | Desc::PipeRead(_) | Desc::Master(_) | Desc::Listener(_) => true,
            Desc::Fifo(_) | Desc::Locked(..) | Desc::Lock => false,
        }
    }

    fn read_desc(&mut self, desc: Desc, max: usize) -> Read {
        match desc {
            Desc::Null => Read::Eof,
            Desc::PipeRead(id) => {
                let pipe = &mut self.pipes[id];
                let bytes = pipe.read(max);
                match bytes.is_empty() {
                    false => Read::Data(bytes),
                    true if pipe.writers == 0 => Read::Eof,
                    true => Read::Later,
                }
            }
            Desc::Tty(id) => {
                let tty = &mut self.ttys[id];
                // a read of a terminal that was hung up gives its end (`hung_up_tty_read`)
                if !tty.master {
                    return Read::Eof;
                }
                match tty.line.read(max) {
                    Some(line) if line.is_empty() => Read::Eof,
                    Some(line) => Read::Data(line),
                    None => Read::Later,
                }
            }
            Desc::Master(id) => {
                let tty = &mut self.ttys[id];
                let bytes = tty.line.drain(max);
                match bytes.is_empty() {
                    false => Read::Data(bytes),
                    true if tty.slaves == 0 => Read::Failed(Errno::Io),
                    true => Read::Later,
                }
            }
            Desc::Socket(id, side) => {
                let connection = &mut self.connections[id];
                let other_open = connection.ends[1 - side].open;
                let end = &mut connection.ends[side];
                match end.inbox.len() {
                    0 if std::mem::take(&mut end.reset) => Read::Failed(Errno::Reset),
                    0 if other_open => Read::Later,
                    0 => Read::Eof,
                    n if n <= max => Read::Data(std::mem::take(&mut end.inbox)),
                    _ => Read::Data(end.inbox.drain(..max).collect()),
                }
            }
            Desc::PipeWrite(_) | Desc::Listener(_) => Read::Failed(Errno::BadFd),
            Desc::Fifo(_) | Desc::Locked(..) | Desc::Lock => Read::Later,
        }
    }

    /// Types the first piece of a text at a terminal, and sends the signals that this brings about.
    fn type_in(&mut self, id: usize, text: &[u8]) -> Result<Write, InternalError> {
        let typed = self.ttys[id].line.type_in(text)?;
        for sig in typed.signals {
            let group = self.ttys[id].foreground;
            self.signal_group(group, sig);
        }
        Ok(if typed.taken == 0 { Write::Later } else { Write::Took(typed.taken) })
    }

    fn write_desc(&mut self, desc: Desc, bytes: &[u8]) -> Write {
        match desc {
            Desc::Null => Write::Took(bytes.len()),
            Desc::PipeWrite(id) => {
                let pipe = &mut self.pipes[id];
                if pipe.readers == 0 {
                    return Write::Failed(Errno::Pipe);
                }
                match pipe.write(bytes) {
                    0 => Write::Later,
                    n => Write::Took(n),
                }
            }
            Desc::Tty(id) => {
                let tty = &mut self.ttys[id];
                if !tty.master {
                    return Write::Failed(Errno::Io);
                }
                match tty_takes(bytes, tty.line.room()) {
                    0 => Write::Later,
                    n => {
                        tty.line.print(&bytes[..n]);
                        Write::Took(n)
                    }
                }
            }
            Desc::Socket(id, side) => {
                let connection = &mut self.connections[id];
                let room = connection.room(side).min(bytes.len());
                let end = &mut connection.ends[side];
                if std::mem::take(&mut end.reset) || end.dead {
                    return Write::Failed(Errno::Reset);
                }
                if !connection.ends[1 - side].open {
                    // the kernel answers the first write to a closed end with a reset
                    connection.ends[side].dead = true;
                    return Write::Took(bytes.len());
                }
                let other = &mut connection.ends[1 - side];
                other.inbox.extend_from_slice(&bytes[..room]);
                other.came.add(room as u64, self.now, self.turns);
                if room > 0 { Write::Took(room) } else { Write::Later }
            }
            Desc::PipeRead(_) | Desc::Listener(_) | Desc::Master(_) => Write::Failed(Errno::BadFd),
            Desc::Fifo(_) | Desc::Locked(..) | Desc::Lock => Write::Failed(Errno::BadFd),
        }
    }

    /// The master is closed: the session's leader gets HUP and CONT; the foreground group gets HUP when the leader dies.
    fn hang_up(&mut self, id: usize) {
        self.ttys[id].master = false;
        self.ttys[id].line = LineDiscipline::new();
        // it controls no session any more, and what it held is gone
        for p in self.all().filter(|&p| self.get(p).controlling == Some(id)).collect::<Vec<_>>() {
            self.get_mut(p).controlling = None;
        }
        let session = self.ttys[id].session;
        let leader = self.all().find(|&p| self.get(p).pgid == session && self.get(p).pid() == session);
        if let Some(leader) = leader.filter(|&p| self.get(p).alive()) {
            self.deliver(leader, Sig::Hup);
            self.deliver(leader, Sig::Cont);
        }
        if session == shell_of(id) && !self.ttys[id].nohup {
            self.shell_dies(id);
        }
    }

    /// An interactive shell that is hung up hangs its jobs up, continues those that are stopped, and dies of the signal
    /// (bash, `hangup_all_jobs`). Its jobs then have no parent in their session.
    fn shell_dies(&mut self, tty: usize) {
        let session = std::mem::take(&mut self.ttys[tty].session);
        self.ttys[tty].foreground = 0;
        let of_shell = |p: &Proc| self.get(*p).shell && self.get(*p).sid == session && self.get(*p).alive();
        for job in self.all().filter(of_shell).collect::<Vec<_>>() {
            let (group, stopped) = (self.get(job).pgid, self.get(job).stopped.is_some());
            self.signal_group(group, Sig::Hup);
            if stopped {
                self.signal_group(group, Sig::Cont);
            }
            self.get_mut(job).shell = false;
            self.hang_up_orphans(group);
        }
    }

    fn connect_to(&mut self, port: u16) -> Result<usize, Errno> {
        let listener = self.listeners.iter_mut().find(|l| l.port == port && l.open).ok_or(Errno::Refused)?;
        self.connections.push(Connection::new(port, self.now));
        let id = self.connections.len() - 1;
        listener.waiting.push_back(id);
        Ok(id)
    }

    /// A connection to a server outside the cell, which answers with this once and reads nothing.
    fn connect_to_nobody(&mut self, answer: &[u8]) -> usize {
        let mut connection = Connection::new(FIRST_PORT, self.now);
        connection.ends[0].inbox.extend_from_slice(answer);
        connection.ends[0].came.add(answer.len() as u64, self.now, self.turns);
        self.connections.push(connection);
        self.connections.len() - 1
    }

    fn new_listener(&mut self) -> (usize, u16) {
        let port = FIRST_PORT + self.listeners.len() as u16;
        self.listeners.push(Listener { port, open: true, ..Listener::default() });
        (self.listeners.len() - 1, port)
    }
}

impl Kernel for SimKernel {
    fn set_now(&mut self, now: VTime) {
        self.now = now;
    }

    fn snapshot(&self, parties: &[Party]) -> Snapshot {
        self.tables(parties).snapshot()
    }

    fn start(&mut self, launch: &Launch) -> Result<(Proc, Streams), InternalError> {
        let program =
            (self.programs)(&launch.argv, Some(&launch.plan)).map_err(|why| InternalError::Fake(why.to_string()))?;
        let mut streams = Streams::default();
        let mut fds = BTreeMap::new();
        let mut controlling = None;
        let with_tty = launch.terminal.stdin_is_tty() || launch.terminal == Terminal::CttyNull;
        if with_tty {
            self.ttys.push(Tty::new());
            let id = self.ttys.len() - 1;
            controlling = Some(id);
            streams.tty = Some(self.handle(Desc::Master(id)));
        }
        match controlling.filter(|_| launch.terminal != Terminal::CttyNull) {
            Some(id) => {
                for fd in 0..3 {
                    self.open(Desc::Tty(id));
                    fds.insert(fd, Desc::Tty(id));
                }
            }
            None => {
                match launch.terminal {
                    Terminal::Pipe | Terminal::Closed => {
                        let id = self.new_pipe();
                        self.open(Desc::PipeRead(id));
                        fds.insert(0, Desc::PipeRead(id));
                        if launch.terminal == Terminal::Pipe {
                            streams.stdin = Some(self.handle(Desc::PipeWrite(id)));
                        }
                    }
                    _ => {
                        fds.insert(0, Desc::Null);
                    }
                }
                for fd in [1, 2] {
                    let id = self.new_pipe();
                    self.open(Desc::PipeWrite(id));
                    fds.insert(fd, Desc::PipeWrite(id));
                    let handle = self.handle(Desc::PipeRead(id));
                    match fd {
                        1 => streams.stdout = Some(handle),
                        _ => streams.stderr = Some(handle),
                    }
                }
            }
        }
        let proc = Proc(self.processes.len() as u32);
        let mut process =
            Process::new(launch.role.clone(), proc, None, launch.argv.clone(), launch.env.clone(), program);
        process.fds = fds;
        process.used = Used::from(self.now);
        process.session_of_its_own();
        process.controlling = controlling;
        let pid = process.pid();
        self.processes.push(process);
        if let Some(id) = controlling {
            // in the background the shell leads the session and has the foreground; the agent's group has a parent in
            // the session, so it is not orphaned
            let leader = if launch.terminal.is_background() { shell_of(id) } else { pid };
            self.ttys[id].session = leader;
            self.ttys[id].foreground = leader;
            self.ttys[id].nohup = launch.terminal == Terminal::TtyBackgroundNohup;
            let process = self.get_mut(proc);
            process.sid = leader;
            process.shell = launch.terminal.is_background();
        }
        self.say(proc, Change::Spawned { parent: String::new(), argv: launch.argv.clone() });
        Ok((proc, streams))
    }

    fn ready(&mut self, now: VTime) -> Result<Few<Proc>, InternalError> {
        Ok(self.all().filter(|&p| self.is_ready(p, now)).collect())
    }

    fn deadline(&self, after: VTime) -> Option<VTime> {
        self.processes.iter().filter_map(Process::deadline).filter(|at| *at > after).min()
    }

    fn run(&mut self, proc: Proc, now: VTime) -> Result<(), InternalError> {
        self.resume(proc, now);
        Ok(())
    }

    fn happened(&mut self) -> Vec<Happened> {
        std::mem::take(&mut self.happened)
    }

    fn role(&self, proc: Proc) -> &str {
        &self.get(proc).role
    }

    fn alive(&self, proc: Proc) -> bool {
        self.get(proc).alive()
    }

    fn find(&self, role: &str) -> Option<Proc> {
        self.all().find(|&p| self.get(p).role == role)
    }

    fn children(&mut self, of: Proc) -> Result<u32, InternalError> {
        let count = self.processes.iter().filter(|p| p.parent == Some(of) && !matches!(p.state, State::Gone)).count();
        Ok(count as u32)
    }

    fn waits(&self) -> Vec<(String, String)> {
        let label = |p: &Process| match &p.state {
            _ if p.stopped.is_some() => "stopped".to_owned(),
            State::Waiting(wait) => wait.on.to_owned(),
            _ => String::new(),
        };
        self.processes.iter().filter(|p| p.alive()).map(|p| (p.role.clone(), label(p))).collect()
    }

    fn kill(&mut self, to: Proc, group: bool, sig: Sig) -> Result<(), InternalError> {
        match group {
            true => self.signal_group(self.get(to).pgid, sig),
            false => self.deliver(to, sig),
        }
        Ok(())
    }

    fn read(&mut self, handle: Handle, max: usize) -> Result<Read, InternalError> {
        Ok(self.desc(handle).map_or(Read::Failed(Errno::BadFd), |desc| self.read_desc(desc, max)))
    }

    fn write(&mut self, handle: Handle, bytes: &[u8]) -> Result<Write, InternalError> {
        self.turns += 1;
        match self.desc(handle) {
            None => Ok(Write::Failed(Errno::BadFd)),
            Some(Desc::Master(id)) => self.type_in(id, bytes),
            Some(desc) => Ok(self.write_desc(desc, bytes)),
        }
    }

    fn close(&mut self, handle: Handle, reset: bool) -> Result<(), InternalError> {
        if let Some(desc) = self.handles.get_mut(handle.0 as usize).and_then(Option::take) {
            self.shut(desc, reset);
        }
        Ok(())
    }

    fn has_room(&self, port: u16) -> bool {
        let full = |l: &Listener| l.port == port && l.open && l.waiting.len() > BACKLOG.cast_unsigned() as usize;
        !self.listeners.iter().any(full)
    }

    fn connect(&mut self, port: u16) -> Result<Result<Handle, Errno>, InternalError> {
        Ok(self.connect_to(port).map(|id| self.handle(Desc::Socket(id, 0))))
    }

    fn listen(&mut self) -> Result<(Handle, u16), InternalError> {
        let (id, port) = self.new_listener();
        Ok((self.handle(Desc::Listener(id)), port))
    }

    fn accept(&mut self, handle: Handle) -> Result<Option<Handle>, InternalError> {
        let Some(Desc::Listener(id)) = self.desc(handle) else { return Ok(None) };
        let waiting = self.listeners[id].waiting.pop_front();
        Ok(waiting.map(|id| self.handle(Desc::Socket(id, 1))))
    }

    fn canon(&mut self, canon: &mut Canon) -> Result<(), InternalError> {
        self.write_state(canon);
        Ok(())
    }

    fn holders(&self, handle: Handle) -> Vec<Proc> {
        let other = match self.desc(handle) {
            Some(Desc::PipeRead(id)) => Desc::PipeWrite(id),
            Some(Desc::PipeWrite(id)) => Desc::PipeRead(id),
            Some(Desc::Master(id)) => Desc::Tty(id),
            Some(Desc::Socket(id, side)) => Desc::Socket(id, 1 - side),
            Some(Desc::Null | Desc::Tty(_) | Desc::Listener(_)) | None => return Vec::new(),
            Some(Desc::Fifo(_) | Desc::Locked(..) | Desc::Lock) => return Vec::new(),
        };
        self.all().filter(|&p| self.get(p).alive() && self.get(p).fds.values().any(|&held| held == other)).collect()
    }

    fn listeners(&self) -> Vec<Proc> {
        let listens = |p: &Process| p.alive() && p.fds.values().any(|held| matches!(held, Desc::Listener(_)));
        self.all().filter(|&p| listens(self.get(p))).collect()
    }

    fn clear(&mut self) -> Result<Vec<Left>, InternalError> {
        let left = self.processes.iter().filter(|p| p.alive());
        let left = left.map(|p| Left { role: p.role.clone(), argv: p.argv.clone() }).collect();
        *self = SimKernel::new(self.programs);
        Ok(left)
    }
}
