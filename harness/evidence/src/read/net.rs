//! Sockets: their state, their peers, what is in their queues, and how long TCP has been silent.
//!
//! The kernel's socket tables are asked by netlink (sock_diag), in the network namespace that the processes are in; if
//! that namespace may not be entered, /proc/PID/net tells states and addresses, and the rest is a lack.
//!
//! Invariant: only sockets that the tree holds, and their peers, are kept.

mod diag;
pub mod queue;
mod table;

use crate::data::{Family, Lack, Object, Process, Socket};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

/// The socket tables of one snapshot, by network namespace; each is read once, when it is first needed.
pub struct Tables {
    own_namespace: u64,
    read: BTreeMap<u64, BTreeMap<u64, Socket>>,
}

impl Tables {
    /// None has been read yet. `own_namespace` is the one that this process is in, 0 if that is not known.
    pub fn new(own_namespace: u64) -> Tables {
        Tables { own_namespace, read: BTreeMap::new() }
    }

    /// The sockets of these processes and their peers.
    pub fn sockets<'a>(
        &mut self,
        processes: impl Iterator<Item = &'a Process>,
        lacks: &mut Vec<Lack>,
    ) -> BTreeMap<u64, Socket> {
        let mut held: BTreeSet<u64> = BTreeSet::new();
        let mut namespaces: BTreeMap<u64, i32> = BTreeMap::new();
        for process in processes {
            let sockets = process.fds.iter().filter_map(|fd| match fd.what {
                Object::Socket { inode } => Some(inode),
                _ => None,
            });
            let before = held.len();
            held.extend(sockets);
            if held.len() > before {
                namespaces.entry(process.namespaces.net).or_insert(process.pid);
            }
        }
        // a process may hold sockets of a namespace that it has left: our own namespace is always asked too
        if !held.is_empty() && self.own_namespace != 0 {
            namespaces.insert(self.own_namespace, 0);
        }
        for (namespace, pid) in namespaces {
            self.read.entry(namespace).or_insert_with(|| {
                let mut table = match namespace == self.own_namespace {
                    true => diag::all().unwrap_or_default(),
                    false => of_another(pid, lacks),
                };
                match_tcp_peers(&mut table);
                table
            });
        }
        let socket = |inode: &u64| self.read.values().find_map(|table| table.get(inode));
        let peers = held.iter().filter_map(|inode| socket(inode)?.peer);
        let wanted: BTreeSet<u64> = held.iter().copied().chain(peers).collect();
        wanted.iter().filter_map(socket).map(|found| (found.inode, found.clone())).collect()
    }
}

/// The sockets of a network namespace that this process, which is in another one, holds sockets of.
fn of_another(pid: i32, lacks: &mut Vec<Lack>) -> BTreeMap<u64, Socket> {
    if let Some(Ok(sockets)) = within(pid, diag::all) {
        return sockets;
    }
    lacks.push(Lack {
        what: format!("how long the connections of {pid} have been silent, and who is at their other end"),
        remedy: format!("it is in another network namespace, which only root may enter: sudo rehang why {pid}"),
    });
    table::all(pid)
}

/// Runs `f` on a thread that has entered the network namespace of a process; `None`: it may not enter it, or no thread
/// can be started.
pub fn within<T: Send>(pid: i32, f: impl FnOnce() -> T + Send) -> Option<T> {
    let namespace = File::open(format!("/proc/{pid}/ns/net")).ok()?;
    std::thread::scope(|scope| {
        let entered = std::thread::Builder::new().spawn_scoped(scope, move || {
            nix::sched::setns(&namespace, nix::sched::CloneFlags::CLONE_NEWNET).ok()?;
            Some(f())
        });
        entered.ok()?.join().ok().flatten()
    })
}

/// Joins the two ends of a connection within one machine: each has the other's address.
fn match_tcp_peers(all: &mut BTreeMap<u64, Socket>) {
    let connected = |socket: &&Socket| socket.family == Family::Tcp && !socket.remote.is_empty();
    let mut by_address: BTreeMap<(String, String), u64> = BTreeMap::new();
    for socket in all.values().filter(connected) {
        by_address.insert((socket.local.clone(), socket.remote.clone()), socket.inode);
    }
    for socket in all.values_mut().filter(|socket| socket.family == Family::Tcp) {
        let other = (socket.remote.clone(), socket.local.clone());
        socket.peer = by_address.get(&other).copied().filter(|inode| *inode != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Descriptor, Mode};

    #[test]
    fn the_two_ends_of_a_connection_know_each_other() {
        let socket = |inode, local: &str, remote: &str| {
            let (local, remote) = (local.to_owned(), remote.to_owned());
            (inode, Socket { inode, family: Family::Tcp, local, remote, ..Socket::default() })
        };
        let mut all = BTreeMap::from([
            socket(1, "127.0.0.1:4096", "127.0.0.1:50000"),
            socket(2, "127.0.0.1:50000", "127.0.0.1:4096"),
            socket(3, "127.0.0.1:4096", ""),
            socket(4, "10.0.0.2:50001", "93.184.216.34:443"),
        ]);
        match_tcp_peers(&mut all);
        let peers: Vec<Option<u64>> = all.values().map(|socket| socket.peer).collect();
        assert_eq!(peers, [Some(2), Some(1), None, None]);
    }

    #[test]
    fn only_a_connection_over_tcp_has_a_peer_by_its_addresses() {
        let socket = |inode, family, local: &str, remote: &str| {
            let (local, remote) = (local.to_owned(), remote.to_owned());
            (inode, Socket { inode, family, local, remote, ..Socket::default() })
        };
        let (a, b) = ("127.0.0.1:1", "127.0.0.1:2");
        let peers = |all: &[(u64, Socket)]| {
            let mut all: BTreeMap<u64, Socket> = all.iter().cloned().collect();
            match_tcp_peers(&mut all);
            all.values().map(|socket| socket.peer).collect::<Vec<_>>()
        };
        let (one, two) = (socket(1, Family::Tcp, a, b), socket(2, Family::Tcp, b, a));
        assert_eq!(peers(&[one.clone(), two.clone()]), [Some(2), Some(1)]);
        assert_eq!(peers(&[one.clone(), socket(2, Family::Udp, b, a)]), [None, None]);
        assert_eq!(peers(&[socket(1, Family::Udp, a, b), socket(2, Family::Udp, b, a)]), [None, None]);
        // one that is closing has no inode any more, and one without an address is nobody's peer
        assert_eq!(peers(&[one, socket(0, Family::Tcp, b, a)]), [Some(1), None]);
        assert_eq!(peers(&[socket(1, Family::Tcp, "", ""), socket(2, Family::Tcp, "", "")]), [None, None]);
        let unix = Socket { peer: Some(9), ..socket(3, Family::Unix, "", "").1 };
        assert_eq!(peers(&[(3, unix), two]), [None, Some(9)]);
    }

    fn holder(pid: i32, net: u64, inodes: &[u64]) -> Process {
        let fd = |inode: &u64| Descriptor { fd: 9, mode: Mode::Both, what: Object::Socket { inode: *inode } };
        let mut process = Process { pid, fds: inodes.iter().map(fd).collect(), ..Process::default() };
        process.fds.push(Descriptor { fd: 1, mode: Mode::Both, what: Object::Null });
        process.namespaces.net = net;
        process
    }

    #[test]
    fn the_sockets_of_processes_and_their_peers() {
        use std::os::unix::fs::MetadataExt;
        let inode = |fd: std::os::fd::OwnedFd| File::from(fd).metadata().unwrap().ino();
        let (one, two) = std::os::unix::net::UnixStream::pair().unwrap();
        let (other, _end) = std::os::unix::net::UnixStream::pair().unwrap();
        let [one, two, _] = [one.try_clone().unwrap().into(), two.try_clone().unwrap().into(), other.into()].map(inode);
        let own = crate::read::process::net_namespace(std::process::id() as i32);
        let of = |processes: &[Process], own: u64| {
            let mut lacks = Vec::new();
            let found = Tables::new(own).sockets(processes.iter(), &mut lacks);
            (found.into_keys().collect::<Vec<_>>(), lacks.len())
        };
        let both = {
            let mut both = vec![one, two];
            both.sort_unstable();
            both
        };
        // none of these processes exists: a namespace that is not ours cannot be entered
        let (first, second) = (i32::MAX, i32::MAX - 1);
        assert_eq!(of(&[holder(first, own, &[one])], own), (both.clone(), 0));
        assert_eq!(of(&[holder(first, own, &[])], own), (vec![], 0));
        assert_eq!(of(&[], own), (vec![], 0));
        assert_eq!(of(&[holder(first, own + 1, &[])], own), (vec![], 0), "it has no socket");
        assert_eq!(of(&[holder(first, own + 1, &[one])], own), (both, 1));
        assert_eq!(
            of(&[holder(first, own + 1, &[one]), holder(second, own + 1, &[two])], own).1,
            1,
            "one of a namespace is enough"
        );
        assert_eq!(of(&[holder(first, own + 1, &[one]), holder(second, own + 2, &[two])], own).1, 2);
        // our own namespace may not be known
        assert_eq!(of(&[holder(first, own, &[one])], 0), (vec![], 1));
        let mut lacks = Vec::new();
        Tables::new(own).sockets([holder(first, own + 1, &[one])].iter(), &mut lacks);
        assert!(
            lacks[0].what.contains(&format!("connections of {first}"))
                && lacks[0].remedy.ends_with(&format!("why {first}"))
        );
    }

    /// Without the right to enter it, what /proc tells of the namespace is read instead, and that is a lack.
    #[test]
    fn a_namespace_of_another_process_is_entered_or_read_from_proc() {
        use std::os::unix::fs::MetadataExt;
        let (one, _two) = std::os::unix::net::UnixStream::pair().unwrap();
        let inode = File::from(std::os::fd::OwnedFd::from(one.try_clone().unwrap())).metadata().unwrap().ino();
        let own = std::process::id() as i32;
        let namespace = crate::read::process::net_namespace(own);
        let mut lacks = Vec::new();
        let found = Tables::new(0).sockets([holder(own, namespace, &[inode])].iter(), &mut lacks);
        assert!(found.contains_key(&inode));
        let entered = within(own, || 7);
        assert!(matches!(entered, Some(7) | None));
        assert_eq!(lacks.is_empty(), entered.is_some());
        assert_eq!(found[&inode].peer.is_some(), entered.is_some());
        assert_eq!(within(i32::MAX, || 7), None);
    }
}
