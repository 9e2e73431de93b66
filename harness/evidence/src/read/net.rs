//! Sockets: their state, their peers, what is in their queues, and how long TCP has been silent.
//!
//! The kernel's socket tables are asked by netlink (sock_diag), in the network namespace that the processes are in; if
//! that namespace may not be entered, /proc/PID/net tells states and addresses, and the rest is a lack.
//!
//! Invariant: only sockets that the tree holds, and their peers, are kept.

mod diag;
mod table;

use crate::data::{Family, Lack, Object, Process, Socket};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

/// The sockets of these processes and their peers.
pub fn sockets<'a>(
    tree: impl Iterator<Item = &'a Process>,
    own_namespace: u64,
    lacks: &mut Vec<Lack>,
) -> BTreeMap<u64, Socket> {
    let mut held: BTreeSet<u64> = BTreeSet::new();
    let mut namespaces: BTreeMap<u64, i32> = BTreeMap::new();
    for process in tree {
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
    let mut all: BTreeMap<u64, Socket> = BTreeMap::new();
    // a process may hold sockets of a namespace that it has left: our own namespace is always asked too
    if !held.is_empty() && own_namespace != 0 {
        all.extend(diag::all().unwrap_or_default());
    }
    for (namespace, pid) in namespaces {
        if namespace == own_namespace {
            continue;
        }
        match within(pid, diag::all) {
            Some(Ok(sockets)) => all.extend(sockets),
            _ => {
                lacks.push(Lack {
                    what: format!("how long the connections of {pid} have been silent, and who is at their other end"),
                    remedy: format!(
                        "it is in another network namespace, which only root may enter: sudo rehang why {pid}"
                    ),
                });
                all.extend(table::all(pid));
            }
        }
    }
    match_tcp_peers(&mut all);
    let peers: BTreeSet<u64> = held.iter().filter_map(|inode| all.get(inode)?.peer).collect();
    all.retain(|inode, _| held.contains(inode) || peers.contains(inode));
    all
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
}
