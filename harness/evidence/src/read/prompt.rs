//! What a tool asks at its terminal: only the terminal and the tool's own memory hold the text.
//!
//! Invariant: only the memory of a known tool that reads a terminal is searched; only a text that begins as one of its
//! prompts does is kept, up to the end of the line.

use super::{file, memory};
use crate::data::{Does, Object, Pid, Process};
use crate::tools;

/// The most bytes of a heap that are searched.
const MAX_HEAP: u64 = 8 * 1024 * 1024;
/// The most bytes of a prompt.
const MAX_PROMPT: usize = 200;
/// How much is read at once, in bytes.
const PIECE: u64 = 65_536;

/// What it asks.
pub fn read(process: &Process) -> Option<String> {
    let prompts = may_ask(process)?;
    let maps = file::text(&format!("/proc/{}/maps", process.pid)).ok()?;
    let (from, to) = heap(&maps)?;
    let heap = pieces(process.pid, from, to)?;
    prompts.iter().find_map(|begin| found(&heap, begin.as_bytes()))
}

/// How the prompts of a known tool begin, if it reads a terminal.
fn may_ask(process: &Process) -> Option<&'static [&'static str]> {
    let tool = tools::of(process)?;
    let is_tty = |fd: &i32| matches!(process.fd(*fd).map(|fd| &fd.what), Some(Object::Tty { .. }));
    let mut calls = process.threads.iter().filter_map(|thread| thread.call.as_ref());
    let asks = calls.any(|call| match &call.does {
        Does::Read { fd } => is_tty(fd),
        Does::Poll { on } => on.iter().any(|watch| watch.input && is_tty(&watch.fd)),
        _ => false,
    });
    (asks && !tool.prompts.is_empty()).then_some(tool.prompts)
}

/// Where a heap begins and ends, or where its first [`MAX_HEAP`] bytes do, by the list of what a process has mapped.
fn heap(maps: &str) -> Option<(u64, u64)> {
    let range = maps.lines().find(|line| line.ends_with("[heap]"))?.split(' ').next()?;
    let (from, to) = range.split_once('-')?;
    let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
    Some((from, to.min(from.saturating_add(MAX_HEAP))))
}

fn pieces(pid: Pid, from: u64, to: u64) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    let mut at = from;
    while at < to {
        let piece = memory::bytes(pid, at, (to - at).min(PIECE) as usize)?;
        if piece.is_empty() {
            break;
        }
        at += piece.len() as u64;
        all.extend(piece);
    }
    Some(all)
}

/// The first text that begins like this and goes on as a line does; the format string that it was made from does not
/// count.
fn found(heap: &[u8], begin: &[u8]) -> Option<String> {
    let mut at = 0;
    while let Some(offset) = heap[at..].windows(begin.len()).position(|window| window == begin) {
        let text = &heap[at + offset..];
        let end = text.iter().take(MAX_PROMPT).position(|byte| matches!(byte, 0 | b'\n' | b'\r'));
        let line = end.and_then(|end| std::str::from_utf8(&text[..end]).ok()).map(str::trim_end);
        if let Some(line) = line.filter(|line| !line.contains("%s")) {
            return Some(rehang_words::text::visible(line));
        }
        at += offset + begin.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Call, Descriptor, Mode, Thread, Watch};

    #[test]
    fn a_prompt_is_a_whole_line_and_no_format() {
        let ask = |heap: &[u8]| found(heap, b"Password for ");
        assert_eq!(ask(b"\0Password for '%s': \0xx\0Password for 'me': \0").as_deref(), Some("Password for 'me':"));
        assert_eq!(ask(b"Password for a\nPassword for b\n").as_deref(), Some("Password for a"));
        assert_eq!(ask(b"Password for \xff\0"), None);
        assert_eq!(ask(b"Password for a line without an end"), None);
        assert_eq!(ask(b"Username: \0"), None);
    }

    #[test]
    fn a_prompt_is_shown_without_what_a_terminal_would_obey() {
        let ask = |heap: &str| found(heap.as_bytes(), b"Ask ");
        assert_eq!(ask("xAsk a\u{1b}[2J  \rb").as_deref(), Some("Ask a\u{fffd}[2J"));
        assert_eq!(ask("Ask %s\nAsk %s\nAsk b\n").as_deref(), Some("Ask b"));
        let long = |length: usize| ask(&format!("Ask {}\nrest", "x".repeat(length - 4))).map(|line| line.len());
        assert_eq!([199, 200].map(long), [Some(199), None]);
    }

    #[test]
    fn only_a_tool_that_reads_its_terminal_may_ask() {
        let process = |comm: &str, does: Does| {
            let fd = |fd, what| Descriptor { fd, mode: Mode::Both, what };
            let fds = vec![fd(0, Object::Tty { path: "/dev/pts/1".into(), index: Some(1) }), fd(1, Object::Null)];
            let call = Some(Call { does, ..Call::default() });
            let threads = vec![Thread::default(), Thread { call, ..Thread::default() }];
            Process { comm: comm.into(), fds, threads, ..Process::default() }
        };
        let may = |comm: &str, does: Does| may_ask(&process(comm, does)).is_some();
        let watch = |fd, input| Watch { fd, input, output: !input };
        let poll = |on: &[Watch]| may("git", Does::Poll { on: on.to_vec() });
        assert_eq!([0, 1, 2].map(|fd| may("git", Does::Read { fd })), [true, false, false]);
        assert_eq!([poll(&[watch(0, true)]), poll(&[watch(1, true), watch(0, true)])], [true; 2]);
        assert_eq!(
            [poll(&[]), poll(&[watch(0, false)]), poll(&[watch(1, true)]), poll(&[watch(1, true), watch(0, false)])],
            [false; 4]
        );
        assert!(!may("git", Does::Write { fd: 0 }) && !may("cat", Does::Read { fd: 0 }));
        // nothing is known of how gpg asks
        assert!(!may("gpg", Does::Read { fd: 0 }) && may("ssh", Does::Read { fd: 0 }));
        let begins = may_ask(&process("sudo", Does::Read { fd: 0 }));
        assert_eq!(begins, Some(["[sudo] password for "].as_slice()));
    }

    #[test]
    fn a_heap_is_found_by_its_name_and_cut() {
        let maps = "00400000-00452000 r-xp 00000000 08:02 173521 /usr/bin/x\n\
                    00e03000-00e24000 rw-p 00000000 00:00 0 [heap]\n\
                    7ffc0000-7ffd0000 rw-p 00000000 00:00 0 [stack]\n";
        assert_eq!(heap(maps), Some((0xe0_3000, 0xe2_4000)));
        let of = |range: &str| heap(&format!("{range} rw-p 0 00:00 0 [heap]"));
        assert_eq!(of("1000-801000"), Some((0x1000, 0x80_1000)));
        assert_eq!(of("1000-801001"), Some((0x1000, 0x80_1000)));
        assert_eq!([of("x-1"), of("1-x"), of("1000"), heap(""), heap("1-2 rw-p [stack]")], [None; 5]);
    }

    #[test]
    fn memory_comes_in_pieces() {
        let bytes: Vec<u8> = (0..150_000_u32).map(|at| (at % 251) as u8).collect();
        let (own, at) = (std::process::id() as Pid, bytes.as_ptr() as u64);
        let of = |length: usize| pieces(own, at, at + length as u64) == Some(bytes[..length].to_vec());
        assert_eq!([0, 1, 65_536, 65_537, 131_072, 150_000].map(of), [true; 6]);
        assert_eq!((pieces(own, 8, 16), pieces(own, at + 1, at)), (None, Some(vec![])));
    }

    /// A shell has its prompt in its memory, and its heap is searched if it has the name of a tool.
    #[test]
    fn a_prompt_is_read_from_the_memory_of_a_tool_alone() {
        use crate::read::staged::{Staged, until};
        let ask = "Do you want to continue? [Y/n] really";
        let script = format!("a='{ask}'; b=\"$a\"; read answer; echo \"$a$b\"");
        let shell =
            Staged::start(std::process::Command::new("sh").args(["-c", &script]).stdin(std::process::Stdio::piped()));
        shell.is_in(libc::SYS_read);
        let of = |comm: &str, fd| {
            let call = Some(Call { does: Does::Read { fd }, ..Call::default() });
            let threads = vec![Thread { call, ..Thread::default() }];
            let fds = vec![Descriptor {
                fd: 0,
                mode: Mode::Both,
                what: Object::Tty { path: "/dev/tty".into(), index: None },
            }];
            read(&Process { pid: shell.pid(), comm: comm.into(), fds, threads, ..Process::default() })
        };
        // the loader reads a library's head by the same call
        until(|| of("apt", 0).filter(|text| text == ask));
        assert_eq!((of("apt", 1), of("sh", 0), of("sudo", 0)), (None, None, None));
    }
}
