//! What two snapshots seen together show.

use super::*;

#[test]
fn names_of_up_to_two_are_listed_and_the_rest_is_counted() {
    let all = [11, 12, 13, 14].map(|pid| process(pid, 1, &format!("p{pid}")));
    let look = Look::of(all.to_vec());
    let names = |pids: &[Pid]| look.view().names(pids);
    assert_eq!(names(&[]), "nobody in sight");
    assert_eq!(names(&[11]), "p11 (11)");
    assert_eq!(names(&[11, 12]), "p11 (11) and p12 (12)");
    assert_eq!(names(&[11, 12, 13]), "p11 (11), p12 (12) and 1 more");
    assert_eq!(names(&[11, 12, 13, 14]), "p11 (11), p12 (12) and 2 more");
    assert_eq!(names(&[99]), "a process that is gone (99)");
}

#[test]
fn an_interpreter_is_named_with_its_script() {
    let name =
        |comm: &str, args: &[&str]| Look::of(vec![started(process(11, 10, comm), args)]).view().name(11).to_string();
    assert_eq!(name("python3", &["python3", "/x/serve.py", "y"]), "python3 serve (11)");
    assert_eq!(name("python3", &["python3", "-c", "pass"]), "python3 (11)");
    assert_eq!(name("python3", &["python3"]), "python3 (11)");
    assert_eq!(name("cat", &["cat", "/x/serve.py"]), "cat (11)");
    assert_eq!(name("claude", &["claude"]), "Claude Code (11)");
}

#[test]
fn the_nearest_agent_above_is_found() {
    let look = Look::of(vec![
        process(11, 1, "claude"),
        process(12, 11, "opencode"),
        process(13, 12, "sh"),
        process(14, 13, "cat"),
    ]);
    let view = look.view();
    assert_eq!([14, 13, 12, 11].map(|pid| view.agent_above(pid)), [Some(12), Some(12), Some(11), None]);
    assert_eq!(view.ancestors(14).collect::<Vec<_>>(), [13, 12, 11, 1]);
    assert_eq!(view.agent(12).map(|kind| kind.name), Some("opencode"));
    assert!(view.agent(13).is_none() && view.agent(99).is_none());
    // the list ends in a circle too: it is never longer than there are processes
    let circle = Look::of(vec![process(11, 12, "a"), process(12, 11, "b")]).beside(process(13, 1, "c"));
    assert_eq!(circle.view().ancestors(11).count(), 3);
    assert_eq!(Look::of(vec![process(11, 0, "a")]).view().ancestors(11).count(), 0);
}

#[test]
fn a_thread_that_was_awake_for_a_moment_counts_by_its_earlier_wait() {
    let look = |state, percent| {
        let look = Look::of(vec![reads(process(11, 10, "cat"), 0)]).later(|s| {
            let root = s.tree.get_mut(&11).unwrap();
            root.threads = vec![Thread { state, ..sleeps(process(11, 10, "cat"), 5).threads.remove(0) }];
        });
        spends(look, 11, percent)
    };
    let on =
        |look: Look| look.view().waits(look.after.process(11).unwrap()).into_iter().map(|wait| wait.call).collect();
    let on = |state, percent| -> Vec<String> { on(look(state, percent)) };
    assert_eq!(on(State::Running, 24), ["read"]);
    assert_eq!(on(State::Disk, 24), ["read"]);
    assert_eq!(on(State::Sleeping, 24), ["nanosleep"]);
    assert_eq!(on(State::Disk, 25), ["nanosleep"], "a quarter of a core is work");
    assert!(on(State::Running, 25).is_empty());
    // a thread that is new has no earlier wait
    let new = look(State::Running, 0)
        .both(|s| s.tree.get_mut(&11).unwrap().threads[0].tid += Pid::try_from(s.at_ns / 61_000_000_000).unwrap());
    assert!(new.view().waits(new.after.process(11).unwrap()).is_empty());
}

#[test]
fn shares_of_a_core() {
    let thread = |cpu_ms: u64, waited_ms: u64, yields| Thread {
        tid: 11,
        cpu_ns: cpu_ms * 1_000_000,
        waited_ns: waited_ms * 1_000_000,
        yields,
        ..Thread::default()
    };
    let look = |before: Thread, after: Thread| {
        let with = |thread: &Thread| Process { threads: vec![thread.clone()], ..process(11, 10, "x") };
        let mut look = Look::of(vec![process(11, 10, "x")]);
        look.before.tree.insert(11, with(&before));
        look.after.tree.insert(11, with(&after));
        (look.view().cpu(11), look.view().wants(11))
    };
    assert_eq!(look(thread(100, 0, None), thread(600, 0, None)), (0.5, 0.5));
    // what it waited for a processor does not count as idling
    assert_eq!(look(thread(0, 100, None), thread(250, 600, None)), (0.25, 0.5));
    assert_eq!(look(thread(250, 0, None), thread(0, 0, None)), (0.0, 0.0), "no negative share");
    // a share is at most one core, whatever the kernel counts
    assert_eq!(look(thread(0, 0, None), thread(800, 900, None)), (0.8, 1.0));
    // never asleep between: all or nothing, from a millisecond on
    assert_eq!(look(thread(0, 0, Some(3)), thread(1, 0, Some(3))).1, 1.0);
    let under = Thread { cpu_ns: 999_999, ..thread(0, 0, Some(3)) };
    assert_eq!(look(thread(0, 0, Some(3)), under).1, 0.0);
    assert_eq!(look(thread(0, 0, Some(3)), thread(500, 0, Some(4))).1, 0.5);
    // the whole window spent waiting: at least a millisecond is divided by
    let tiny = Thread { cpu_ns: 500_000, ..thread(0, 1_000, None) };
    assert_eq!(look(thread(0, 0, None), tiny).1, 0.5);
    assert_eq!(look(Thread { tid: 99, ..thread(0, 0, None) }, thread(500, 0, None)), (0.5, 0.0), "a new thread");
    let two = Look::of(vec![sleeps(sleeps(process(11, 10, "x"), 5), 5)]).later(|s| {
        for thread in &mut s.tree.get_mut(&11).unwrap().threads {
            thread.cpu_ns = 250_000_000;
        }
    });
    assert_eq!((two.view().cpu(11), two.view().wants(11)), (0.5, 0.5));
    let gone = Look::of(vec![process(11, 10, "x")]).later(|s| s.tree.clear());
    assert_eq!((gone.view().cpu(11), gone.view().wants(11)), (0.0, 0.0));
    // the clock of the snapshots may stand still
    let still = Look::of(vec![process(11, 10, "x")]).later(|s| s.at_ns = 0);
    assert_eq!(still.view().window_ns, 1);
}

#[test]
fn what_grew_between_the_looks_is_counted_and_never_below_zero() {
    let io = |n: u64| Io { read_bytes: n, written_bytes: 2 * n, reads: 3 * n, writes: 4 * n };
    let set = |s: &mut Snapshot, n: u64| {
        let root = s.tree.get_mut(&11).unwrap();
        (root.io, root.faults, root.threads[0].switches) = (Some(io(n)), 5 * n, 6 * n);
        let traffic = Traffic { received_bytes: 7 * n, received_pieces: 8 * n as u32, ..Traffic::default() };
        s.sockets.insert(80, Socket { inode: 80, traffic: Some(traffic), ..Socket::default() });
    };
    let look = |one, two| Look::of(vec![reads(process(11, 10, "x"), 0)]).both(|s| set(s, one)).later(|s| set(s, two));
    let grew = |look: &Look| {
        let (view, socket) = (look.view(), Socket { inode: 80, ..Socket::default() });
        let counted = (view.faults(11), view.switches(11, 11), view.received(&socket), view.received_pieces(&socket));
        (view.io(11), counted)
    };
    assert_eq!(grew(&look(10, 13)), (io(3), (15, 18, 21, 24)));
    assert_eq!(grew(&look(13, 10)), (Io::default(), (0, 0, 0, 0)));
    let lost = |change: fn(&mut Snapshot)| {
        let mut look = look(10, 13);
        change(&mut look.before);
        grew(&look)
    };
    assert_eq!(lost(|s| s.tree.clear()), (Io::default(), (65, 0, 21, 24)));
    assert_eq!(lost(|s| s.tree.get_mut(&11).unwrap().io = None).0, Io::default());
    assert_eq!(lost(|s| s.tree.get_mut(&11).unwrap().threads[0].tid = 12).1, (15, 0, 21, 24));
    assert_eq!(lost(|s| s.sockets.clear()).1, (15, 18, 0, 0));
    assert_eq!(lost(|s| s.sockets.get_mut(&80).unwrap().traffic = None).1, (15, 18, 0, 0));
}

#[test]
fn children_live_or_have_ended_at_both_looks() {
    let mut look = Look::of(vec![
        process(11, 1, "sh"),
        zombie(12, 11),
        zombie(13, 11),
        zombie(14, 11),
        process(15, 11, "cat"),
        zombie(16, 15),
    ]);
    look.before.tree.insert(13, process(13, 11, "true"));
    look.before.tree.remove(&14);
    look.before.tree.insert(15, zombie(15, 11));
    let pids = |all: &mut dyn Iterator<Item = &Process>| all.map(|process| process.pid).collect::<Vec<_>>();
    let view = look.view();
    assert_eq!(pids(&mut view.zombies(11)), [12]);
    assert_eq!(pids(&mut view.living_children(11)), [15]);
    assert_eq!(pids(&mut view.zombies(15)), [16]);
}

#[test]
fn turnover_is_of_living_processes_below() {
    let look = || {
        Look::of(vec![
            process(11, 1, "sh"),
            process(12, 11, "a"),
            process(13, 12, "b"),
            process(14, 11, "c"),
            zombie(15, 11),
        ])
    };
    let turns = |look: Look| [11, 12, 14].map(|pid| look.view().turnover(pid));
    assert_eq!(turns(look()), [false; 3]);
    assert_eq!(turns(look().later(|s| drop(s.tree.remove(&13)))), [true, true, false]);
    assert_eq!(turns(look().later(|s| drop(s.tree.insert(16, process(16, 14, "d"))))), [true, false, true]);
    assert_eq!(turns(look().later(|s| drop(s.tree.remove(&15)))), [false; 3], "it had ended before");
    assert_eq!(turns(look().later(|s| s.tree.get_mut(&13).unwrap().state = State::Zombie)), [true, true, false]);
    // adopted, which is a change above it
    assert_eq!(turns(look().later(|s| s.tree.get_mut(&13).unwrap().ppid = 14)), [false, true, true]);
}

#[test]
fn the_other_end_of_a_channel() {
    let fifo = |process, fd, mode| has(process, fd, mode, Object::Fifo { inode: 73, path: "/f".into() });
    let mut one = pipe(pipe(process(11, 1, "one"), 0, Mode::Read, 70), 1, Mode::Write, 71);
    one = socket(pipe(pipe(one, 3, Mode::Read, 72), 4, Mode::Write, 72), 5, 80);
    one = fifo(tty(socket(socket(one, 6, 82), 7, 83), 8, 1), 9, Mode::Both);
    one = has(one, 10, Mode::Both, Object::Null);
    one = has(one, 11, Mode::Read, Object::Tty { path: "/dev/tty".into(), index: None });
    let mut two = pipe(pipe(process(12, 1, "two"), 1, Mode::Write, 70), 2, Mode::Write, 70);
    two = socket(pipe(two, 0, Mode::Read, 71), 5, 81);
    let mut tmux = has(process(20, 1, "tmux"), 3, Mode::Both, Object::Master { index: 3 });
    tmux = has(tmux, 4, Mode::Both, Object::Master { index: 4 });
    let look = Look::of(vec![one, two]).beside(fifo(tmux, 5, Mode::Write)).socket(unix(80, 81)).socket(unix(81, 80));
    let look = look.socket(unix(82, 83)).socket(unix(83, 82));
    let (view, one) = (look.view(), look.after.process(11).unwrap());
    let told = |fd: i32| {
        let fd = one.fd(fd).unwrap();
        let ends = [true, false].map(|reads| view.other_end(one, fd, reads));
        format!("{ends:?} own {} itself {}", view.own_channel(one, fd), view.writes_itself(one, fd))
    };
    let names = [
        ("a pipe that it reads", 0),
        ("a pipe that it writes", 1),
        ("both ends, the reading one", 3),
        ("both ends, the writing one", 4),
        ("a socket", 5),
        ("a pair of its own", 6),
        ("a terminal", 8),
        ("a FIFO both ways", 9),
        ("nothing", 10),
        ("a terminal without a number", 11),
    ];
    expect![[r#"
        a pipe that it reads: [[12], []] own false itself false
        a pipe that it writes: [[], [12]] own false itself true
        both ends, the reading one: [[], []] own true itself true
        both ends, the writing one: [[], []] own true itself true
        a socket: [[12], [12]] own false itself false
        a pair of its own: [[], []] own true itself false
        a terminal: [[20], [20]] own false itself false
        a FIFO both ways: [[20], []] own false itself true
        nothing: [[], []] own false itself false
        a terminal without a number: [[], []] own false itself false
    "#]]
    .assert_eq(&rows(names.map(|(name, fd)| (name, told(fd)))));
    assert_eq!((view.masters(3), view.masters(4), view.masters(5)), (vec![20], vec![20], vec![]));
    let inode = |fd| view.socket(one.fd(fd).unwrap()).map(|socket| socket.inode);
    assert_eq!((inode(5), inode(0)), (Some(80), None));
}
