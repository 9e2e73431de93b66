//! Connections, datagrams and servers, row by row.

use super::*;

fn look(agent: bool, socket: Socket) -> Look {
    let (name, args): (_, &[&str]) = if agent { ("opencode", &["run", "x"]) } else { ("curl", &[]) };
    Look::of(vec![client(name, args)]).socket(socket)
}

fn traffic(received_ms: u64, sent_ms: u64, received_bytes: u64, received_pieces: u32) -> Socket {
    let traffic = Traffic {
        since_received_ms: received_ms,
        since_sent_ms: sent_ms,
        received_bytes,
        received_pieces,
        sent_bytes: 400,
        retransmits: 0,
    };
    Socket { traffic: Some(traffic), ..connection(80, 0) }
}

fn came(look: Look, bytes: u64, pieces: u32) -> Look {
    look.later(|s| {
        let traffic = s.sockets.get_mut(&80).unwrap().traffic.as_mut().unwrap();
        traffic.received_bytes += bytes;
        traffic.received_pieces += pieces;
    })
}

#[test]
fn a_peer_that_sends_talks_or_says_only_that_it_lives() {
    let talks = |agent, bytes, pieces| came(look(agent, connection(80, 5)), bytes, pieces);
    expect![[r#"
        64 bytes in a piece: Waiting peer-keepalive M2 (Guess): opencode (11) waits for the model's answer at 93.184.216.34:443, which sends next to nothing: 64 bytes in 1 piece within 1s, as keep-alive lines are | content at last, or the agent's own limit on lines without any | whether they hold content cannot be seen from outside; very short tokens look the same
        65 bytes in a piece: Waiting peer-talks - (Likely): opencode (11) waits for the model's answer at 93.184.216.34:443, which talks (65 bytes in 1s) | the end of the answer | keep-alive lines without content look the same from outside
        128 bytes in two pieces: Waiting peer-keepalive M2 (Guess): opencode (11) waits for the model's answer at 93.184.216.34:443, which sends next to nothing: 128 bytes in 2 pieces within 1s, as keep-alive lines are | content at last, or the agent's own limit on lines without any | whether they hold content cannot be seen from outside; very short tokens look the same
        129 bytes in two pieces: Waiting peer-talks - (Likely): opencode (11) waits for the model's answer at 93.184.216.34:443, which talks (129 bytes in 1s) | the end of the answer | keep-alive lines without content look the same from outside
        64 bytes for a program that is no agent: Waiting peer-talks - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which talks (64 bytes in 1s) | the end of the answer | keep-alive lines without content look the same from outside
        a byte: Waiting peer-keepalive M2 (Guess): opencode (11) waits for the model's answer at 93.184.216.34:443, which sends next to nothing: 1 bytes in 1 piece within 1s, as keep-alive lines are | content at last, or the agent's own limit on lines without any | whether they hold content cannot be seen from outside; very short tokens look the same
        pieces that are not counted: Waiting peer-talks - (Likely): opencode (11) waits for the model's answer at 93.184.216.34:443, which talks (1 bytes in 1s) | the end of the answer | keep-alive lines without content look the same from outside
    "#]].assert_eq(&all_answers(vec![
        ("64 bytes in a piece", talks(true, 64, 1)),
        ("65 bytes in a piece", talks(true, 65, 1)),
        ("128 bytes in two pieces", talks(true, 128, 2)),
        ("129 bytes in two pieces", talks(true, 129, 2)),
        ("64 bytes for a program that is no agent", talks(false, 64, 1)),
        ("a byte", talks(true, 1, 1)),
        ("pieces that are not counted", talks(true, 1, 0)),
    ]));
}

#[test]
fn a_peer_counts_as_silent_from_the_limit_on() {
    let is = |agent, received_ms, sent_ms, bytes| look(agent, traffic(received_ms, sent_ms, bytes, 1));
    let unsent = Socket { unsent: 9, ..traffic(90_000, 90_000, 900, 1) };
    let connecting = Socket { state: SocketState::Connecting, ..traffic(0, 0, 0, 0) };
    let hidden = Socket { traffic: None, ..connection(80, 0) };
    let blocked = |name: &str| {
        Look::of(vec![reads(socket(process(11, 10, name), 5, 80), 5)]).socket(traffic(90_000, 90_500, 900, 1))
    };
    expect![[r#"
        an answer that began: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which began to answer and has been silent for 59.9s | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        an answer that began, a minute ago: Waiting model-silent M1 (Likely, hung in 29m): opencode (11) waits for the model's stream at 93.184.216.34:443, which began to answer and has been silent for 1m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        an answer at once: Waiting model-silent M1 (Likely, hung in 29m): opencode (11) waits for the model's stream at 93.184.216.34:443, which began to answer and has been silent for 1m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        an answer before the request: Waiting model-silent M1 (Likely, hung in 29m): opencode (11) waits for the model's stream at 93.184.216.34:443, which has not answered for 1m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        an answer before the request, which is fresh: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which has not answered for 59.9s | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        no byte: Waiting model-silent M1 (Likely, hung in 29m): opencode (11) waits for the model's stream at 93.184.216.34:443, which has not answered for 1m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        no byte, and the request is fresh: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which has not answered for 59.9s | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        no byte of another peer: Waiting peer-silent E2 (Likely, hung in 29m): curl (11) waits for its peer at 93.184.216.34:443, which has not answered for 1m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | the request was taken, and no byte came back
        fresh, of another peer: Waiting peer-wait - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 500ms, or for a timer of its own (at most 1m40s) | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        what it sent was not taken: Waiting model-silent M1 (Likely, hung in 28m30s): opencode (11) waits for the model's stream at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 9 bytes that it sent were never taken: the other side may be gone
        it connects: Waiting connecting X6 (Likely): opencode (11) waits for a connection to 93.184.216.34:443, which does not answer | an answer, or the kernel's limit (about 2 minutes)
        no clock: Waiting peer-wait - (Guess): opencode (11) waits for 93.184.216.34:443; for how long it has been silent may not be read | an answer
        blocked in the read: Waiting peer-silent E2 (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
    "#]].assert_eq(&all_answers(vec![
        ("an answer that began", is(true, 59_999, 60_500, 900)),
        ("an answer that began, a minute ago", is(true, 60_000, 60_500, 900)),
        ("an answer at once", is(true, 60_000, 60_000, 900)),
        ("an answer before the request", is(true, 60_001, 60_000, 900)),
        ("an answer before the request, which is fresh", is(true, 600_000, 59_999, 900)),
        ("no byte", is(true, 60_000, 60_500, 0)),
        ("no byte, and the request is fresh", is(true, 600_000, 59_999, 0)),
        ("no byte of another peer", is(false, 70_000, 60_000, 0)),
        ("fresh, of another peer", is(false, 500, 600, 10)),
        ("what it sent was not taken", look(true, unsent)),
        ("it connects", look(true, connecting)),
        ("no clock", look(true, hidden)),
        ("blocked in the read", blocked("curl")),
    ]));
}

#[test]
fn a_trickle_is_more_than_a_head_goes_on_and_is_slow() {
    // 10 s: 640 bytes are 64 a second
    let is = |received_ms, bytes, pieces| look(true, traffic(received_ms, 10_000, bytes, pieces));
    expect![[r#"
        a trickle: Waiting peer-keepalive M2 (Guess): opencode (11) waits for the model's answer at 93.184.216.34:443: in the 10s since it asked no more than 639 bytes came, in 4 pieces, the last one 5s ago: keep-alive lines, or next to no progress | content at last, or the agent's own limit on lines without any | whether they hold content cannot be seen from outside; a model that thinks and says that it lives looks the same
        a head: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which began to answer and has been silent for 5s | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        one that stopped: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which began to answer and has been silent for 5s | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        the slowest model: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which began to answer and has been silent for 5s | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        all at once: Waiting peer-keepalive M2 (Guess): opencode (11) waits for the model's answer at 93.184.216.34:443: in the 0ms since it asked no more than 0 bytes came, in 4 pieces, the last one 0ms ago: keep-alive lines, or next to no progress | content at last, or the agent's own limit on lines without any | whether they hold content cannot be seen from outside; a model that thinks and says that it lives looks the same
        too fast at once: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which began to answer and has been silent for 0ms | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        of another peer: Waiting peer-wait - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 5s, or for a timer of its own (at most 1m40s) | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        of the last minute: Waiting peer-keepalive M2 (Guess): opencode (11) waits for the model's answer at 93.184.216.34:443: in the 1m since it asked no more than 639 bytes came, in 4 pieces, the last one 20s ago: keep-alive lines, or next to no progress | content at last, or the agent's own limit on lines without any | whether they hold content cannot be seen from outside; a model that thinks and says that it lives looks the same
        of the last two minutes: Waiting model-silent M1 (Likely, hung in 29m): opencode (11) waits for the model's stream at 93.184.216.34:443, which began to answer and has been silent for 1m | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 639 bytes came, then none; a connection that is merely kept looks the same
    "#]].assert_eq(&all_answers(vec![
        ("a trickle", is(5_000, 639, 4)),
        ("a head", is(5_000, 639, 3)),
        ("one that stopped", is(5_001, 639, 4)),
        ("the slowest model", is(5_000, 640, 4)),
        ("all at once", look(true, traffic(0, 0, 0, 4))),
        ("too fast at once", look(true, traffic(0, 0, 1, 4))),
        ("of another peer", look(false, traffic(5_000, 10_000, 639, 4))),
        ("of the last minute", look(true, traffic(20_000, 60_000, 639, 4))),
        ("of the last two minutes", look(true, traffic(60_000, 120_000, 639, 4))),
    ]));
}

#[test]
fn of_several_connections_the_one_that_was_used_last_decides() {
    let agent = |fds: &[i32]| {
        let process = fds.iter().fold(process(11, 10, "opencode"), |all, &fd| socket(all, fd, 75 + fd as u64));
        watches(started(process, &["opencode", "run"]), fds, TimeLimit::LeftMs(100_000))
    };
    let two = |one, other| {
        Look::of(vec![agent(&[5, 6])])
            .socket(connection(80, one))
            .socket(Socket { remote: "1.1.1.1:443".into(), ..connection(81, other) })
    };
    let unwatched = Look::of(vec![watches(agent(&[5]), &[7], TimeLimit::Never)]).socket(connection(80, 90_000));
    let mut unwatched = unwatched;
    for s in [&mut unwatched.before, &mut unwatched.after] {
        s.tree.get_mut(&11).unwrap().threads.remove(0);
    }
    let awake = |bytes| {
        let mut look = Look::of(vec![agent(&[5])]).socket(connection(80, 90_000));
        for s in [&mut look.before, &mut look.after] {
            let thread = &mut s.tree.get_mut(&11).unwrap().threads[0];
            (thread.state, thread.call) = (State::Running, None);
        }
        came(look, bytes, 1)
    };
    expect![[r#"
        the second is fresh: Waiting peer-wait - (Likely): opencode (11) waits for the model at 1.1.1.1:443, which began to answer and has been silent for 5ms | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        the first is fresh: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which began to answer and has been silent for 5ms | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        both are silent: Waiting model-silent M1 (Likely, hung in 28m30s): opencode (11) waits for the model's stream at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        it is not watched: Unknown unknown - (Guess): opencode (11) waits, and what for cannot be seen
        awake, and something came: Waiting peer-talks - (Likely): opencode (11) waits for the model's answer at 93.184.216.34:443, which talks (500 bytes in 1s) | the end of the answer | keep-alive lines without content look the same from outside
        awake, and nothing came: Working working - (Guess): opencode (11) is ready to run and was given no processor
    "#]].assert_eq(&all_answers(vec![
        ("the second is fresh", two(90_000, 5)),
        ("the first is fresh", two(5, 90_000)),
        ("both are silent", two(90_000, 95_000)),
        ("it is not watched", unwatched),
        ("awake, and something came", awake(500)),
        ("awake, and nothing came", awake(0)),
    ]));
}

#[test]
fn outward_connections_are_those_that_no_listening_socket_took() {
    let tcp = |inode, state, local: &str| Socket {
        state,
        local: local.into(),
        remote: "1.2.3.4:443".into(),
        ..connection(inode, 90_000)
    };
    let one = |other: Socket| {
        let process = socket(socket(process(11, 10, "opencode"), 5, 80), 6, 81);
        let process = watches(started(process, &["opencode", "run"]), &[6], TimeLimit::Never);
        Look::of(vec![process]).socket(listening(80, "127.0.0.1:4096")).socket(other)
    };
    let own = Socket { peer: Some(80), ..tcp(81, SocketState::Established, "10.0.0.2:5000") };
    let others = Socket { peer: Some(90), ..tcp(81, SocketState::Established, "10.0.0.2:5000") };
    let unix = Socket { family: Family::Unix, ..tcp(81, SocketState::Established, "10.0.0.2:5000") };
    expect![[r#"
        established: Waiting model-silent M1 (Likely, hung in 28m30s): opencode (11) waits for the model's stream at 1.2.3.4:443, which began to answer and has been silent for 1m30s | a byte or an end from 1.2.3.4:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        connecting: Waiting connecting X6 (Likely): opencode (11) waits for a connection to 1.2.3.4:443, which does not answer | an answer, or the kernel's limit (about 2 minutes)
        closed by the other side: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        taken by the listening socket: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        with itself: Hung no-connection M8 (Likely, closed in): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        with another: Waiting model-silent M1 (Likely, hung in 28m30s): opencode (11) waits for the model's stream at 1.2.3.4:443, which began to answer and has been silent for 1m30s | a byte or an end from 1.2.3.4:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        no TCP: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
    "#]].assert_eq(&all_answers(vec![
        ("established", one(tcp(81, SocketState::Established, "10.0.0.2:5000"))),
        ("connecting", one(tcp(81, SocketState::Connecting, "10.0.0.2:5000"))),
        ("closed by the other side", one(tcp(81, SocketState::CloseWait, "10.0.0.2:5000"))),
        ("taken by the listening socket", one(tcp(81, SocketState::Established, "10.0.0.9:4096"))),
        ("with itself", one(own)),
        ("with another", one(others)),
        ("no TCP", one(unix)),
    ]));
}

#[test]
fn an_answer_by_a_datagram_has_no_clock() {
    let udp = |remote: &str| Socket {
        inode: 80,
        family: Family::Udp,
        local: "0.0.0.0:9".into(),
        remote: remote.into(),
        ..Socket::default()
    };
    let tcp = Socket { state: SocketState::Unconnected, ..connection(80, 0) };
    let blocked =
        |name: &str, socket_: Socket| Look::of(vec![reads(socket(process(11, 10, name), 5, 80), 5)]).socket(socket_);
    expect![[r#"
        with a limit: Waiting datagram - (Guess): curl (11) waits for a datagram of 1.1.1.1:53 (1m40s at a time) | a datagram | for how long none has come cannot be seen
        without a limit: Waiting datagram - (Guess): dig (11) waits for a datagram of 1.1.1.1:53 | a datagram | for how long none has come cannot be seen
        of anybody: Waiting serves - (Likely): dns (11) waits for requests at 0.0.0.0:9 | a request; a server ends when told to | it listens there, and has nothing else under way
        of anybody at no address: Waiting serves - (Likely): dns (11) waits for requests | a request; a server ends when told to | it listens there, and has nothing else under way
        of an agent: Waiting no-connection M8 (Guess, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself, its nearest timer 1m40s: an answer that nobody gives, an event that got lost, or a pause before it tries again look like this
        no datagram: Unknown unknown - (Guess): dig (11) waits, and what for cannot be seen
    "#]].assert_eq(&all_answers(vec![
        ("with a limit", look(false, udp("1.1.1.1:53"))),
        ("without a limit", blocked("dig", udp("1.1.1.1:53"))),
        ("of anybody", blocked("dns", udp(""))),
        ("of anybody at no address", blocked("dns", Socket { local: String::new(), ..udp("") })),
        ("of an agent", look(true, udp("1.1.1.1:53"))),
        ("no datagram", blocked("dig", tcp)),
    ]));
}

#[test]
fn a_server_owes_an_answer_to_what_came_last() {
    let taken = |bytes, sent, received_ms, sent_ms| {
        let traffic = Traffic {
            received_bytes: bytes,
            sent_bytes: sent,
            since_received_ms: received_ms,
            since_sent_ms: sent_ms,
            ..Traffic::default()
        };
        Socket { local: "127.0.0.1:80".into(), remote: "1.1.1.1:9".into(), traffic: Some(traffic), ..connection(81, 0) }
    };
    let child = || reads(pipe(process(12, 11, "cgi"), 0, Mode::Read, 70), 0);
    let server = |other: Socket| {
        let process = socket(socket(socket(process(11, 10, "httpd"), 5, 80), 6, 81), 7, 82);
        let process = watches(process, &[5, 7], TimeLimit::Never);
        let out = Socket { local: "127.0.0.1:5000".into(), ..connection(82, 90_000) };
        Look::of(vec![process, child()]).socket(listening(80, "127.0.0.1:80")).socket(other).socket(out)
    };
    let closing = Socket { state: SocketState::CloseWait, ..taken(9, 0, 5, 5) };
    let hidden = Socket { traffic: None, ..taken(9, 0, 5, 5) };
    let only = |mut look: Look| {
        for s in [&mut look.before, &mut look.after] {
            s.tree.remove(&12);
        }
        look
    };
    expect![[r#"
        it has sent nothing: Waiting peer-silent E2 (Likely): httpd (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        it has sent nothing, and nothing came: Waiting serves - (Likely): httpd (11) waits for requests at 127.0.0.1:80 | a request; a server ends when told to | it listens there, and has nothing else under way
        what came is younger: Waiting peer-silent E2 (Likely): httpd (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        what it sent is as young: Waiting serves - (Likely): httpd (11) waits for requests at 127.0.0.1:80 | a request; a server ends when told to | it listens there, and has nothing else under way
        what it sent is younger: Waiting serves - (Likely): httpd (11) waits for requests at 127.0.0.1:80 | a request; a server ends when told to | it listens there, and has nothing else under way
        it is closing: Waiting serves - (Likely): httpd (11) waits for requests at 127.0.0.1:80 | a request; a server ends when told to | it listens there, and has nothing else under way
        no clock: Waiting serves - (Likely): httpd (11) waits for requests at 127.0.0.1:80 | a request; a server ends when told to | it listens there, and has nothing else under way
    "#]].assert_eq(&all_answers(vec![
        ("it has sent nothing", only(server(taken(9, 0, 5, 5)))),
        ("it has sent nothing, and nothing came", only(server(taken(0, 0, 5, 5)))),
        ("what came is younger", only(server(taken(9, 9, 5, 6)))),
        ("what it sent is as young", only(server(taken(9, 9, 5, 5)))),
        ("what it sent is younger", only(server(taken(9, 9, 6, 5)))),
        ("it is closing", only(server(closing))),
        ("no clock", only(server(hidden))),
    ]));
}

#[test]
fn a_server_is_stuck_if_nothing_that_it_waits_for_could_come() {
    let server = |change: fn(&mut Process)| {
        let mut process = socket(socket(process(11, 10, "httpd"), 5, 80), 6, 81);
        process = calls(calls(process, "futex", Does::Futex, TimeLimit::Never), "futex", Does::Futex, TimeLimit::Never);
        change(&mut process);
        let taken = Socket { unread: 7, ..connection(81, 5) };
        Look::of(vec![process]).socket(Socket { unread: 2, ..listening(80, "127.0.0.1:80") }).socket(taken)
    };
    let limit = |limit: TimeLimit| {
        server(|_| {}).both(|s| s.tree.get_mut(&11).unwrap().threads[1].call.as_mut().unwrap().limit = limit)
    };
    let does = |does: Does| {
        server(|_| {}).both(|s| s.tree.get_mut(&11).unwrap().threads[1].call.as_mut().unwrap().does = does.clone())
    };
    let read = server(|_| {}).both(|s| {
        for socket in s.sockets.values_mut() {
            socket.unread = 0;
        }
    });
    let deaf = server(|_| {}).both(|s| drop(s.sockets.remove(&80)));
    let woke = server(|_| {}).later(|s| s.tree.get_mut(&11).unwrap().threads[1].switches += 1);
    expect![[r#"
        stuck: Hung server-mute E8 (Likely, closed in): httpd (11) listens and takes nothing: what was sent to it lies unread | nothing in sight; from outside: kill 11 | none of its threads waits for a descriptor or for time, and 9 bytes or connections wait
        a thread runs: Hung thread-deadlock - (Likely, closed in): httpd (11) is deadlocked: its only thread waits for another one, which is not there | kill 11 | all threads are in futex waits without a time limit, on memory that is this process's alone
        a thread woke up: Waiting timer - (Likely): httpd (11) waits inside itself, with a time limit | a timer of its own
        no thread in sight: Unknown unknown - (Guess): httpd (11) cannot be looked into
        a limit: Waiting timer - (Likely): httpd (11) waits inside itself, with a time limit | a timer of its own
        an endless sleep beside: Waiting never-ends B5 (Likely): httpd (11) sleeps without an end | kill 11 | its time limit is none
        a descriptor: Unknown unknown - (Guess): httpd (11) waits, and what for cannot be seen
        nothing lies unread: Hung thread-deadlock - (Likely, closed in): httpd (11) is deadlocked: its threads wait for each other, and none waits for anything else | kill 11 | all threads are in futex waits without a time limit, on memory that is this process's alone
        it does not listen: Hung thread-deadlock - (Likely, closed in): httpd (11) is deadlocked: its threads wait for each other, and none waits for anything else | kill 11 | all threads are in futex waits without a time limit, on memory that is this process's alone
    "#]].assert_eq(&all_answers(vec![
        ("stuck", server(|_| {})),
        ("a thread runs", server(|p| p.threads[1].state = State::Running)),
        ("a thread woke up", woke),
        ("no thread in sight", server(|p| p.threads.clear())),
        ("a limit", limit(TimeLimit::LeftMs(5))),
        ("an endless sleep beside", does(Does::Sleep)),
        ("a descriptor", does(Does::Read { fd: 9 })),
        ("nothing lies unread", read),
        ("it does not listen", deaf),
    ]));
}

#[test]
fn a_client_knows_what_its_server_says() {
    let ask = Ask { kind: "question".into(), id: "id_1".into(), text: "why".into(), ..Ask::default() };
    let idle = || Agent { pid: 20, busy: Some(0), sources: vec!["GET /x".into()], ..Agent::default() };
    let at = |socket_: Socket, args: &[&str], says: Agent| {
        let server = started(socket(process(20, 1, "opencode"), 7, 81), &["opencode", args[0]]);
        let socket_ = Socket { peer: Some(81), ..socket_ };
        look(false, socket_).both(|s| {
            s.around.insert(20, server.clone());
            s.agents = vec![says.clone()];
        })
    };
    let served = |says: Agent| at(connection(80, 5), &["serve"], says);
    let person = |mut look: Look| {
        for s in [&mut look.before, &mut look.after] {
            let process = s.tree.get_mut(&11).unwrap();
            *process = started(process.clone(), &["opencode", "attach"]);
        }
        look
    };
    expect![[r#"
        nothing is under way: Hung event-missed E1 (Guess): curl (11) waits for events of opencode (20) at 93.184.216.34:443, which says that nothing is under way | a new task for opencode (20), or a client that asks for the sessions' status when it (re)connects; from outside: kill 11 | no session is busy there and no ask is open (GET /x), and no more than signs of life come: the event that ends the wait was missed, or never sent; a client that is there for the next task looks the same
        signs of life: Hung event-missed E1 (Guess): curl (11) waits for events of opencode (20) at 93.184.216.34:443, which says that nothing is under way | a new task for opencode (20), or a client that asks for the sessions' status when it (re)connects; from outside: kill 11 | no session is busy there and no ask is open (GET /x), and no more than signs of life come: the event that ends the wait was missed, or never sent; a client that is there for the next task looks the same
        more than that: Waiting peer-talks - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which talks (129 bytes in 1s) | the end of the answer | keep-alive lines without content look the same from outside
        not even signs of life: Waiting peer-silent E2 (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 1m: opencode (20) waits for requests | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        a session is busy: Waiting peer-wait - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 5ms, or for a timer of its own (at most 1m40s): opencode (20) has nothing under way: no connection to a model, no child, no input that it waits for | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        nothing was asked: Waiting peer-wait - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 5ms, or for a timer of its own (at most 1m40s): opencode (20) waits for requests | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        a tool runs: Waiting peer-wait - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 5ms, or for a timer of its own (at most 1m40s): opencode (20) waits for requests | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        it asks: Hung question-open Q1 (Certain): opencode (20) waits for the answer to its question “why”, and nobody answers | an answer; from outside: kill 20 | it says so itself: GET /x; curl (11) is its client
        it is no server: Waiting peer-wait - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 5ms, or for a timer of its own (at most 1m40s): opencode (20) has nothing under way: no connection to a model, no child, no input that it waits for | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        another says so: Waiting peer-wait - (Likely): curl (11) waits for its peer at 93.184.216.34:443, which began to answer and has been silent for 5ms, or for a timer of its own (at most 1m40s): opencode (20) waits for requests | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        a person's client: Waiting peer-wait - (Likely): opencode (11) waits for the model at 93.184.216.34:443, which began to answer and has been silent for 5ms: opencode (20) waits for requests | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
    "#]].assert_eq(&all_answers(vec![
        ("nothing is under way", served(idle())),
        ("signs of life", came(served(idle()), 128, 1)),
        ("more than that", came(served(idle()), 129, 1)),
        ("not even signs of life", at(connection(80, 60_000), &["serve"], idle())),
        ("a session is busy", served(Agent { busy: Some(1), ..idle() })),
        ("nothing was asked", served(Agent { busy: None, ..idle() })),
        ("a tool runs", served(Agent { running: vec!["bash".into()], ..idle() })),
        ("it asks", served(Agent { asks: vec![ask.clone()], busy: Some(1), ..idle() })),
        ("it is no server", at(connection(80, 5), &["run"], idle())),
        ("another says so", served(Agent { pid: 21, ..idle() })),
        ("a person's client", person(served(idle()))),
    ]));
}
