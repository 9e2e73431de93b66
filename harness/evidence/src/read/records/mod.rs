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

/// What the agents of a tree say.
pub fn read(tree: &BTreeMap<Pid, Process>, sockets: &BTreeMap<u64, Socket>) -> Vec<Agent> {
    let agents = tree.values().filter_map(|process| Some((process, kind::of(process)?))).take(MAX_AGENTS);
    let read = |(process, kind): (&Process, &'static kind::Kind)| {
        let mut agent = Agent { pid: process.pid, name: kind.name.to_owned(), ..Agent::default() };
        match kind.name {
            "opencode" | "altimate" | "pawwork" => opencode::read(process, sockets, &mut agent),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_begins_with_a_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "one\ntwo\nthree\n").unwrap();
        let told = |most| tail(&path, most).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(told(14).as_deref(), Some("one\ntwo\nthree\n"), "the whole file");
        assert_eq!(told(15).as_deref(), Some("one\ntwo\nthree\n"));
        assert_eq!(told(13).as_deref(), Some("two\nthree\n"));
        assert_eq!(told(10).as_deref(), Some("three\n"), "it cannot know that this is a line's beginning");
        assert_eq!(told(3).as_deref(), Some(""));
        fs::write(&path, "no line").unwrap();
        assert_eq!(told(4).as_deref(), Some("line"));
        assert_eq!(tail(folder.path(), 9), None, "no regular file");
        assert_eq!(tail(&folder.path().join("none"), 9), None);
    }

    #[test]
    fn texts_are_cut_and_shown_on_one_line() {
        assert_eq!(cut("a\nb\u{1b}c"), "a b c");
        assert_eq!((cut(&"é".repeat(200)).chars().count(), cut(&"é".repeat(201)).chars().count()), (200, 200));
        let process = Process { pid: 7, ..Process::default() };
        assert_eq!(seen(&process, "/a/b"), Path::new("/proc/7/root/a/b"));
    }

    #[test]
    fn a_folder_is_an_absolute_path_of_the_environment() {
        let own = Process { pid: std::process::id() as Pid, ..Process::default() };
        assert_eq!(folder(&own, "PATH"), std::env::var("PATH").ok().filter(|path| path.starts_with('/')));
        assert_eq!((folder(&own, "ATH"), folder(&own, "REHANG_NO_SUCH_NAME")), (None, None));
        // which cargo sets for its tests, and which is no path
        assert_eq!(folder(&own, "CARGO_PKG_NAME"), None);
    }

    #[test]
    fn each_agent_of_a_tree_has_a_record() {
        let process = |pid, comm: &str| (pid, Process { pid, comm: comm.to_owned(), ..Process::default() });
        let tree =
            BTreeMap::from([process(-7, "claude"), process(-6, "cat"), process(-5, "codex"), process(-4, "opencode")]);
        let told = read(&tree, &BTreeMap::new());
        let told: Vec<_> = told.iter().map(|agent| (agent.pid, agent.name.as_str(), agent.form.as_str())).collect();
        assert_eq!(told, [(-7, "claude", ""), (-5, "codex", ""), (-4, "opencode", "tui")]);
        let many = (0..20).map(|n| process(-100 - n, "codex")).collect();
        assert_eq!(read(&many, &BTreeMap::new()).len(), 16);
    }
}
