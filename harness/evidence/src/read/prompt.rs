//! What a tool asks at its terminal: only the terminal and the tool's own memory hold the text.
//!
//! Invariant: only the memory of a known tool that reads a terminal is searched; only a text that begins as one of its
//! prompts does is kept, up to the end of the line.

use super::{file, memory};
use crate::data::{Does, Object, Process};
use crate::tools;

/// The most bytes of a heap that are searched.
const MAX_HEAP: u64 = 8 * 1024 * 1024;
/// The most bytes of a prompt.
const MAX_PROMPT: usize = 200;
/// How much is read at once, in bytes.
const PIECE: u64 = 65_536;

/// What it asks.
pub fn read(process: &Process) -> Option<String> {
    let tool = tools::of(process)?;
    let is_tty = |fd: &i32| matches!(process.fd(*fd).map(|fd| &fd.what), Some(Object::Tty { .. }));
    let mut calls = process.threads.iter().filter_map(|thread| thread.call.as_ref());
    let asks = calls.any(|call| match &call.does {
        Does::Read { fd } => is_tty(fd),
        Does::Poll { on } => on.iter().any(|watch| watch.input && is_tty(&watch.fd)),
        _ => false,
    });
    if !asks || tool.prompts.is_empty() {
        return None;
    }
    let heap = heap(process)?;
    tool.prompts.iter().find_map(|begin| found(&heap, begin.as_bytes()))
}

fn heap(process: &Process) -> Option<Vec<u8>> {
    let maps = file::text(&format!("/proc/{}/maps", process.pid)).ok()?;
    let range = maps.lines().find(|line| line.ends_with("[heap]"))?.split(' ').next()?;
    let (from, to) = range.split_once('-')?;
    let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
    let to = to.min(from.saturating_add(MAX_HEAP));
    let mut all = Vec::new();
    let mut at = from;
    while at < to {
        let piece = memory::bytes(process.pid, at, (to - at).min(PIECE) as usize)?;
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
            return Some(super::process::visible(line));
        }
        at += offset + begin.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::found;

    #[test]
    fn a_prompt_is_a_whole_line_and_no_format() {
        let ask = |heap: &[u8]| found(heap, b"Password for ");
        assert_eq!(ask(b"\0Password for '%s': \0xx\0Password for 'me': \0").as_deref(), Some("Password for 'me':"));
        assert_eq!(ask(b"Password for a\nPassword for b\n").as_deref(), Some("Password for a"));
        assert_eq!(ask(b"Password for \xff\0"), None);
        assert_eq!(ask(b"Password for a line without an end"), None);
        assert_eq!(ask(b"Username: \0"), None);
    }
}
