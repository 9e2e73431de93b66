//! Reads `/proc`.
//!
//! Invariant: a name that comes from a program has no control character and at most [`LONGEST`] characters.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The most characters of a foreign name.
const LONGEST: usize = 200;

/// A foreign text made safe for a terminal.
pub fn clean(text: &str) -> String {
    let shown = |c: char| if c.is_control() { '?' } else { c };
    text.chars().take(LONGEST).map(shown).collect()
}

/// A thread's name.
pub fn name(pid: i32, tid: i32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/task/{tid}/comm")).unwrap_or_default();
    clean(String::from_utf8_lossy(&bytes).trim_end_matches('\n'))
}

/// A line of `/proc/TID/status`.
pub fn status(tid: i32, key: &str) -> Option<String> {
    let text = std::fs::read(format!("/proc/{tid}/status")).ok()?;
    let text = String::from_utf8_lossy(&text);
    text.lines().find_map(|line| line.strip_prefix(key)).map(|value| value.trim().to_owned())
}

/// The process of a thread.
pub fn process_of(tid: i32) -> Option<i32> {
    status(tid, "Tgid:")?.parse().ok()
}

/// The parent of a process.
pub fn parent_of(pid: i32) -> Option<i32> {
    status(pid, "PPid:")?.parse().ok()
}

/// The state of a thread: `R`, `S`, `D`, `Z` and so on; `X` if it is gone.
pub fn state(pid: i32, tid: i32) -> char {
    let text = std::fs::read(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    // the name before it may contain anything but ends with the last parenthesis
    let after = text.iter().rposition(|byte| *byte == b')').and_then(|at| text.get(at + 2));
    after.map_or('X', |byte| char::from(*byte))
}

/// The kernel function that a thread sleeps in: empty if it is gone, `0` if it runs or is about to.
pub fn wait_channel<'a>(file: &File, buffer: &'a mut [u8; 128]) -> &'a str {
    let length = file.read_at(buffer, 0).unwrap_or(0);
    std::str::from_utf8(&buffer[..length]).unwrap_or("").trim_end()
}

/// The system call that a sleeping thread is in: its number and arguments.
pub fn call(pid: i32, tid: i32) -> Option<(i64, [u64; 6])> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok()?;
    }
    Some((number, arguments))
}

/// All processes that can be seen.
pub fn processes() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The network namespace of a process: `net:[4711]`.
pub fn network(pid: i32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/ns/net")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Whether the network of a process has no link but loopback.
pub fn has_loopback_alone(pid: i32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap_or_default();
    let mut links = text.lines().skip(2).filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    links.next() == Some("lo") && links.next().is_none()
}

/// What a descriptor refers to.
pub fn link(pid: i32, fd: i32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// All descriptors of a process and what they refer to.
pub fn links(pid: i32) -> impl Iterator<Item = (i32, String)> {
    let folder = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    folder.filter_map(|entry| {
        let fd = entry.file_name().to_str()?.parse().ok()?;
        Some((fd, std::fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned()))
    })
}

/// What the kernel says of a descriptor.
pub fn descriptor_info(pid: i32, fd: i32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()
}

/// How a descriptor was opened: O_RDONLY, O_WRONLY, or O_RDWR also if it is not known.
pub fn access_mode(pid: i32, fd: i32) -> i32 {
    let info = descriptor_info(pid, fd).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok()).unwrap_or(libc::O_RDWR) & libc::O_ACCMODE
}

/// The inode of `pipe:[4711]` or `socket:[4711]`.
pub fn inode(link: &str, kind: &str) -> Option<u64> {
    link.strip_prefix(kind)?.strip_prefix(":[")?.strip_suffix(']')?.parse().ok()
}

/// An entry of a process's auxiliary vector.
pub fn auxiliary(pid: i32, key: u64) -> Option<u64> {
    let bytes = std::fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    bytes.chunks_exact(16).find(|entry| word(&entry[..8]) == key).map(|entry| word(&entry[8..]))
}

/// The most packets that wait for a processor, and how many were taken so far: `/proc/net/softnet_stat`.
pub fn network_backlog() -> (u64, u64) {
    let text = std::fs::read_to_string("/proc/net/softnet_stat").unwrap_or_default();
    let number = |line: &str, column| {
        let word = line.split_ascii_whitespace().nth(column);
        word.and_then(|word| u64::from_str_radix(word, 16).ok()).unwrap_or(0)
    };
    text.lines().fold((0, 0), |(waiting, taken), line| (waiting + number(line, 11), taken + number(line, 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_name_cannot_control_a_terminal() {
        assert_eq!(clean("a\x1b[2Jb\n"), "a?[2Jb?");
        assert_eq!(clean(&"x".repeat(1_000)).len(), LONGEST);
    }

    #[test]
    fn inodes_are_read_from_links_of_their_kind() {
        assert_eq!(inode("pipe:[4711]", "pipe"), Some(4711));
        assert_eq!(inode("socket:[4711]", "pipe"), None);
        assert_eq!(inode("/tmp/pipe:[1]", "pipe"), None);
    }
}
