//! Loopback connections: two queues and two ends.
//!
//! Invariant: what is written is there for the other end at once. A reset is seen after what had come before it, once;
//! from then on reads give the end and writes fail (measured, Linux 6.18).

use crate::os::SOCKET_WINDOW;
use crate::tables::Went;
use rehang_scenario::{Canon, VTime};
use std::collections::VecDeque;

/// One of the two ends of a connection.
#[derive(Debug, Default)]
pub struct End {
    /// Bytes that this end has not read.
    pub inbox: Vec<u8>,
    /// Whether this end is open.
    pub open: bool,
    /// The other end was reset, and this one has not been told.
    pub reset: bool,
    /// The other end answers writes with a reset.
    pub dead: bool,
    /// How much has come to this end so far, and when the last of it came.
    pub came: Went,
}

/// A connection: the end that connected, and the end that accepted.
#[derive(Debug)]
pub struct Connection {
    /// The two ends: the one that connected, the one that accepted.
    pub ends: [End; 2],
    /// The port that it was connected to.
    pub port: u16,
    /// When it was made.
    pub made: VTime,
}

/// A port on which a process listens.
#[derive(Debug, Default)]
pub struct Listener {
    /// The number of the port.
    pub port: u16,
    /// Connections that wait to be accepted.
    pub waiting: VecDeque<usize>,
    /// Whether it still listens.
    pub open: bool,
}

impl Connection {
    /// A new connection, both ends open.
    pub fn new(port: u16, made: VTime) -> Connection {
        let ends = [End { open: true, ..End::default() }, End { open: true, ..End::default() }];
        Connection { ends, port, made }
    }

    /// Whether a read of this end gives something.
    pub fn readable(&self, side: usize) -> bool {
        let end = &self.ends[side];
        !end.inbox.is_empty() || end.reset || !self.ends[1 - side].open
    }

    /// How many bytes the other end of this one still takes. A closed end takes everything: the kernel answers with a
    /// reset.
    pub fn room(&self, side: usize) -> usize {
        let (end, other) = (&self.ends[side], &self.ends[1 - side]);
        match other.open && !end.reset && !end.dead {
            true => SOCKET_WINDOW.saturating_sub(other.inbox.len()),
            false => usize::MAX,
        }
    }

    /// Closes an end. If it has unread bytes, or if that is asked for, the other end is reset.
    pub fn close(&mut self, side: usize, reset: bool) {
        let reset = reset || !self.ends[side].inbox.is_empty();
        self.ends[side].open = false;
        self.ends[side].inbox.clear();
        if reset {
            let other = &mut self.ends[1 - side];
            other.reset = true;
            other.dead = true;
        }
    }

    /// Writes the state for the comparison of cycles.
    pub fn canon(&self, canon: &mut Canon) {
        let Connection {
            ends,
            port: _, // not compared: it never changes
            made: _, // not compared: a snapshot alone shows it
        } = self;
        for end in ends {
            let End {
                inbox,
                open,
                reset,
                dead,
                came: _, // not compared: a snapshot alone shows it
            } = end;
            canon.bytes(inbox).flag(*open).flag(*reset).flag(*dead);
        }
    }
}
