//! What participants announce of the objects between them: how much went through a pipe or a connection, and who
//! still holds an end.
//!
//! Invariant: an announcement is believed about what only its participant can see, and checked wherever the scheduler
//! has an end of its own: nothing can be read that was not written.

use crate::kernel::Proc;
use crate::lockstep::protocol::{Key, Moved, hash};
use crate::os::SOCKET_WINDOW;
use crate::tables::Link;
use rehang_scenario::{Canon, VTime};
use std::collections::{BTreeMap, VecDeque};

/// One direction of a pipe or connection.
#[derive(Debug, Default)]
pub struct Flow {
    /// Bytes written so far.
    pub written: u64,
    /// Bytes read so far.
    pub read: u64,
    /// No process holds the writing end.
    pub ended: bool,
    /// The writes that are not wholly read: the length, and a hash of the content, of each.
    writes: VecDeque<(u64, u64)>,
}

impl Flow {
    /// Whether there is something that was not read.
    pub fn unread(&self) -> bool {
        self.left() > 0
    }

    /// How many bytes were not read.
    pub fn left(&self) -> u64 {
        self.written.saturating_sub(self.read)
    }

    fn write(&mut self, bytes: u64, hash: u64) {
        self.written += bytes;
        self.writes.push_back((bytes, hash));
    }

    fn take(&mut self, bytes: u64) {
        self.read += bytes;
        // the first write that is not wholly read stays, with those after it
        let mut left = self.written.saturating_sub(self.read);
        let mut keep = 0;
        for (length, _) in self.writes.iter().rev() {
            if left == 0 {
                break;
            }
            keep += 1;
            left = left.saturating_sub(*length);
        }
        while self.writes.len() > keep {
            self.writes.pop_front();
        }
    }

    fn canon(&self, canon: &mut Canon) {
        let Flow { written, read, ended, writes } = self;
        canon.num(written.saturating_sub(*read)).flag(*ended).num(writes.len() as u64);
        for (length, hash) in writes {
            canon.num(*length).num(*hash);
        }
    }
}

/// One direction of the object that a key belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    /// Through a pipe, named by its inode.
    Pipe(u64),
    /// To the side that accepted: the client's port, then the listener's.
    ToServer(u16, u16),
    /// To the side that connected.
    ToClient(u16, u16),
}

/// The other end of a pipe or a connection.
pub fn opposite(key: Key) -> Option<Key> {
    match key {
        Key::PipeRead(inode) => Some(Key::PipeWrite(inode)),
        Key::PipeWrite(inode) => Some(Key::PipeRead(inode)),
        Key::Client(client, server) => Some(Key::Server(client, server)),
        Key::Server(client, server) => Some(Key::Client(client, server)),
        Key::Tty(_) | Key::Listener(_) | Key::Other => None,
        Key::Fifo(_) | Key::Locked(..) | Key::Lock => None,
    }
}

/// What a holder of this key reads from.
pub fn inbound(key: Key) -> Option<Stream> {
    match key {
        Key::PipeRead(inode) => Some(Stream::Pipe(inode)),
        Key::Client(client, server) => Some(Stream::ToClient(client, server)),
        Key::Server(client, server) => Some(Stream::ToServer(client, server)),
        Key::PipeWrite(_) | Key::Tty(_) | Key::Listener(_) | Key::Other => None,
        Key::Fifo(_) | Key::Locked(..) | Key::Lock => None,
    }
}

/// What a holder of this key writes to.
pub fn outbound(key: Key) -> Option<Stream> {
    match key {
        Key::PipeWrite(inode) => Some(Stream::Pipe(inode)),
        Key::Client(client, server) => Some(Stream::ToServer(client, server)),
        Key::Server(client, server) => Some(Stream::ToClient(client, server)),
        Key::PipeRead(_) | Key::Tty(_) | Key::Listener(_) | Key::Other => None,
        Key::Fifo(_) | Key::Locked(..) | Key::Lock => None,
    }
}

/// All objects of a cell.
#[derive(Debug, Default)]
pub struct Objects {
    flows: BTreeMap<Stream, Flow>,
    holders: BTreeMap<Key, u32>,
    /// Connections that were made to a port and not yet accepted, by the client's port, in their order.
    waiting: BTreeMap<u16, VecDeque<u16>>,
    /// Who has the lock of the cell.
    pub locker: Option<Proc>,
    /// Counts whatever could make a descriptor ready that was not.
    pub epoch: u64,
    /// The numbers of pipes, terminals and listeners, in the order in which they were made.
    names: BTreeMap<Key, u64>,
    /// How many of each kind there have been, connections included.
    made: BTreeMap<u8, u64>,
    /// The connections: their numbers, and what has been transferred over them.
    links: BTreeMap<(u16, u16), (u64, Link)>,
    /// What was closed in this turn.
    closed: Vec<Key>,
    /// The time of what happens now.
    pub now: VTime,
    /// How often a participant was let run, or the scheduler wrote.
    pub turns: u64,
}

/// The kind of a numbered object.
fn kind(key: Key) -> u8 {
    match key {
        Key::PipeRead(_) | Key::PipeWrite(_) => 0,
        Key::Tty(_) => 1,
        Key::Listener(_) => 2,
        Key::Client(..) | Key::Server(..) => 3,
        Key::Other => 4,
        Key::Fifo(_) => 5,
        Key::Locked(..) => 6,
        Key::Lock => 7,
    }
}

/// A pipe's name is that of its read end.
fn named(key: Key) -> Key {
    match key {
        Key::PipeWrite(inode) => Key::PipeRead(inode),
        key => key,
    }
}

/// A participant announced more bytes read than were written.
#[derive(Debug, PartialEq, Eq)]
pub struct TooMuch {
    /// Bytes read, as announced.
    pub read: u64,
    /// Bytes that were written.
    pub written: u64,
}

impl Objects {
    /// One direction, by its stream.
    pub fn flow(&mut self, stream: Stream) -> &mut Flow {
        self.flows.entry(stream).or_default()
    }

    /// Whether a process of the cell, or the scheduler, holds this.
    pub fn is_held(&self, key: Key) -> bool {
        self.holders.contains_key(&key)
    }

    /// How many processes of the cell hold this, the scheduler among them.
    pub fn holders(&self, key: Key) -> u32 {
        self.holders.get(&key).copied().unwrap_or_default()
    }

    /// What a holder of this key could read.
    pub fn inbound(&self, key: Key) -> Option<&Flow> {
        self.flows.get(&inbound(key)?)
    }

    /// How many connections to this port are not accepted yet.
    pub fn waiting(&self, port: u16) -> u64 {
        self.waiting.get(&port).map_or(0, |queue| queue.len() as u64)
    }

    /// Whether a connection waits to be accepted.
    pub fn is_queued(&self, client: u16, server: u16) -> bool {
        self.waiting.get(&server).is_some_and(|queue| queue.contains(&client))
    }

    /// The connections that wait at this listener, in their order, by the end that connected.
    pub fn queue(&self, listener: Key) -> Vec<Key> {
        let Key::Listener(port) = listener else { return Vec::new() };
        self.waiting.get(&port).into_iter().flatten().map(|&client| Key::Client(client, port)).collect()
    }

    /// How many bytes the holder of this end can write now: the bytes on their way are bounded ([`SOCKET_WINDOW`]),
    /// unless nobody can read them any more, which the kernel says by a reset.
    pub fn room(&self, key: Key) -> usize {
        let (Some(out), Some(back)) = (outbound(key), inbound(key)) else { return usize::MAX };
        if self.flows.get(&back).is_some_and(|flow| flow.ended) {
            return usize::MAX;
        }
        let unread = self.flows.get(&out).map_or(0, |flow| flow.left());
        SOCKET_WINDOW.saturating_sub(usize::try_from(unread).unwrap_or(usize::MAX))
    }

    /// Gives a new pipe, terminal or listener its number; one that has one keeps it.
    pub fn name(&mut self, key: Key) {
        if matches!(key, Key::Client(..) | Key::Server(..) | Key::Other) || self.names.contains_key(&named(key)) {
            return;
        }
        let number = self.next(key);
        self.names.insert(named(key), number);
    }

    fn next(&mut self, key: Key) -> u64 {
        let made = self.made.entry(kind(key)).or_default();
        *made += 1;
        *made - 1
    }

    /// The number of a pipe, terminal, listener or connection; 0 for what has none.
    pub fn number(&self, key: Key) -> u64 {
        match key {
            Key::Client(client, server) | Key::Server(client, server) => {
                self.links.get(&(client, server)).map_or(0, |(number, _)| *number)
            }
            key => self.names.get(&named(key)).copied().unwrap_or_default(),
        }
    }

    /// The connections that these descriptors are ends of, by their numbers.
    pub fn links(&self, held: impl Iterator<Item = Key>) -> BTreeMap<u64, Link> {
        let flow = |stream| self.flows.get(&stream);
        let unread = |stream| flow(stream).map_or(0, |flow| flow.left());
        let open = |stream| flow(stream).is_some_and(|flow| !flow.ended);
        let links = held.filter_map(|key| {
            let (Key::Client(client, server) | Key::Server(client, server)) = key else { return None };
            let &(number, link) = self.links.get(&(client, server))?;
            let (to_client, to_server) = (Stream::ToClient(client, server), Stream::ToServer(client, server));
            let taken = link.open[1] && open(to_client);
            let open = [open(to_server), taken];
            Some((number, Link { unread: [unread(to_client), unread(to_server)], open, ..link }))
        });
        links.collect()
    }

    /// How many connections wait at each listener, by number.
    pub fn queues(&self) -> BTreeMap<u64, u64> {
        let listeners = self.names.iter().filter_map(|(key, number)| match key {
            Key::Listener(port) => Some((*number, self.waiting(*port))),
            _ => None,
        });
        listeners.collect()
    }

    /// Somebody holds this now.
    pub fn hold(&mut self, key: Key) {
        self.name(key);
        *self.holders.entry(key).or_default() += 1;
    }

    /// Somebody connected: a new connection, even if its ports were those of an older one.
    pub fn connect(&mut self, client: u16, server: u16) {
        self.flows.insert(Stream::ToServer(client, server), Flow::default());
        self.flows.insert(Stream::ToClient(client, server), Flow::default());
        self.waiting.entry(server).or_default().push_back(client);
        let number = self.next(Key::Client(client, server));
        let listener = self.number(Key::Listener(server));
        self.links
            .insert((client, server), (number, Link { listener, made: self.now, open: [true; 2], ..Link::default() }));
        self.hold(Key::Client(client, server));
        self.epoch += 1;
    }

    /// A connection to this port was accepted.
    pub fn accept(&mut self, port: u16) {
        self.waiting.entry(port).or_default().pop_front();
    }

    /// Somebody holds this no longer.
    pub fn release(&mut self, key: Key) {
        self.epoch += 1;
        let Some(count) = self.holders.get_mut(&key) else { return };
        *count = count.saturating_sub(1);
        if *count > 0 {
            return;
        }
        self.holders.remove(&key);
        if let Key::Listener(port) = key {
            for client in self.waiting.remove(&port).into_iter().flatten() {
                if let Some((_, link)) = self.links.get_mut(&(client, port)) {
                    link.open[1] = false;
                }
            }
        }
        // the kernel may give its inode or port to another
        if !matches!(key, Key::Tty(_)) && opposite(key).is_none_or(|other| !self.holders.contains_key(&other)) {
            self.names.remove(&named(key));
        }
        if let Some(stream) = outbound(key) {
            self.flow(stream).ended = true;
        }
        self.closed.push(key);
    }

    /// Keeps nothing more of pipes and connections that nobody holds any more, nor waits to accept. Between two turns: what was
    /// read of what was closed is announced after that.
    pub fn forget_closed(&mut self) {
        while let Some(key) = self.closed.pop() {
            self.forget(key);
        }
    }

    fn forget(&mut self, key: Key) {
        let Some(other) = opposite(key) else { return };
        let is_queued = match key {
            Key::Client(client, server) | Key::Server(client, server) => self.is_queued(client, server),
            _ => false,
        };
        if is_queued || self.is_held(key) || self.is_held(other) {
            return;
        }
        for end in [key, other] {
            if let Some(stream) = outbound(end) {
                self.flows.remove(&stream);
            }
            if let Key::Client(client, server) = end {
                self.links.remove(&(client, server));
            }
        }
    }

    /// Counts what was moved through an object.
    pub fn moved(&mut self, key: Key, moved: Moved) -> Result<(), TooMuch> {
        self.epoch += 1;
        if let Key::Listener(port) = key {
            for _ in 0..moved.read {
                self.accept(port);
            }
            return Ok(());
        }
        if moved.wrote > 0
            && let Some(stream) = outbound(key)
        {
            self.flow(stream).write(moved.wrote, moved.hash);
            self.went(key, moved.wrote);
        }
        if moved.read > 0
            && let Some(stream) = inbound(key)
        {
            let flow = self.flow(stream);
            flow.take(moved.read);
            if flow.read > flow.written {
                return Err(TooMuch { read: flow.read, written: flow.written });
            }
        }
        Ok(())
    }

    /// Counts bytes that came to this end of a connection from a server outside the cell.
    pub fn came(&mut self, key: Key, moved: Moved) {
        let Key::Client(client, server) = key else { return };
        // what is only written cannot be too much
        let _ = self.moved(Key::Server(client, server), Moved { read: 0, ..moved });
    }

    /// A process has the lock of the cell from now on, or has it no more.
    pub fn locks(&mut self, proc: Proc, has: bool) {
        self.epoch += 1;
        match has {
            true => self.locker = Some(proc),
            false => self.locker = self.locker.filter(|locker| *locker != proc),
        }
    }

    /// Counts bytes that went from this end of a connection, if the other one is open.
    fn went(&mut self, key: Key, bytes: u64) {
        let (link, to) = match key {
            Key::Client(client, server) => ((client, server), 1),
            Key::Server(client, server) => ((client, server), 0),
            _ => return,
        };
        let is_open = self.inbound(key).is_none_or(|flow| !flow.ended);
        if let Some((_, link)) = self.links.get_mut(&link).filter(|(_, link)| is_open && link.open[1]) {
            link.to[to].add(bytes, self.now, self.turns);
        }
    }

    /// The scheduler wrote these bytes to its end.
    pub fn wrote(&mut self, key: Key, bytes: &[u8]) {
        let wrote = bytes.len() as u64;
        let hash = hash(hash(0, &bytes.len().to_le_bytes()), bytes);
        // a write only adds, so there cannot be too much of it
        let _ = self.moved(key, Moved { read: 0, wrote, hash });
    }

    /// Writes one object's state: what is in it, as seen from this key.
    pub fn canon(&self, key: Key, canon: &mut Canon) {
        let Objects {
            flows,
            holders: _, // not compared: who holds what is in the tables of the processes
            waiting: _, // not compared: written below, and in their order beside it
            locker,
            epoch: _,  // not compared: it says when to ask again, and never what is there
            names: _,  // not compared: names
            made: _,   // not compared: it numbers
            links: _,  // not compared: a snapshot alone shows them
            closed: _, // not compared: nobody holds it any more
            now: _,    // not compared: each step is told the time
            turns: _,  // not compared: a snapshot alone shows it
        } = self;
        for stream in [inbound(key), outbound(key)].into_iter().flatten() {
            if let Some(flow) = flows.get(&stream) {
                flow.canon(canon);
            }
        }
        if let Key::Listener(port) = key {
            canon.num(self.waiting(port));
        }
        if key == Key::Lock {
            canon.num(locker.map_or(0, |proc| u64::from(proc.0) + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_writes_that_are_not_wholly_read() {
        let mut flow = Flow::default();
        for length in [3, 5, 7] {
            flow.write(length, length);
        }
        flow.take(4);
        assert_eq!(flow.writes, [(5, 5), (7, 7)]);
        flow.take(4);
        assert_eq!(flow.writes, [(7, 7)]);
        flow.take(7);
        assert!(flow.writes.is_empty() && !flow.unread());
    }

    #[test]
    fn nothing_is_kept_of_what_nobody_holds() {
        let mut objects = Objects::default();
        objects.hold(Key::Listener(80));
        for client in [1_001, 1_002] {
            objects.connect(client, 80);
        }
        objects.accept(80);
        let (client, server) = (Key::Client(1_001, 80), Key::Server(1_001, 80));
        objects.hold(server);
        objects.wrote(client, b"abc");
        for key in [server, client, Key::Client(1_002, 80)] {
            objects.release(key);
            objects.moved(server, Moved { read: 1, ..Moved::default() }).expect("it is announced after the end");
        }
        objects.forget_closed();
        assert!(!objects.flows.contains_key(&Stream::ToServer(1_001, 80)) && !objects.links.contains_key(&(1_001, 80)));
        assert!(objects.links.contains_key(&(1_002, 80)), "it waits to be accepted");
        let (read, write) = (Key::PipeRead(7), Key::PipeWrite(7));
        objects.hold(read);
        objects.hold(write);
        objects.wrote(write, b"abc");
        objects.release(write);
        objects.forget_closed();
        assert!(objects.flow(Stream::Pipe(7)).ended && objects.flow(Stream::Pipe(7)).unread());
        objects.release(read);
        objects.forget_closed();
        assert!(!objects.flows.contains_key(&Stream::Pipe(7)));
    }

    #[test]
    fn the_last_holder_ends_a_flow() {
        let mut objects = Objects::default();
        let (read, write) = (Key::PipeRead(7), Key::PipeWrite(7));
        for key in [read, write, write] {
            objects.hold(key);
        }
        objects.wrote(write, b"abc");
        objects.release(write);
        assert!(!objects.flow(Stream::Pipe(7)).ended);
        objects.release(write);
        assert!(objects.flow(Stream::Pipe(7)).ended);
        assert_eq!(objects.moved(read, Moved { read: 4, ..Moved::default() }), Err(TooMuch { read: 4, written: 3 }));
    }
}
