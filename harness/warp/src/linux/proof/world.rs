//! Who has which descriptors, in the tree and outside of it.

use super::super::procfs;
use super::super::tracer::Tracer;
use super::net::Sockets;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Who has what.
pub struct World<'a> {
    tracer: &'a Tracer<'a>,
    /// Descriptors by what they refer to.
    holders: BTreeMap<String, Vec<(i32, i32)>>,
    links: BTreeMap<(i32, i32), String>,
    /// The descriptors of some process cannot be read.
    pub is_partial: bool,
    /// By network namespace: its sockets, and whether only the tree is in it.
    sockets: RefCell<BTreeMap<String, Rc<Sockets>>>,
    own_networks: RefCell<BTreeMap<String, bool>>,
}

impl<'a> World<'a> {
    /// The tree alone.
    pub fn of_tree(tracer: &'a Tracer<'a>) -> World<'a> {
        World::of(tracer, tracer.processes.keys().copied().collect())
    }

    /// All processes that can be seen.
    pub fn whole(tracer: &'a Tracer<'a>) -> World<'a> {
        World::of(tracer, procfs::processes().collect())
    }

    fn of(tracer: &'a Tracer<'a>, pids: BTreeSet<i32>) -> World<'a> {
        let mut world = World {
            tracer,
            holders: BTreeMap::new(),
            links: BTreeMap::new(),
            is_partial: false,
            sockets: RefCell::default(),
            own_networks: RefCell::default(),
        };
        for pid in pids {
            world.is_partial |= std::fs::read_dir(format!("/proc/{pid}/fd")).is_err();
            for (fd, link) in procfs::links(pid) {
                world.holders.entry(link.clone()).or_default().push((pid, fd));
                world.links.insert((pid, fd), link);
            }
        }
        world
    }

    /// The sockets of a process's network namespace.
    pub fn sockets(&self, pid: i32) -> Rc<Sockets> {
        let mut all = self.sockets.borrow_mut();
        let network = procfs::network(pid).unwrap_or_default();
        all.entry(network).or_insert_with(|| Rc::new(Sockets::read(pid))).clone()
    }

    /// Whether nobody outside of the tree connects to a process's ports.
    pub fn is_alone_in_network(&self, pid: i32) -> bool {
        self.tracer.settings.nobody_connects || self.has_own_network(pid)
    }

    /// Whether a process is in a network that the tree made: a namespace that has loopback alone, and in which nobody
    /// else is. Whoever cannot be looked at is not in it: to enter it takes rights over the tree's own namespaces.
    fn has_own_network(&self, pid: i32) -> bool {
        let Some(network) = procfs::network(pid) else { return false };
        let is_own = |network: &String| {
            let is_foreign = |pid: i32| !self.is_inside(pid) && procfs::network(pid).as_ref() == Some(network);
            procfs::has_loopback_alone(pid) && !procfs::processes().any(is_foreign)
        };
        *self.own_networks.borrow_mut().entry(network).or_insert_with_key(is_own)
    }

    /// Whether a process belongs to the tree.
    pub fn is_inside(&self, pid: i32) -> bool {
        self.tracer.processes.contains_key(&pid)
    }

    /// Whether the command was started with it.
    pub fn is_inherited(&self, link: &str) -> bool {
        self.tracer.inherited.contains(link)
    }

    /// What a descriptor refers to.
    pub fn link(&self, pid: i32, fd: i32) -> Option<&str> {
        self.links.get(&(pid, fd)).map(String::as_str)
    }

    /// All descriptors that refer to something.
    pub fn of_link(&self, link: &str) -> impl Iterator<Item = (i32, i32)> {
        self.holders.get(link).into_iter().flatten().copied()
    }

    /// All descriptors whose link begins so.
    pub fn with_prefix(&self, prefix: &'static str) -> impl Iterator<Item = ((i32, i32), &str)> {
        let all = self.links.iter().filter(move |(_, link)| link.starts_with(prefix));
        all.map(|(holder, link)| (*holder, link.as_str()))
    }

    /// The living children of a process.
    pub fn children(&self, pid: i32) -> Vec<i32> {
        self.tracer.processes.keys().copied().filter(|child| procfs::parent_of(*child) == Some(pid)).collect()
    }

    /// A descriptor in words.
    pub fn describe(&self, pid: i32, fd: i32) -> String {
        format!("fd {fd} {}", procfs::clean(self.link(pid, fd).unwrap_or("(closed)")))
    }
}
