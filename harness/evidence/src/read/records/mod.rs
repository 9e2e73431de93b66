//! What a known agent says of itself: its server, its log, its transcript.
//!
//! Only files are read that the process has open or that its own environment points to, and only GET requests are made, to
//! sockets on loopback on which the process itself listens.
//!
//! Invariant: bounded in bytes and time; of an environment only the folders named here are kept. What plays in a cell in
//! lockstep is not asked: there every byte has a writer of the cell.

mod claude;
mod http;
mod opencode;

pub use claude::Story;

use super::{Reach, mounts};
use crate::data::{Agent, Process, Socket};
use crate::kind;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// The most agents of one tree that are asked.
const MAX_AGENTS: usize = 16;
/// The most characters of a question that are kept.
pub const MAX_TEXT: usize = 200;
/// The variable that a process has from its start if it plays in a cell in lockstep.
pub const CONTROL_ENV: &str = "REHANG_CONTROL";

/// What the agents among these processes say; their servers are asked only if `ask` is set.
pub fn read<'a>(
    processes: impl Iterator<Item = &'a Process>,
    sockets: &BTreeMap<u64, Socket>,
    ask: bool,
    reach: &Reach,
) -> Vec<Agent> {
    let agents = processes.filter_map(|process| Some((process, kind::of(process)?))).take(MAX_AGENTS);
    let read = |(process, kind): (&Process, &'static kind::Kind)| {
        let mut agent = Agent { pid: process.pid, name: kind.name.to_owned(), ..Agent::default() };
        match kind.name {
            "opencode" | "altimate" | "pawwork" => {
                let ask = ask && variable(process, CONTROL_ENV).is_none();
                opencode::read(process, sockets, ask, reach, &mut agent);
            }
            "claude" => claude::read(process, reach, &mut agent),
            _ => {}
        }
        agent
    };
    agents.map(read).collect()
}

/// The last `most` bytes of a regular file, from the beginning of a line if the file is longer.
pub fn tail(process: &Process, path: &str, most: u64, reach: &Reach) -> Option<Vec<u8>> {
    let file = reach.mounts.walk(process.pid, path).ok()?;
    let status = mounts::remembered_at(&file)?;
    // a look that waited for a FIFO would hang itself
    if mounts::kind(&status) != FileType::RegularFile {
        return None;
    }
    let mut file = File::open(own(&file)).ok()?;
    let size = status.stx_size;
    file.seek(SeekFrom::Start(size.saturating_sub(most))).ok()?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    if size > most {
        let line = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.drain(..line);
    }
    Some(bytes)
}

/// A path to a file that this process has open.
fn own(file: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// A folder from the environment that the process was started with.
fn folder(process: &Process, name: &str) -> Option<String> {
    variable(process, name).filter(|folder| folder.starts_with('/'))
}

/// A variable of the environment that the process was started with.
fn variable(process: &Process, name: &str) -> Option<String> {
    let bytes = fs::read(format!("/proc/{}/environ", process.pid)).ok()?;
    let prefix = format!("{name}=");
    let entry = bytes.split(|byte| *byte == 0).find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
    Some(String::from_utf8_lossy(entry).into_owned())
}

/// At most [`MAX_TEXT`] characters, without control characters.
fn cut(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_TEXT).collect();
    rehang_words::text::visible(&plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Descriptor, Mode, Object, Pid, SocketState};
    use crate::read::process::net_namespace;
    use crate::read::staged::{Served, Staged};
    use std::process::{Command, Stdio};

    #[test]
    fn each_agent_of_a_tree_is_one() {
        let process = |pid: Pid, name: &str| {
            let args = vec![name.to_owned(), "serve".to_owned()];
            Process { pid, comm: name.to_owned(), args, ..Process::default() }
        };
        let names = ["opencode", "altimate", "pawwork", "claude", "codex", "bash"];
        // none of these processes exists
        let first = Pid::MAX - 10;
        let tree: Vec<Process> = names.iter().zip(first..).map(|(name, pid)| process(pid, name)).collect();
        let found = read(tree.iter(), &BTreeMap::new(), true, &Reach::default());
        let told: Vec<_> =
            found.iter().map(|agent| (agent.pid - first, agent.name.as_str(), agent.form.as_str())).collect();
        let wanted = [
            (0, "opencode", "serve"),
            (1, "altimate", "serve"),
            (2, "pawwork", "serve"),
            (3, "claude", ""),
            (4, "codex", ""),
        ];
        assert_eq!(told, wanted);
        let many: Vec<Process> = (first - 20..first).map(|pid| process(pid, "codex")).collect();
        assert_eq!(read(many.iter(), &BTreeMap::new(), true, &Reach::default()).len(), 16);
    }

    #[test]
    fn a_server_that_plays_in_a_cell_is_not_asked() {
        let asked = |variable: &str| {
            let served = Served::new(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_vec());
            let cat = Staged::start(Command::new("cat").env(variable, "3").stdin(Stdio::piped()));
            cat.is_in(libc::SYS_read);
            let mut process = Process { pid: cat.pid(), ..Process::default() };
            process.args = ["opencode", "serve"].map(str::to_owned).to_vec();
            process.namespaces.net = net_namespace(std::process::id() as Pid);
            process.fds = vec![Descriptor { fd: 9, mode: Mode::Both, what: Object::Socket { inode: 7 } }];
            let (state, local) = (SocketState::Listening, served.at.to_string());
            let sockets = BTreeMap::from([(7, Socket { inode: 7, state, local, ..Socket::default() })]);
            read(std::iter::once(&process), &sockets, true, &Reach::default());
            served.asked().len()
        };
        assert_eq!((asked("ANOTHER") > 0, asked(CONTROL_ENV)), (true, 0));
    }

    #[test]
    fn the_end_of_a_file_begins_with_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\ntwo\nthree\n").unwrap();
        let own = Process { pid: std::process::id() as Pid, ..Process::default() };
        let at = |path: &std::path::Path, most| tail(&own, path.to_str().unwrap(), most, &Reach::default());
        let end = |most| at(&path, most).map(|bytes| String::from_utf8(bytes).unwrap());
        let ends = [100, 14, 13, 11, 10, 7, 6, 0].map(end);
        let wanted =
            ["one\ntwo\nthree\n", "one\ntwo\nthree\n", "two\nthree\n", "two\nthree\n", "three\n", "three\n", "", ""];
        assert_eq!(ends, wanted.map(|text| Some(text.to_owned())));
        std::fs::write(&path, "a line without an end").unwrap();
        assert_eq!(end(3).as_deref(), Some("end"));
        // a FIFO would be waited for, and a folder has no text
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
        let none = [fifo.as_path(), folder.path(), std::path::Path::new("/no/such/file")].map(|path| at(path, 5));
        assert_eq!(none, [const { None }; 3]);
    }

    #[test]
    fn a_folder_is_as_the_process_has_it() {
        let mut cat = Command::new("cat");
        cat.env_clear().env("PATH", "/usr/bin:/bin").env("A", "/a/b").env("AB", "x").env("B", "relative");
        let cat = Staged::start(cat.stdin(Stdio::piped()));
        cat.is_in(libc::SYS_read); // the kernel sets a new program's environment up last
        let process = Process { pid: cat.pid(), ..Process::default() };
        let found = ["A", "AB", "B", "C", "PATH"].map(|name| folder(&process, name));
        assert_eq!(found, [Some("/a/b".to_owned()), None, None, None, Some("/usr/bin:/bin".to_owned())]);
        assert_eq!(folder(&Process { pid: Pid::MAX, ..Process::default() }, "A"), None);
    }

    #[test]
    fn a_text_is_cut_and_has_no_control_characters() {
        assert_eq!(cut("a\nb\u{1b}[1mü"), "a b [1mü");
        assert_eq!(cut(&"ü".repeat(201)), "ü".repeat(200));
    }
}
