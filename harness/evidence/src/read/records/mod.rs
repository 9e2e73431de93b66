//! What a known agent says of itself: its server, its log, its transcript.
//!
//! Only files are read that the process has open or that its own environment points to, and only GET requests are made, to
//! sockets on loopback on which the process itself listens.
//!
//! Invariant: bounded in bytes and time; of an environment only the folders named here are kept.

mod claude;
mod http;
mod opencode;

use crate::data::{Agent, Pid, Process, Socket};
use crate::kind;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The most agents of one tree that are asked.
const MAX_AGENTS: usize = 16;
/// The most characters of a question that are kept.
pub const MAX_TEXT: usize = 200;

/// What the agents of a tree say; their servers are asked only if `ask` is set.
pub fn read(tree: &BTreeMap<Pid, Process>, sockets: &BTreeMap<u64, Socket>, ask: bool) -> Vec<Agent> {
    let agents = tree.values().filter_map(|process| Some((process, kind::of(process)?))).take(MAX_AGENTS);
    let read = |(process, kind): (&Process, &'static kind::Kind)| {
        let mut agent = Agent { pid: process.pid, name: kind.name.to_owned(), ..Agent::default() };
        match kind.name {
            "opencode" | "altimate" | "pawwork" => opencode::read(process, sockets, ask, &mut agent),
            "claude" => claude::read(process, &mut agent),
            _ => {}
        }
        agent
    };
    agents.map(read).collect()
}

/// A path as the process sees it, from here.
fn seen(process: &Process, path: &str) -> PathBuf {
    Path::new(&format!("/proc/{}/root", process.pid)).join(path.trim_start_matches('/'))
}

/// The last `most` bytes of a regular file, from the beginning of a line if the file is longer.
fn tail(path: &Path, most: u64) -> Option<Vec<u8>> {
    // a look that waited for a FIFO would hang itself
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(most))).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    if size > most {
        let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.drain(..line);
    }
    Some(bytes)
}

/// A folder from the environment that the process was started with.
fn folder(process: &Process, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{}/environ", process.pid)).ok()?;
    let prefix = format!("{name}=");
    let entry = bytes.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
    Some(String::from_utf8_lossy(entry).into_owned()).filter(|folder| folder.starts_with('/'))
}

/// At most [`MAX_TEXT`] characters, without control characters.
fn cut(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_TEXT).collect()
}
