//! Locks, FIFOs and databases, row by row.

use super::*;

fn lock(id: u64, pid: impl Into<Option<Pid>>, waits: bool, inode: u64) -> Lock {
    let (kind, pid) = ("FLOCK".to_owned(), pid.into());
    Lock { id, kind, write: true, pid, waits, device: (8, 1), inode, from: 0, to: None }
}

/// It waits for the lock on `/f`, inode 7.
fn waiter() -> Process {
    calls(file(process(11, 10, "git"), 3, "/f", 7), "flock", Does::Lock { fd: 3 }, TimeLimit::Never)
}

fn holder() -> Process {
    process(20, 1, "holder")
}

fn locked(by: Process) -> Look {
    let pid = by.pid;
    Look::of(vec![waiter()]).beside(by).both(|s| s.locks = vec![lock(1, pid, false, 7), lock(1, 11, true, 7)])
}

#[test]
fn a_holder_that_asks_the_one_that_waits_for_its_lock_closes_a_circle() {
    let look = |holder: Process| {
        let asked = socket(waiter(), 9, 80);
        Look::of(vec![asked]).beside(holder).socket(unix(80, 81)).socket(unix(81, 80)).both(|s| {
            s.locks = vec![lock(1, 20, false, 7), lock(1, 11, true, 7)];
        })
    };
    let asks = || reads(socket(process(20, 1, "page"), 8, 81), 8);
    expect![[r#"
        it waits for nothing else: Hung mutual-wait C6 (Likely): git (11) waits for the lock on /f, which page (20) holds; page (20) waits for git (11) itself: they wait for each other | kill 20 | /proc/locks names both, and the holder waits for an answer of the one that waits for the lock
        it has a timer: Waiting file-lock R2 (Likely, hung in 1h4m): git (11) waits for the lock on /f, which page (20) holds; page (20) has a timer of its own (at most 5s): page (20) reads descriptor 8 to its end, but git (11), which outlived the command that started it, holds it open | the end of what page (20) does | /proc/locks names both; the one that waits is below the holder or is asked by it
        it asks somebody else: Waiting file-lock R2 (Likely, hung in 1h4m): git (11) waits for the lock on /f, which page (20) holds | page (20) lets it go or ends: kill 20 | /proc/locks names both; the holder: page (20) waits, and what for cannot be seen
    "#]].assert_eq(&all_answers(vec![
        ("it waits for nothing else", look(asks())),
        ("it has a timer", look(has(asks(), 5, Mode::Both, Object::Timer { left_ms: Some(5_000) }))),
        ("it asks somebody else", look(reads(socket(process(20, 1, "page"), 8, 82), 8))),
    ]));
}

#[test]
fn the_holder_of_a_lock_is_who_the_kernel_names() {
    let all = |locks: &[Lock]| {
        let both = || locks.to_vec();
        Look::of(vec![waiter()])
            .beside(sleeps(process(20, 1, "a"), 90_000))
            .beside(sleeps(process(21, 1, "b"), 90_000))
            .both(|s| s.locks = both())
    };
    let open = |pid, inode| sleeps(file(process(pid, 1, "open"), 4, "/f", inode), 90_000);
    let without = |mut look: Look| {
        look.after.tree.get_mut(&11).unwrap().fds.clear();
        look
    };
    expect![[r#"
        by number: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which b (21) holds; b (21) has a timer of its own (at most 1m30s): b (21) sleeps (1m30s) | the end of what b (21) does
        a wait for another file: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which b (21) holds; b (21) has a timer of its own (at most 1m30s): b (21) sleeps (1m30s) | the end of what b (21) does
        a wait of another process: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which b (21) holds; b (21) has a timer of its own (at most 1m30s): b (21) sleeps (1m30s) | the end of what b (21) does
        by file, where no wait is listed: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which b (21) holds; b (21) has a timer of its own (at most 1m30s): b (21) sleeps (1m30s) | the end of what b (21) does
        a holder of the same file with another number: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which b (21) holds; b (21) has a timer of its own (at most 1m30s): b (21) sleeps (1m30s) | the end of what b (21) does
        a wait is no hold: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which b (21) holds; b (21) has a timer of its own (at most 1m30s): b (21) sleeps (1m30s) | the end of what b (21) does
        a descriptor that may not be read: Waiting lock-wait - (Likely): git (11) waits for the lock on descriptor 3, which a (20) holds; a (20) has a timer of its own (at most 1m30s): a (20) sleeps (1m30s) | the end of what a (20) does
        and no wait listed: Waiting file-lock R2 (Likely, hung in 1h4m): git (11) waits for the lock on descriptor 3, which nobody in sight holds | the holder lets it go | flock has no time limit
        itself: Hung file-lock R2 (Certain, closed in): git (11) waits for the lock on /f, which it holds itself by another descriptor | kill 11 | /proc/locks names it as holder and as waiter
        nobody: Waiting file-lock R2 (Likely, hung in 1h4m): git (11) waits for the lock on /f, which nobody in sight holds | the holder lets it go | flock has no time limit
        one that is gone, and another has it open: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which open (31) holds; open (31) has a timer of its own (at most 1m30s): open (31) sleeps (1m30s) | the end of what open (31) does
        of an open file: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which open (31) holds; open (31) has a timer of its own (at most 1m30s): open (31) sleeps (1m30s) | the end of what open (31) does
        one that is gone, and nobody has it open: Waiting file-lock R2 (Likely, hung in 1h4m): git (11) waits for the lock on /f, which nobody in sight holds | the holder lets it go | flock has no time limit
    "#]].assert_eq(&all_answers(vec![
        ("by number", all(&[lock(2, 20, false, 9), lock(1, 21, false, 9), lock(1, 11, true, 7)])),
        ("a wait for another file", all(&[lock(2, 20, false, 8), lock(2, 11, true, 8), lock(1, 21, false, 7), lock(1, 11, true, 7)])),
        ("a wait of another process", all(&[lock(2, 20, false, 7), lock(2, 21, true, 7), lock(1, 21, false, 7), lock(1, 11, true, 7)])),
        ("by file, where no wait is listed", all(&[lock(2, 20, false, 8), lock(1, 21, false, 7)])),
        ("a holder of the same file with another number", all(&[lock(2, 20, false, 7), lock(1, 21, false, 7), lock(1, 11, true, 7)])),
        ("a wait is no hold", all(&[lock(1, 20, true, 7), lock(1, 21, false, 7), lock(1, 11, true, 7)])),
        ("a descriptor that may not be read", without(all(&[lock(2, 20, false, 8), lock(2, 11, true, 8)]))),
        ("and no wait listed", without(all(&[lock(2, 20, false, 8)]))),
        ("itself", all(&[lock(1, 11, false, 7), lock(1, 11, true, 7)])),
        ("nobody", all(&[])),
        ("one that is gone, and another has it open", all(&[lock(1, 99, false, 7), lock(1, 11, true, 7)]).beside(open(30, 8)).beside(open(31, 7))),
        ("of an open file", all(&[lock(1, None, false, 7), lock(1, 11, true, 7)]).beside(open(31, 7))),
        ("one that is gone, and nobody has it open", all(&[lock(1, 99, false, 7), lock(1, 11, true, 7)])),
    ]));
}

#[test]
fn a_lock_is_explained_by_what_its_holder_does() {
    let hung = || reads(pipe(holder(), 0, Mode::Read, 70), 0);
    let child = |pid, ppid, process: Process| Process { pid, ppid, ..process };
    let busy = |pid, ppid| child(pid, ppid, awaits(process(pid, ppid, "cc")));
    let idle = || watches(has(holder(), 5, Mode::Both, Object::Null), &[5, 5], TimeLimit::LeftMs(5_000));
    let naps = || sleeps(holder(), 90_000);
    let came = |s: &mut Snapshot, process: Process| drop(s.around.insert(process.pid, process));
    let awake = |look: Look| look.later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += 1);
    let hidden = Process { fds_read: false, ..naps() };
    let circle = || awaits(Process { pid: 10, ppid: 1, ..process(10, 1, "make") });
    let disk = Process { state: State::Disk, ..holder() };
    let waits_too = calls(file(holder(), 3, "/g", 8), "flock", Does::Lock { fd: 3 }, TimeLimit::Never);
    expect![[r#"
        it works: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds while it works | the holder's work
        one below it works: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds while it works | the holder's work
        one below that works: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds while it works | the holder's work
        one beside it works: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 1m30s): holder (20) sleeps (1m30s) | the end of what holder (20) does
        one below it came: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds while it works | the holder's work
        one beside it came: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 1m30s): holder (20) sleeps (1m30s) | the end of what holder (20) does
        one below it came and ended: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 1m30s): holder (20) sleeps (1m30s) | the end of what holder (20) does
        a child decides where it idles: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 5s): sleep (21) sleeps (5ms) | the end of what holder (20) does
        the first of equal children: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 5s): one (21) sleeps (5ms) | the end of what holder (20) does
        the strongest child: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 5s): holder (22) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word | the end of what holder (20) does
        no child decides where it sleeps: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 1m30s): holder (20) sleeps (1m30s) | the end of what holder (20) does
        it is hung: Waiting file-lock R2 (Likely): git (11) waits for the lock on /f, which holder (20) holds | holder (20) lets it go or ends: kill 20 | /proc/locks names both; the holder: holder (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word
        it is hung, and the waiter woke up: Waiting file-lock R2 (Likely): git (11) waits for the lock on /f, which holder (20) holds | holder (20) lets it go or ends: kill 20 | /proc/locks names both; the holder: holder (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word
        it waits for a device: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds: holder (20) waits for a disk or a network file system | the end of what holder (20) does
        it waits for a lock itself: Waiting file-lock R2 (Likely, hung in 1h4m): git (11) waits for the lock on /f, which holder (20) holds | holder (20) lets it go or ends: kill 20 | /proc/locks names both; the holder: holder (20) waits for the lock on /g, which nobody in sight holds
        it may not be read: Unknown file-lock R2 (Guess): git (11) waits for the lock on /f, which holder (20) holds; what that does may not be read | holder (20) lets it go or ends: kill 20
        it waits for the waiter: Hung file-lock R2 (Likely): git (11) waits for the lock on /f, which make (10) holds | make (10) lets it go or ends: kill 10 | /proc/locks names both; the holder: make (10) waits for git (11), which lives
        and the waiter woke up: Hung file-lock R2 (Likely): git (11) waits for the lock on /f, which make (10) holds | make (10) lets it go or ends: kill 10 | /proc/locks names both; the holder: make (10) waits for git (11), which lives
    "#]].assert_eq(&all_answers(vec![
        ("it works", spends(locked(naps()), 20, 60)),
        ("one below it works", spends(locked(naps()).beside(busy(21, 20)), 21, 60)),
        ("one below that works", spends(locked(naps()).beside(busy(21, 20)).beside(busy(22, 21)), 22, 60)),
        ("one beside it works", spends(locked(naps()).beside(busy(21, 1)), 21, 60)),
        ("one below it came", locked(naps()).later(|s| came(s, busy(21, 20)))),
        ("one beside it came", locked(naps()).later(|s| came(s, busy(21, 1)))),
        ("one below it came and ended", locked(naps()).later(|s| came(s, zombie(21, 20)))),
        ("a child decides where it idles", locked(idle()).beside(child(21, 20, sleeps(process(21, 20, "sleep"), 5)))),
        ("the first of equal children", locked(idle()).beside(child(21, 20, sleeps(process(21, 20, "one"), 5))).beside(child(22, 20, sleeps(process(22, 20, "two"), 5)))),
        ("the strongest child", locked(idle()).beside(child(21, 20, sleeps(process(21, 20, "one"), 5))).beside(child(22, 20, hung()))),
        ("no child decides where it sleeps", locked(naps()).beside(child(21, 20, hung()))),
        ("it is hung", locked(hung())),
        ("it is hung, and the waiter woke up", awake(locked(hung()))),
        ("it waits for a device", locked(disk)),
        ("it waits for a lock itself", locked(waits_too)),
        ("it may not be read", locked(hidden)),
        ("it waits for the waiter", locked(circle())),
        ("and the waiter woke up", awake(locked(circle()))),
    ]));
}

#[test]
fn a_fifo_waits_for_the_end_that_was_not_opened() {
    let opens = |name: &str, args: [u64; 6]| {
        let does = Does::Open { path: Some("/f".to_owned()), fifo: true };
        let mut process = calls(process(11, 10, "cat"), name, does, TimeLimit::Never);
        process.threads[0].call.as_mut().unwrap().args = args;
        Look::of(vec![process])
    };
    let unnamed = calls(process(11, 10, "cat"), "open", Does::Open { path: None, fifo: true }, TimeLimit::Never);
    let inferred = Thread { tid: 11, wchan: "wait_for_partner".into(), ..Thread::default() };
    let inferred = Process { threads: vec![inferred], ..process(11, 10, "cat") };
    let woke = opens("open", [0; 6]).later(|s| s.tree.get_mut(&11).unwrap().threads[0].switches += 1);
    expect![[r#"
        open to read: Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /f, and nobody opens it to write | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        open to write: Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /f, and nobody opens it to read | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        open to write, closed on exec: Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /f, and nobody opens it to read | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        open to read, closed on exec: Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /f, and nobody opens it to write | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        openat to read: Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /f, and nobody opens it to write | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        openat to write: Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /f, and nobody opens it to read | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        openat2, whose flags are elsewhere: Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /f, and nobody opens it to write | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        no path: Waiting fifo-open B12 (Likely): cat (11) opens a FIFO, and nobody opens it to write | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        by the kernel's function: Waiting fifo-open B12 (Likely): cat (11) opens a FIFO, and nobody opens it to write | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
        it woke up: Waiting fifo-open B12 (Likely): cat (11) opens the FIFO /f, and nobody opens it to write | somebody opens its other end; from outside: kill 11 | opening a FIFO waits for a partner, without a time limit; no agent runs it, and its partner may come by design
    "#]].assert_eq(&all_answers(vec![
        ("open to read", opens("open", [0, 0, 1, 0, 0, 0])),
        ("open to write", opens("open", [0, 1, 0, 0, 0, 0])),
        ("open to write, closed on exec", opens("open", [0, 0o2_000_001, 0, 0, 0, 0])),
        ("open to read, closed on exec", opens("open", [0, 0o2_000_000, 0, 0, 0, 0])),
        ("openat to read", opens("openat", [0, 1, 0, 0, 0, 0])),
        ("openat to write", opens("openat", [0, 0, 1, 0, 0, 0])),
        ("openat2, whose flags are elsewhere", opens("openat2", [0, 1, 1, 0, 0, 0])),
        ("no path", Look::of(vec![unnamed])),
        ("by the kernel's function", Look::of(vec![inferred])),
        ("it woke up", woke),
    ]));
}

#[test]
fn a_nap_with_a_locked_database_open_is_a_wait_for_it() {
    let held = |kind: &str| Lock { kind: kind.to_owned(), from: 120, ..lock(1, 20, false, 7) };
    let with = |process: Process, locks: &[Lock]| {
        let both = || locks.to_vec();
        Look::of(vec![process]).beside(reads(pipe(holder(), 0, Mode::Read, 70), 0)).both(|s| s.locks = both())
    };
    let naps = || sleeps(file(process(11, 10, "app"), 3, "/x.db", 7), 50);
    let napping = |locks: &[Lock]| with(naps(), locks);
    let posix = || vec![held("POSIX")];
    let other = || sleeps(file(process(11, 10, "app"), 3, "/x.log", 7), 50);
    let futex = || calls(file(process(11, 10, "app"), 3, "/x.db", 7), "futex", Does::Futex, TimeLimit::Never);
    let disk = || Process { state: State::Disk, ..futex() };
    let awake = || {
        let mut process = file(process(11, 10, "app"), 3, "/x.db", 7);
        process.threads = vec![Thread { tid: 11, state: State::Running, call_read: true, ..Thread::default() }];
        process
    };
    let mut new = napping(&posix());
    new.before.locks.clear();
    let before = |change: fn(&mut Lock)| {
        let mut look = napping(&posix());
        change(&mut look.before.locks[0]);
        look
    };
    expect![[r#"
        locked: Hung sqlite-lock R1 (Likely): app (11) waits for the database /x.db, which holder (20) has locked | holder (20) ends its transaction: kill 20 | it naps with the database open, and /proc/locks names 20 for bytes 120 on; the holder: holder (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word
        by bytes of a file's open: Hung sqlite-lock R1 (Likely): app (11) waits for the database /x.db, which holder (20) has locked | holder (20) ends its transaction: kill 20 | it naps with the database open, and /proc/locks names 20 for bytes 120 on; the holder: holder (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word
        a lock of the whole file: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        for reading: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        a wait: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        of nobody: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        of its own: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        of another file: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        no database: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        since the last look: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        by another before: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        another file before: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        a wait before: Waiting sleep - (Likely): app (11) sleeps (50ms) | time
        in a wait for a thread: Hung thread-deadlock - (Likely, closed in): app (11) is deadlocked: its only thread waits for another one, which is not there | kill 11 | all threads are in futex waits without a time limit, on memory that is this process's alone
        at a disk: Hung sqlite-lock R1 (Likely): app (11) waits for the database /x.db, which holder (20) has locked | holder (20) ends its transaction: kill 20 | it naps with the database open, and /proc/locks names 20 for bytes 120 on; the holder: holder (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word
        awake at both looks: Hung sqlite-lock R1 (Likely): app (11) waits for the database /x.db, which holder (20) has locked | holder (20) ends its transaction: kill 20 | it naps with the database open, and /proc/locks names 20 for bytes 120 on; the holder: holder (20) waits for its standard input to end or to say something, and a process that is not in sight keeps it open without a word
        the holder works: Waiting lock-wait - (Likely): app (11) waits for the database /x.db, which holder (20) has locked while it works | the holder's work
        one below the holder works: Waiting lock-wait - (Likely): app (11) waits for the database /x.db, which holder (20) has locked while it works | the holder's work
    "#]].assert_eq(&all_answers(vec![
        ("locked", napping(&posix())),
        ("by bytes of a file's open", napping(&[held("OFDLCK")])),
        ("a lock of the whole file", napping(&[held("FLOCK")])),
        ("for reading", napping(&[Lock { write: false, ..held("POSIX") }])),
        ("a wait", napping(&[Lock { waits: true, ..held("POSIX") }])),
        ("of nobody", napping(&[Lock { pid: None, ..held("POSIX") }])),
        ("of its own", napping(&[Lock { pid: Some(11), ..held("POSIX") }])),
        ("of another file", napping(&[Lock { inode: 8, ..held("POSIX") }])),
        ("no database", with(other(), &posix())),
        ("since the last look", new),
        ("by another before", before(|lock| lock.pid = Some(21))),
        ("another file before", before(|lock| lock.inode = 8)),
        ("a wait before", before(|lock| lock.waits = true)),
        ("in a wait for a thread", with(futex(), &posix())),
        ("at a disk", with(disk(), &posix())),
        ("awake at both looks", with(awake(), &posix())),
        ("the holder works", spends(napping(&posix()), 20, 60)),
        ("one below the holder works", spends(napping(&posix()).beside(sleeps(process(21, 20, "cc"), 5)), 21, 60)),
    ]));
}

#[test]
fn a_lock_is_inherited_with_its_open_file() {
    let open = |pid, ppid| sleeps(file(process(pid, ppid, "sleep"), 4, "/f", 7), 90_000);
    let holds = || awaits(file(holder(), 4, "/f", 7));
    let look = |kind: &str, more: Vec<Process>| {
        let locks = || vec![Lock { kind: kind.to_owned(), ..lock(1, 20, false, 7) }, lock(1, 11, true, 7)];
        more.into_iter().fold(Look::of(vec![waiter()]).beside(holds()), Look::beside).both(|s| s.locks = locks())
    };
    let ended = |mut look: Look| {
        let holder = look.after.around.get_mut(&20).unwrap();
        (holder.state, holder.fds) = (State::Zombie, vec![]);
        look
    };
    let also_waits = |mut look: Look| {
        look.after.locks.push(lock(1, 21, true, 7));
        look
    };
    expect![[r#"
        a child has the file open: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 1m30s): sleep (21) sleeps (1m30s) | the end of what holder (20) does
        a child, and a lock of the process alone: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 1m30s): sleep (21) sleeps (1m30s) | the end of what holder (20) does
        a stranger has the file open: Waiting file-lock R2 (Likely, hung in 1h4m): git (11) waits for the lock on /f, which holder (20) holds | holder (20) lets it go or ends: kill 20 | /proc/locks names both; the holder: holder (20) waits, and what for cannot be seen
        a child that waits for the same lock: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which holder (20) holds; holder (20) has a timer of its own (at most 1m30s): sleep (21) sleeps (1m30s) | the end of what holder (20) does
        who took it has ended: Waiting lock-wait - (Likely): git (11) waits for the lock on /f, which sleep (21) holds; sleep (21) has a timer of its own (at most 1m30s): sleep (21) sleeps (1m30s) | the end of what sleep (21) does
    "#]].assert_eq(&all_answers(vec![
        ("a child has the file open", look("FLOCK", vec![open(21, 20)])),
        ("a child, and a lock of the process alone", look("POSIX", vec![open(21, 20)])),
        ("a stranger has the file open", look("FLOCK", vec![open(21, 1)])),
        ("a child that waits for the same lock", also_waits(look("FLOCK", vec![open(21, 20)]))),
        ("who took it has ended", ended(look("FLOCK", vec![open(21, 20)]))),
    ]));
}

#[test]
fn an_agent_that_could_go_on_may_end_what_hangs_below_it() {
    let git = || Process { pid: 12, ppid: 11, ..waiter() };
    let says = |above: Process| {
        let of_itself = vec![lock(1, 12, false, 7), lock(1, 12, true, 7)];
        let look = Look::of(vec![above, git()]).both(|s| s.locks = of_itself.clone());
        let found = diagnose(&look.before, &look.after, &Limits::default());
        (found.pid, found.agent_above.clone(), found.sure_in_words())
    };
    let agent = || started(process(11, 10, "opencode"), &["opencode", "run", "x"]);
    let named = Some("opencode (11)".to_owned());
    // a short timer is that of its screen
    let event = |ms| watches(has(agent(), 5, Mode::Both, Object::Event { count: 0 }), &[5], TimeLimit::GivenMs(ms));
    assert_eq!(says(event(40)), (12, named, "nothing in sight but its agent can end it"));
    assert_eq!(says(awaits(process(11, 10, "make"))), (12, None, "proved"));
    assert_eq!(says(awaits(agent())), (12, None, "proved"), "it waits for its child, and for nothing else");
}
