//! A file system's server that does not answer: a network file system, or a process over FUSE.
//!
//! Invariant: only a call that did not go on between the two looks is a wait for an answer. A server may be slow, so that
//! is never a hang by itself.

use crate::data::Process;
use crate::diagnosis::finding::{Finding, rank};
use crate::diagnosis::view::View;
use rehang_hangs::Signature;
use rehang_words::text::{counted, duration};

/// What a process is that waits for a server of files.
pub fn rule(view: &View<'_>, process: &Process) -> Option<Finding> {
    let before = view.before.process(process.pid)?;
    let silent = process.threads.iter().find_map(|thread| {
        let server = thread.server.as_ref()?;
        let same = before.threads.iter().any(|other| {
            other.tid == thread.tid
                && other.call == thread.call
                && other.server.as_ref().map(|one| &one.mount) == Some(&server.mount)
        });
        (same && view.switches(process.pid, thread.tid) == 0).then_some((thread, server))
    });
    let (thread, server) = silent?;
    let name = view.name(process.pid);
    let text = format!(
        "{name} waits for the server of the files in {} ({} from {}), which has not answered for {}",
        server.mount,
        server.kind,
        server.source,
        duration(view.window_ns / 1_000_000)
    );
    let requests = match server.unanswered {
        Some(count) => format!("; {} to it have no answer", counted(count, "request")),
        None => String::new(),
    };
    let because =
        format!("a call of its thread {} about a file there did not go on between two looks{requests}", thread.tid);
    let finding = Finding::waiting(process.pid, Signature::FileServer, rank::LIKELY, text);
    let finding = finding.ends("the server's answer, or the end of the mount (umount -f or umount -l, as root)");
    Some(finding.because(because))
}

#[cfg(test)]
mod tests {
    use super::rule;
    use crate::data::{Call, Process, Server, Snapshot, State, Thread};
    use crate::diagnosis::Limits;
    use crate::diagnosis::view::View;

    fn process(number: i64, switches: u64, mount: Option<&str>) -> Process {
        let server = mount.map(|mount| Server {
            mount: mount.to_owned(),
            kind: "nfs4".to_owned(),
            source: "host:/x".to_owned(),
            unanswered: None,
        });
        let call = Some(Call { number, ..Call::default() });
        let thread =
            Thread { tid: 8, state: State::Disk, call, server, switches, call_read: true, ..Thread::default() };
        let threads = vec![Thread { tid: 7, ..Thread::default() }, thread];
        Process { pid: 7, comm: "cat".to_owned(), threads, ..Process::default() }
    }

    fn found(before: Process, after: Process) -> Option<String> {
        let of = |at_ns, process: Process| Snapshot {
            at_ns,
            roots: vec![7],
            tree: [(7, process)].into(),
            ..Snapshot::default()
        };
        let (before, after) = (of(0, before), of(1_000_000_000, after));
        let view = View::new(&before, &after, Limits::default());
        rule(&view, &after.tree[&7]).map(|finding| finding.sentence)
    }

    #[test]
    fn a_call_that_does_not_go_on_waits_for_its_server() {
        let on = Some("/mnt");
        let sentence = found(process(5, 3, on), process(5, 3, on)).unwrap();
        assert!(
            sentence.ends_with("of the files in /mnt (nfs4 from host:/x), which has not answered for 1s"),
            "{sentence}"
        );
        assert_eq!(found(process(5, 3, on), process(5, 4, on)), None, "it was answered");
        assert_eq!(found(process(6, 3, on), process(5, 3, on)), None, "another call");
        assert_eq!(found(process(5, 3, None), process(5, 3, on)), None, "it has just begun");
        assert_eq!(found(process(5, 3, Some("/other")), process(5, 3, on)), None);
        assert_eq!(found(process(5, 3, on), process(5, 3, None)), None);
    }
}
