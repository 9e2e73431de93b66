//! What agents say of themselves, and what it means, row by row.

use super::*;

fn agent(name: &str, args: &[&str]) -> Process {
    let process = started(process(11, 10, name), &[&[name], args].concat());
    watches(has(process, 5, Mode::Both, Object::Event { count: 0 }), &[5], TimeLimit::Never)
}

fn record() -> Agent {
    Agent { pid: 11, name: "opencode".into(), form: "run".into(), sources: vec!["a log".into()], ..Agent::default() }
}

fn with(processes: Vec<Process>, record: Agent) -> Look {
    Look::of(processes).both(|s| s.agents = vec![record.clone()])
}

fn says(record: Agent) -> Look {
    with(vec![agent("opencode", &["run", "x"])], record)
}

#[test]
fn an_open_ask_is_named_with_what_would_answer_it() {
    let ask = |kind: &str, text: &str, nested| Ask {
        kind: kind.into(),
        id: "id_1".into(),
        text: text.into(),
        nested,
        ..Ask::default()
    };
    let asks = |asks: &[Ask], form: &str| Agent { asks: asks.to_vec(), form: form.into(), ..record() };
    let one = |kind, nested, form| says(asks(&[ask(kind, "why", nested)], form));
    let many = |count| says(asks(&vec![ask("question", "why", false); count], "run"));
    let options = Ask { options: vec!["a".into(), "b".into()], ..ask("question", "why", false) };
    let answer = Agent { answer: "curl x".into(), ..asks(std::slice::from_ref(&options), "run") };
    let process = tty(agent("opencode", &["run", "x"]), 0, 1);
    let typed = with(vec![watches(process, &[0], TimeLimit::Never)], asks(&[ask("question", "why", false)], "run"));
    let served =
        with(vec![socket(agent("opencode", &["run", "x"]), 6, 80)], asks(&[ask("question", "why", false)], "run"));
    let fd_only =
        with(vec![tty(agent("opencode", &["run", "x"]), 0, 1)], asks(&[ask("question", "why", false)], "run"));
    let deaf = one("question", false, "run").both(|s| s.tree.get_mut(&11).unwrap().signals.ignored = 1 << 14);
    let held = one("question", false, "run").both(|s| s.tree.get_mut(&11).unwrap().signals.blocked = 1 << 14);
    expect![[r#"
        question: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question “why”, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log
        question of a subagent: Hung question-open Q2 (Certain, closed in): opencode (11) waits for the answer to its question “why” asked by a subagent, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log
        permission: Hung permission-open P1 (Certain, closed in): opencode (11) waits for the permission “why”, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log
        permission in an SDK: Hung permission-open P3 (Certain, closed in): opencode (11) waits for the permission “why”, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log
        permission of a subagent: Hung permission-open P2 (Certain, closed in): opencode (11) waits for the permission “why” asked by a subagent, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log
        without words: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question id_1, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log
        two: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question “why”, and nobody answers (1 more is open) | an answer; from outside: kill 11 | it says so itself: a log
        three: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question “why”, and nobody answers (2 more are open) | an answer; from outside: kill 11 | it says so itself: a log
        options: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question “why”, and nobody answers | an answer (a / b); from outside: kill 11 | it says so itself: a log
        an answer: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question “why”, and nobody answers | an answer (a / b): curl x; from outside: kill 11 | it says so itself: a log
        at a terminal that it reads: Hung question-open Q1 (Likely): opencode (11) waits for the answer to its question “why”, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log; somebody may still answer at the terminal /dev/pts/3
        at a terminal that it does not read: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question “why”, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log
        at its server: Hung question-open Q1 (Likely): opencode (11) waits for the answer to its question “why”, and nobody answers | an answer; from outside: kill 11 | it says so itself: a log; somebody may still answer by way of 127.0.0.1:4096
        it ignores TERM: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question “why”, and nobody answers | an answer; from outside: kill -KILL 11 (it ignores TERM) | it says so itself: a log
        it holds TERM back: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question “why”, and nobody answers | an answer; from outside: kill -KILL 11 (it ignores TERM) | it says so itself: a log
        it asks its model again: Waiting retry M5 (Certain): opencode (11) waits before it asks its model again | an answer of the model | it says so itself: a log
        of another process: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
    "#]].assert_eq(&all_answers(vec![
        ("question", one("question", false, "run")),
        ("question of a subagent", one("question", true, "sdk")),
        ("permission", one("permission", false, "run")),
        ("permission in an SDK", one("permission", false, "sdk")),
        ("permission of a subagent", one("permission", true, "sdk")),
        ("without words", says(asks(&[ask("question", "", false)], "run"))),
        ("two", many(2)),
        ("three", many(3)),
        ("options", says(asks(&[options], "run"))),
        ("an answer", says(answer)),
        ("at a terminal that it reads", typed),
        ("at a terminal that it does not read", fd_only),
        ("at its server", served.socket(listening(80, "127.0.0.1:4096"))),
        ("it ignores TERM", deaf),
        ("it holds TERM back", held),
        ("it asks its model again", says(Agent { turn: "retrying".into(), ..record() })),
        ("of another process", says(Agent { pid: 12, turn: "retrying".into(), ..record() })),
    ]));
}

#[test]
fn a_tool_without_a_command_is_a_prompt_where_the_agent_listens() {
    let record =
        |tool: &str| Agent { name: "claude".into(), running: vec![tool.into()], turn: "open".into(), ..record() };
    let claude = |args: &[&str], what: Object, fds: &[i32]| {
        let process = has(agent("claude", args), 0, Mode::Both, what);
        let mut process = watches(process, fds, TimeLimit::Never);
        process.threads.remove(0);
        process
    };
    let terminal = || Object::Tty { path: "/dev/pts/3".into(), index: Some(3) };
    let pipe_ = || Object::Pipe { inode: 70 };
    let at = |what: Object, tool: &str| with(vec![claude(&[], what, &[0])], record(tool));
    let piped = |tool: &str| at(pipe_(), tool).beside(pipe(awaits(process(20, 1, "python3")), 9, Mode::Write, 70));
    let over = |form: &str, turn: &str, asked: &[&str]| {
        let process = has(agent("goose", &["acp-by-another-name"]), 0, Mode::Both, pipe_());
        let mut process = watches(process, &[0], TimeLimit::Never);
        process.threads.remove(0);
        let running = asked.iter().map(|&tool| tool.to_owned()).collect();
        let record = Agent { name: "goose".into(), form: form.to_owned(), running, turn: turn.into(), ..record("") };
        with(vec![process], record).beside(pipe(awaits(super::process(20, 1, "python3")), 9, Mode::Write, 70))
    };
    let acp = |turn: &str, asked: &[&str]| over(crate::heard::ACP, turn, asked);
    let app_server = |asked: &str| over(crate::heard::APP_SERVER, "open", &[asked]);
    let child = |args: &[&str], after_ns: u64| {
        let child = started(sleeps(process(12, 11, args[0]), 90_000), args);
        let child = Process { began_ns: 1_000_000_000 + after_ns, ..child };
        with(vec![claude(&[], terminal(), &[0]), child], record("Bash: ls"))
    };
    let hosted = |args: &[&str], tool: &str| {
        let all = [&["--input-format", "stream-json"], args].concat();
        let process = claude(&all, pipe_(), &[0]);
        with(vec![process], record(tool)).beside(pipe(awaits(super::process(20, 1, "python3")), 9, Mode::Write, 70))
    };
    let duplicate = |inode| {
        let process = has(claude(&[], pipe_(), &[6]), 6, Mode::Read, Object::Pipe { inode });
        with(vec![process], record("Bash: ls"))
    };
    let connected = |socket_: Option<Socket>, ms: u64| {
        let look = with(vec![socket(claude(&[], terminal(), &[0]), 7, 80)], record("Bash: ls"));
        let look = socket_.into_iter().fold(look, Look::socket);
        look.later(|s| s.tree.get_mut(&11).unwrap().threads[0].cpu_ns += ms * 1_000_000)
    };
    let fresh = || Some(connection(80, 5));
    expect![[r#"
        a terminal: Hung permission-open P1 (Likely): Claude Code (11) waits for the answer to its permission prompt for “Bash: ls”, which a key at the terminal /dev/pts/3 should bring | an answer typed there; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        a question at a terminal: Hung question-open Q1 (Likely): Claude Code (11) waits for the answer to its question “AskUserQuestion: x”, which a key at the terminal /dev/pts/3 should bring | an answer typed there; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        a pipe: Hung permission-open P3 (Likely): Claude Code (11) waits for the answer to its permission prompt for “Bash: ls”, which python3 (20) should write to its standard input and does not | a control_response line there, for that can_use_tool request; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        a question on a pipe: Hung question-open Q1 (Likely): Claude Code (11) waits for the answer to its question “AskUserQuestion”, which python3 (20) should write to its standard input and does not | a control_response line there, for that can_use_tool request; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        a hook of its host: Waiting permission-open X5 (Likely, hung in 11m): Claude Code (11) waits for the hook that python3 (20) runs for “Bash: ls”, until that hook's limit | a control_response line there, for that hook_callback request; from outside: kill 11 | it asks for no permission in this mode, and its record has that call without a result (a log)
        the same, by another flag: Waiting permission-open X5 (Likely, hung in 11m): Claude Code (11) waits for the hook that python3 (20) runs for “Bash: ls”, until that hook's limit | a control_response line there, for that hook_callback request; from outside: kill 11 | it asks for no permission in this mode, and its record has that call without a result (a log)
        a host that may be asked: Hung permission-open P3 (Likely): Claude Code (11) waits for the answer to its permission prompt for “Bash: ls”, which python3 (20) should write to its standard input and does not | a control_response line there, for that can_use_tool request; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        a question where no permission is asked for: Hung question-open Q1 (Likely): Claude Code (11) waits for the answer to its question “AskUserQuestion”, which python3 (20) should write to its standard input and does not | a control_response line there, for that can_use_tool request; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        another agent: Waiting terminal-person T3 (Likely): Claude Code (11) shows its screen and waits for a person's key at the terminal /dev/pts/3 | a key, or the answer that its screen asks for | whether anybody sits there cannot be seen from here
        over the Agent Client Protocol: Hung permission-open P3 (Likely): goose (11) waits for the answer to its permission prompt for “npm test”, which python3 (20) should write to its standard input and does not | a JSON-RPC response line there, for that session/request_permission; from outside: kill 11 | it has asked its host for that, and has said nothing of that call since, no command of it runs, and it listens on its standard input (a log)
        over it, between turns: Waiting serves - (Likely): goose (11) waits for requests | a request
        over it, in a turn: Hung host-silent P4 (Likely): goose (11) waits for its host in the middle of a turn: python3 (20) holds its standard input open and writes nothing | a line of python3 (20), such as the response to its last request; next time, a limit on what the host answers; from outside: kill 11 | its turn is open by its own record (a log), and it has no connection, no command and no other input; what it has asked its host, if anything, was not seen: an answer that got lost inside it looks the same
        over Codex' own protocol: Hung permission-open P3 (Likely): goose (11) waits for the answer to its permission prompt for “npm test”, which python3 (20) should write to its standard input and does not | a response line there, with the id of that request; from outside: kill 11 | it has asked its host for that, and has said nothing of that call since, no command of it runs, and it listens on its standard input (a log)
        a question over that: Hung question-open Q1 (Likely): goose (11) waits for the answer to its question “question: Which?”, which python3 (20) should write to its standard input and does not | a response line there, with the id of that request; from outside: kill 11 | it has asked its host for that, and has said nothing of that call since, no command of it runs, and it listens on its standard input (a log)
        no tool: Waiting terminal-person T3 (Likely): Claude Code (11) shows its screen and waits for a person's key at the terminal /dev/pts/3 | a key, or the answer that its screen asks for | whether anybody sits there cannot be seen from here
        it does not listen: Hung tool-lost B13 (Likely): Claude Code (11) waits for the result of its tool “Bash: ls”, of which nothing runs: no command, no connection | nothing in sight; from outside: kill 11 | its own record has that call without a result: a log
        it listens on a copy of its input: Hung permission-open P3 (Likely, closed in): Claude Code (11) waits for the answer to its permission prompt for “Bash: ls”, which nobody in sight should write to its standard input and does not | a control_response line there, for that can_use_tool request; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        it listens on something else: Hung tool-lost B13 (Likely): Claude Code (11) waits for the result of its tool “Bash: ls”, of which nothing runs: no command, no connection | nothing in sight; from outside: kill 11 | its own record has that call without a result: a log
        a command: Waiting sleep - (Likely): sleep (12) sleeps (1m30s) | time
        a child that began with it: Hung permission-open P1 (Likely): Claude Code (11) waits for the answer to its permission prompt for “Bash: ls”, which a key at the terminal /dev/pts/3 should bring | an answer typed there; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        a tool server: Hung permission-open P1 (Likely): Claude Code (11) waits for the answer to its permission prompt for “Bash: ls”, which a key at the terminal /dev/pts/3 should bring | an answer typed there; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        at work with a model: Waiting terminal-person T3 (Likely): Claude Code (11) shows its screen and waits for a person's key at the terminal /dev/pts/3 | a key, or the answer that its screen asks for | whether anybody sits there cannot be seen from here
        idle with a model: Hung permission-open P1 (Likely): Claude Code (11) waits for the answer to its permission prompt for “Bash: ls”, which a key at the terminal /dev/pts/3 should bring | an answer typed there; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
        at work without a model: Hung permission-open P1 (Likely): Claude Code (11) waits for the answer to its permission prompt for “Bash: ls”, which a key at the terminal /dev/pts/3 should bring | an answer typed there; next time, allow the tool beforehand (--allowedTools) or answer its requests; from outside: kill 11 | its own record has that call without a result, no command of it runs, and it listens on its standard input (a log)
    "#]].assert_eq(&all_answers(vec![
        ("a terminal", at(terminal(), "Bash: ls")),
        ("a question at a terminal", at(terminal(), "AskUserQuestion: x")),
        ("a pipe", piped("Bash: ls")),
        ("a question on a pipe", piped("AskUserQuestion")),
        ("a hook of its host", hosted(&["--permission-mode", "bypassPermissions"], "Bash: ls")),
        ("the same, by another flag", hosted(&["--dangerously-skip-permissions"], "Bash: ls")),
        ("a host that may be asked", hosted(&["--permission-mode", "default"], "Bash: ls")),
        ("a question where no permission is asked for", hosted(&["--dangerously-skip-permissions"], "AskUserQuestion")),
        ("another agent", with(vec![claude(&[], terminal(), &[0])], Agent { name: "codex".into(), ..record("Bash: ls") })),
        ("over the Agent Client Protocol", acp("open", &["npm test"])),
        ("over it, between turns", acp("ended", &[])),
        ("over it, in a turn", acp("open", &[])),
        ("over Codex' own protocol", app_server("npm test")),
        ("a question over that", app_server("question: Which?")),
        ("no tool", with(vec![claude(&[], terminal(), &[0])], Agent { running: vec![], ..record("") })),
        ("it does not listen", with(vec![claude(&[], terminal(), &[5])], record("Bash: ls"))),
        ("it listens on a copy of its input", duplicate(70)),
        ("it listens on something else", duplicate(71)),
        ("a command", child(&["sleep"], 3_000_000_001)),
        ("a child that began with it", child(&["sleep"], 3_000_000_000)),
        ("a tool server", child(&["x-mcp"], 9_000_000_000)),
        ("at work with a model", connected(fresh(), 51)),
        ("idle with a model", connected(fresh(), 50)),
        ("at work without a model", connected(None, 51)),
    ]));
}

#[test]
fn an_agent_that_is_done_and_stays_is_kept_by_something() {
    let done = || Agent { turn: "ended".into(), ..record() };
    let process_ = || agent("opencode", &["run", "x"]);
    let piped = |process: Process| watches(pipe(process, 0, Mode::Read, 70), &[0], TimeLimit::Never);
    let child = || sleeps(process(12, 11, "npm"), 90_000);
    let holder = || pipe(awaits(process(20, 1, "python3")), 9, Mode::Write, 70);
    let asks = Agent { asks: vec![Ask { kind: "question".into(), ..Ask::default() }], ..done() };
    let terminal = watches(tty(process_(), 0, 1), &[0], TimeLimit::Never);
    let socketed = watches(socket(process_(), 0, 82), &[0], TimeLimit::Never);
    expect![[r#"
        nothing: Hung alive-after-result H1 (Likely): opencode (11) has finished its turn and does not exit: nothing in sight keeps it | nothing in sight; from outside: kill 11 (its result is out) | its own record ends with a finished turn: a log
        its input: Hung alive-after-result H1 (Likely): opencode (11) has finished its turn and does not exit: python3 (20) holds its standard input open and writes nothing | python3 (20) closes it; from outside: kill 11 (its result is out) | its own record ends with a finished turn: a log
        its input, a socket: Hung alive-after-result H1 (Likely): opencode (11) has finished its turn and does not exit: nobody in sight holds its standard input open and writes nothing | nobody in sight closes it; from outside: kill 11 (its result is out) | its own record ends with a finished turn: a log
        its input, a terminal: Hung alive-after-result H1 (Likely): opencode (11) has finished its turn and does not exit: nothing in sight keeps it | nothing in sight; from outside: kill 11 (its result is out) | its own record ends with a finished turn: a log
        another descriptor: Hung stray-holds-pipe B6 (Likely): opencode (11) reads descriptor 6 to its end, but python3 (20), which outlived the command that started it, holds it open | the end of python3 (20): kill 20; next time, redirect both streams of what stays in the background | 20 holds the write end, its parent is gone (now 1)
        a child: Hung alive-after-result H1 (Likely): opencode (11) has finished its turn and does not exit: npm (12) below it lives | the end of npm (12); from outside: kill 11 (its result is out) | its own record ends with a finished turn: a log
        a child that has ended: Hung alive-after-result H1 (Likely): opencode (11) has finished its turn and does not exit: nothing in sight keeps it | nothing in sight; from outside: kill 11 (its result is out) | its own record ends with a finished turn: a log
        a connection: Hung alive-after-result H1 (Likely): opencode (11) has finished its turn and does not exit: its connection to 93.184.216.34:443 stands | the end of that connection; from outside: kill 11 (its result is out) | its own record ends with a finished turn: a log
        its turn is open: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        it asks: Hung question-open Q1 (Certain, closed in): opencode (11) waits for the answer to its question , and nobody answers | an answer; from outside: kill 11 | it says so itself: a log
        of another process: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        with a person: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        a server: Waiting serves - (Likely): opencode (11) waits for requests | a request
        no agent: Unknown unknown - (Guess): cat (11) waits for an event descriptor, descriptor 5: who else has it cannot be seen
    "#]].assert_eq(&all_answers(vec![
        ("nothing", with(vec![process_()], done())),
        ("its input", with(vec![piped(process_())], done()).beside(holder())),
        ("its input, a socket", with(vec![socketed], done()).socket(unix(82, 83))),
        ("its input, a terminal", with(vec![terminal], done())),
        ("another descriptor", with(vec![watches(pipe(process_(), 6, Mode::Read, 70), &[6], TimeLimit::Never)], done()).beside(holder())),
        ("a child", with(vec![process_(), child()], done())),
        ("a child that has ended", with(vec![process_(), zombie(12, 11)], done())),
        ("a connection", with(vec![socket(process_(), 7, 80)], done()).socket(connection(80, 90_000))),
        ("its turn is open", with(vec![process_()], Agent { turn: "open".into(), ..record() })),
        ("it asks", with(vec![process_()], asks)),
        ("of another process", with(vec![process_()], Agent { pid: 12, ..done() })),
        ("with a person", with(vec![agent("opencode", &[])], done())),
        ("a server", with(vec![agent("opencode", &["run", "serve"])], done())),
        ("no agent", with(vec![agent("cat", &["run"])], done())),
    ]));
}

#[test]
fn a_tool_server_that_does_not_read_is_mute() {
    // its input is pipe 70, its output pipe 71
    let server = |process: Process| pipe(pipe(process, 0, Mode::Read, 70), 1, Mode::Write, 71);
    let client = |process: Process| pipe(pipe(process, 8, Mode::Write, 70), 9, Mode::Read, 71);
    let look = |agent: Process, server: Process| Look::of(vec![client(agent), server]);
    let opencode = || agent("opencode", &["run"]);
    let mcp = || started(process(12, 11, "x-mcp"), &["x-mcp"]);
    let naps = || sleeps(mcp(), 90_000);
    let other_input = || pipe(pipe(naps(), 0, Mode::Read, 72), 1, Mode::Write, 71);
    let other_output = || pipe(pipe(naps(), 0, Mode::Read, 70), 1, Mode::Write, 72);
    let plain = server(sleeps(process(12, 11, "x"), 90_000));
    let connected = look(socket(opencode(), 7, 80), server(naps())).socket(connection(80, 5));
    expect![[r#"
        it naps: Waiting tool-server-mute X1 (Likely): opencode (11) has a tool server, x-mcp (12), that does not read what it is asked | x-mcp (12) reads, or ends: kill 12; next time, a limit on its start and on calls | both its streams lead to the agent, and none of its threads reads them: it may be busy, or never come up
        it reads: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no command, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        it works: Working working - (Certain): x-mcp (12) works: 25 % of a core | nothing needs to: it works
        it works a little: Waiting tool-server-mute X1 (Likely): opencode (11) has a tool server, x-mcp (12), that does not read what it is asked | x-mcp (12) reads, or ends: kill 12; next time, a limit on its start and on calls | both its streams lead to the agent, and none of its threads reads them: it may be busy, or never come up
        its input is another's: Waiting sleep - (Likely): x-mcp (12) sleeps (1m30s) | time
        its output is another's: Waiting sleep - (Likely): x-mcp (12) sleeps (1m30s) | time
        no tool server: Waiting sleep - (Likely): x (12) sleeps (1m30s) | time
        the agent waits for its model: Waiting sleep - (Likely): x-mcp (12) sleeps (1m30s) | time
        no agent: Waiting sleep - (Likely): x-mcp (12) sleeps (1m30s) | time
    "#]].assert_eq(&all_answers(vec![
        ("it naps", look(opencode(), server(naps()))),
        ("it reads", look(opencode(), server(reads(mcp(), 0)))),
        ("it works", spends(look(opencode(), server(naps())), 12, 25)),
        ("it works a little", spends(look(opencode(), server(naps())), 12, 24)),
        ("its input is another's", look(opencode(), other_input())),
        ("its output is another's", look(opencode(), other_output())),
        ("no tool server", look(opencode(), plain)),
        ("the agent waits for its model", connected),
        ("no agent", look(agent("cat", &[]), server(naps()))),
    ]));
}

#[test]
fn an_agent_of_which_nothing_runs_has_lost_something() {
    let runs = |tool: &str| says(Agent { running: vec![tool.into()], turn: "open".into(), ..record() });
    let busy = |turn: &str, busy| says(Agent { turn: turn.into(), busy, ..record() });
    let person = |turn: &str, busy| with(vec![agent("opencode", &[])], Agent { turn: turn.into(), busy, ..record() });
    let timer =
        |limit| Look::of(vec![watches(started(process(11, 10, "opencode"), &["opencode", "run"]), &[9, 9], limit)]);
    let helper = started(reads(pipe(process(12, 11, "x-mcp"), 0, Mode::Read, 70), 0), &["x-mcp"]);
    let command = started(watches(process(12, 11, "x"), &[9, 9], TimeLimit::Never), &["x"]);
    let run = || agent("opencode", &["run"]);
    expect![[r#"
        a tool: Hung tool-lost B13 (Likely): opencode (11) waits for the result of its tool “bash: ls”, of which nothing runs: no command, no connection | nothing in sight; from outside: kill 11 | its own record has that call without a result: a log
        a tool of a server: Hung tool-lost X2 (Likely): opencode (11) waits for the result of its tool “mcp__x”, which a tool server owes it | nothing in sight; from outside: kill 11 | its own record has that call without a result: a log
        a subagent: Hung tool-lost E9 (Likely): opencode (11) waits for the result of its tool “task”, a subagent whose own session is idle | nothing in sight; from outside: kill 11 | its own record has that call without a result: a log
        a subagent with its words: Hung tool-lost E9 (Likely): opencode (11) waits for the result of its tool “task: x”, a subagent whose own session is idle | nothing in sight; from outside: kill 11 | its own record has that call without a result: a log
        a tool that begins like that: Hung tool-lost B13 (Likely): opencode (11) waits for the result of its tool “tasks”, of which nothing runs: no command, no connection | nothing in sight; from outside: kill 11 | its own record has that call without a result: a log
        busy with a complete answer: Hung busy-stuck E3 (Likely): opencode (11) calls its session busy, and that session's last answer is complete | an abort of that session; nothing in sight; from outside: kill 11 | it says so itself: a log
        not busy: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        busy with an open answer: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        not told whether busy: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        busy, without a person: Hung alive-after-result H1 (Likely): opencode (11) has finished its turn and does not exit: nothing in sight keeps it | nothing in sight; from outside: kill 11 (its result is out) | its own record ends with a finished turn: a log
        nothing: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        a timer: Waiting no-connection M8 (Guess, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself, its nearest timer 5s: an answer that nobody gives, an event that got lost, or a pause before it tries again look like this
        no timer: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        the limit of a wait for a thread: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        a tool server: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no command, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        a command that idles: Unknown live-child - (Guess): opencode (11) waits for x (12), which lives | the child's end | x (12) waits, and what for cannot be seen
        a connection that it does not watch: Unknown unknown - (Guess): opencode (11) waits for an event descriptor, descriptor 5: who else has it cannot be seen
    "#]].assert_eq(&all_answers(vec![
        ("a tool", runs("bash: ls")),
        ("a tool of a server", runs("mcp__x")),
        ("a subagent", runs("task")),
        ("a subagent with its words", runs("task: x")),
        ("a tool that begins like that", runs("tasks")),
        ("busy with a complete answer", person("ended", Some(1))),
        ("not busy", person("ended", Some(0))),
        ("busy with an open answer", person("open", Some(1))),
        ("not told whether busy", person("ended", None)),
        ("busy, without a person", busy("ended", Some(1))),
        ("nothing", Look::of(vec![run()])),
        ("a timer", timer(TimeLimit::LeftMs(5_000))),
        ("no timer", timer(TimeLimit::Never)),
        ("the limit of a wait for a thread", Look::of(vec![calls(run(), "futex", Does::Futex, TimeLimit::LeftMs(5_000))])),
        ("a tool server", Look::of(vec![run(), helper])),
        ("a command that idles", Look::of(vec![run(), command])),
        ("a connection that it does not watch", Look::of(vec![socket(run(), 7, 80)]).socket(connection(80, 5))),
    ]));
}

#[test]
fn an_agents_server_waits_for_requests_or_for_a_log_in() {
    let listens = |name: &str, args: &[&str]| {
        Look::of(vec![socket(agent(name, args), 6, 80)]).socket(listening(80, "127.0.0.1:1455"))
    };
    let told = |look: Look, record: Agent| look.both(|s| s.agents = vec![record.clone()]);
    let busy = |busy| Agent { busy, ..record() };
    let nameless = Look::of(vec![socket(agent("codex", &[]), 6, 80)]).socket(listening(80, ""));
    let no_sources = Agent { sources: vec![], ..record() };
    expect![[r#"
        a server: Waiting serves - (Likely): opencode (11) waits for requests at 127.0.0.1:1455 | a request
        a server without a port: Waiting serves - (Likely): opencode (11) waits for requests | a request
        a server with a busy session: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        a server without one: Waiting serves - (Likely): opencode (11) waits for requests at 127.0.0.1:1455 | a request
        a log-in: Hung oauth-callback X4 (Likely): Codex (11) listens on 127.0.0.1:1455 and does nothing else: it waits for a browser to come back from a log-in | the log-in in a browser on this machine; next time, an API key; from outside: kill 11 | a listening socket, no connection, no child
        a log-in of an agent that says nothing: Hung oauth-callback X4 (Likely): Codex (11) listens on 127.0.0.1:1455 and does nothing else: it waits for a browser to come back from a log-in | the log-in in a browser on this machine; next time, an API key; from outside: kill 11 | a listening socket, no connection, no child
        an agent that says something: Waiting no-connection M8 (Likely, hung in 29m): Codex (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        opencode's own port: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        no address: Waiting no-connection M8 (Likely, hung in 29m): Codex (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        no port: Waiting no-connection M8 (Likely, hung in 29m): Codex (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
    "#]].assert_eq(&all_answers(vec![
        ("a server", listens("opencode", &["serve"])),
        ("a server without a port", Look::of(vec![agent("opencode", &["serve"])])),
        ("a server with a busy session", told(listens("opencode", &["serve"]), busy(Some(1)))),
        ("a server without one", told(listens("opencode", &["serve"]), busy(Some(0)))),
        ("a log-in", listens("codex", &[])),
        ("a log-in of an agent that says nothing", told(listens("codex", &[]), no_sources)),
        ("an agent that says something", told(listens("codex", &[]), record())),
        ("opencode's own port", listens("opencode", &[])),
        ("no address", nameless),
        ("no port", Look::of(vec![agent("codex", &[])])),
    ]));
}

#[test]
fn a_command_that_serves_or_watches_never_ends_by_itself() {
    let serves = || socket(reads(socket(process(12, 11, "vite"), 5, 80), 5), 6, 81);
    let watches_ = || reads(has(process(12, 11, "tsc"), 4, Mode::Read, Object::Inotify), 4);
    let naps = || sleeps(process(12, 11, "sleep"), 90_000);
    let look = |agent: Process, child: Process| Look::of(vec![agent, child]).socket(listening(80, "127.0.0.1:5173"));
    let run = || agent("opencode", &["run", "x"]);
    let connected = look(socket(run(), 7, 82), serves()).socket(connection(82, 90_000));
    let helper = started(serves(), &["x-mcp"]);
    let two = Look::of(vec![run(), awaits(process(12, 11, "npm")), Process { pid: 13, ppid: 12, ..serves() }]);
    let first = Look::of(vec![
        run(),
        watches(process(12, 11, "x"), &[9, 9], TimeLimit::Never),
        Process { pid: 13, ..watches_() },
    ]);
    expect![[r#"
        it serves: Hung never-ends B5 (Likely, parts [12]): opencode (11) waits for a command that usually does not end: vite (12) waits for requests at 127.0.0.1:5173 | kill 12; next time, start it in the background, or with a limit | the agent has nothing else under way: no connection to a model, no input that it waits for
        it watches: Hung never-ends B5 (Likely, parts [12]): opencode (11) waits for a command that usually does not end: tsc (12) watches files, and waits for one to change | kill 12; next time, start it in the background, or with a limit | the agent has nothing else under way: no connection to a model, no input that it waits for
        it naps: Waiting sleep - (Likely): sleep (12) sleeps (1m30s) | time
        the second one watches: Hung never-ends B5 (Likely, parts [13]): opencode (11) waits for a command that usually does not end: tsc (13) watches files, and waits for one to change | kill 13; next time, start it in the background, or with a limit | the agent has nothing else under way: no connection to a model, no input that it waits for
        one below it serves: Hung never-ends B5 (Likely, parts [12]): opencode (11) waits for a command that usually does not end: vite (13) waits for requests at 127.0.0.1:5173 | kill 13; next time, start it in the background, or with a limit | the agent has nothing else under way: no connection to a model, no input that it waits for
        a tool server: Waiting no-connection M8 (Likely, hung in 29m): opencode (11) has nothing under way: no connection to a model, no command, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        with a person: Waiting serves - (Likely): vite (12) waits for requests at 127.0.0.1:5173 | a request; a server ends when told to | it listens there, and has nothing else under way
        of a server: Waiting serves - (Likely): opencode (11) waits for requests | a request
        no agent: Waiting serves - (Likely): vite (12) waits for requests at 127.0.0.1:5173 | a request; a server ends when told to | it listens there, and has nothing else under way
        beside a model: Waiting serves - (Likely): vite (12) waits for requests at 127.0.0.1:5173 | a request; a server ends when told to | it listens there, and has nothing else under way
    "#]].assert_eq(&all_answers(vec![
        ("it serves", look(run(), serves())),
        ("it watches", look(run(), watches_())),
        ("it naps", look(run(), naps())),
        ("the second one watches", first),
        ("one below it serves", two.socket(listening(80, "127.0.0.1:5173"))),
        ("a tool server", look(run(), helper)),
        ("with a person", look(agent("opencode", &[]), serves())),
        ("of a server", look(agent("opencode", &["serve", "run"]), serves())),
        ("no agent", look(agent("cat", &["run"]), serves())),
        ("beside a model", connected),
    ]));
}

#[test]
fn a_prompt_waits_for_its_answer_and_for_no_timer() {
    let record = |tools: &[&str]| {
        let running = tools.iter().map(|tool| (*tool).to_owned()).collect();
        Agent { name: "claude".into(), running, turn: "open".into(), ..record() }
    };
    let claude = |fds: &[i32]| {
        let process = started(process(11, 10, "claude"), &["claude"]);
        let process = pipe(pipe(process, 0, Mode::Read, 70), 1, Mode::Write, 75);
        watches(process, fds, TimeLimit::LeftMs(5_000))
    };
    let look = |claude: Process, tools: &[&str]| {
        let host = reads(pipe(pipe(process(20, 1, "host"), 3, Mode::Read, 75), 9, Mode::Write, 70), 3);
        with(vec![claude], record(tools)).beside(host)
    };
    let connected = |change: &dyn Fn(&mut Traffic)| {
        let mut with = connection(80, 5_000);
        with.traffic.iter_mut().for_each(change);
        look(socket(claude(&[0, 7]), 7, 80), &["Bash: ls"]).socket(with)
    };
    let timer = || has(claude(&[0, 6]), 6, Mode::Both, Object::Timer { left_ms: Some(9) });
    let server = || {
        let server = started(pipe(process(12, 11, "x-mcp"), 1, Mode::Write, 76), &["x-mcp"]);
        let server = watches(has(server, 3, Mode::Both, Object::Inotify), &[3], TimeLimit::Never);
        let claude = pipe(claude(&[0, 8]), 8, Mode::Read, 76);
        let look = look(claude, &["Bash: ls"]);
        look.both(|s| drop(s.tree.insert(12, server.clone())))
    };
    let editor = || look(socket(claude(&[0, 7]), 7, 81), &["Bash: ls"]).socket(listening(81, "127.0.0.1:81"));
    let inbox = |path: &str| {
        let inbox = Socket { family: Family::Unix, ..listening(81, path) };
        look(socket(claude(&[0, 7]), 7, 81), &["Bash: ls"]).socket(inbox)
    };
    let watch = has(claude(&[0, 6]), 6, Mode::Both, Object::Inotify);
    let closed = |look: Look| look.graph().is_closed_in(11);
    let all = [
        ("a command", look(claude(&[0]), &["Bash: ls"]), true),
        ("a question", look(claude(&[0]), &["AskUserQuestion"]), true),
        ("a timer of its own", look(timer(), &["Bash: ls"]), true),
        ("what works without a process", look(claude(&[0]), &["WebFetch: x"]), false),
        ("such a tool beside it", look(claude(&[0]), &["Bash: ls", "WebFetch: x"]), false),
        ("a model that has answered", connected(&|_| {}), true),
        ("a model that has answered at once", connected(&|traffic| traffic.since_sent_ms = 5_000), true),
        ("a model that is asked", connected(&|traffic| traffic.since_sent_ms = 4_999), false),
        ("a model that has never answered", connected(&|traffic| traffic.received_bytes = 0), false),
        ("a tool server that waits for somebody", server(), false),
        ("an editor may call", editor(), false),
        ("its inbox", inbox("/run/cc-socks/4.sock"), true),
        ("its inbox, with the user's number", inbox("/tmp/cc-socks-1000/4.sock"), true),
        ("another socket with a path", inbox("/run/ide/4.sock"), false),
        ("its settings may change", look(watch, &["Bash: ls"]), true),
    ];
    for (what, look, want) in all {
        assert_eq!(closed(look), want, "{what}");
    }
}

#[test]
fn a_hosted_agent_in_the_middle_of_a_turn_waits_for_its_host() {
    const HOSTED: [&str; 3] = ["-p", "--input-format", "stream-json"];
    let claude = |args: &[&str]| {
        let process = pipe(started(process(11, 10, "claude"), &[&["claude"], args].concat()), 0, Mode::Read, 70);
        watches(has(process, 5, Mode::Both, Object::Event { count: 0 }), &[0, 5], TimeLimit::Never)
    };
    let host = || pipe(process(10, 1, "host"), 4, Mode::Write, 70);
    let told = |agent: Process, name: &str, turn: &str| {
        let record = Agent { name: name.into(), turn: turn.into(), ..record() };
        let look = with(vec![agent], record);
        look.both(|s| {
            let host = host();
            s.around.insert(host.pid, host);
        })
    };
    let nobody = with(vec![claude(&HOSTED)], Agent { name: "claude".into(), turn: "open".into(), ..record() });
    let command = told(claude(&HOSTED), "claude", "open").both(|s| {
        let child = started(sleeps(process(12, 11, "make"), 90_000), &["make"]);
        s.tree.insert(child.pid, child);
    });
    expect![[r#"
        in the middle of a turn: Hung host-silent P4 (Likely): Claude Code (11) waits for its host in the middle of a turn: host (10) holds its standard input open and writes nothing | a line of host (10), such as the control_response to the last control_request; next time, a limit on what the host answers; from outside: kill 11 | its turn is open by its own record (a log), and it has no connection, no command and no other input; what it has asked its host, if anything, was not seen: an answer that got lost inside it looks the same
        its turn is over: Waiting between-turns H7 (Likely): Claude Code (11) has finished its turn and waits for the next message on its standard input | a message, or the end of its input | its own record ends with a finished turn: a log
        no record of a turn: Hung stdin-open S1 (Likely): Claude Code (11) waits for the next message on its standard input, which host (10) holds open and does not write to | host (10) closes its end or writes to it; next time, ends its input once its result is there; from outside: kill 11 | poll watches descriptor 0; host (10) might still write
        no host of messages: Waiting no-connection M8 (Likely, hung in 29m): Claude Code (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        another agent: Waiting no-connection M8 (Likely, hung in 29m): Claude Code (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        nobody in sight holds its input: Waiting no-connection M8 (Likely, hung in 29m): Claude Code (11) has nothing under way: no connection to a model, no child, no input that it waits for | nothing in sight; kill 11 | it waits inside itself: an answer that nobody gives, or an event that got lost, look like this
        a command of it runs: Waiting sleep - (Likely): make (12) sleeps (1m30s) | time
    "#]].assert_eq(&all_answers(vec![
        ("in the middle of a turn", told(claude(&HOSTED), "claude", "open")),
        ("its turn is over", told(claude(&HOSTED), "claude", "ended")),
        ("no record of a turn", told(claude(&HOSTED), "claude", "")),
        ("no host of messages", told(claude(&["-p"]), "claude", "open")),
        ("another agent", told(claude(&HOSTED), "codex", "open")),
        ("nobody in sight holds its input", nobody),
        ("a command of it runs", command),
    ]));
}

#[test]
fn a_call_of_a_tool_server_over_http_is_owed_by_that_server() {
    let claude = |running: &[&str], idle_ms: u64| {
        let process = socket(agent("claude", &["-p"]), 7, 80);
        let process = watches(process, &[5, 7], TimeLimit::Never);
        let running = running.iter().map(|tool| (*tool).to_owned()).collect();
        let record = Agent { name: "claude".into(), turn: "open".into(), running, ..record() };
        with(vec![process], record).socket(connection(80, idle_ms))
    };
    expect![[r#"
        silent: Waiting tool-lost X2 (Likely, hung in 28m30s): Claude Code (11) waits for the result of its tool “mcp__db__query: {}” from a tool server at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        silent for less than a minute: Waiting peer-wait - (Likely): Claude Code (11) waits for the result of its tool “mcp__db__query: {}” from a tool server at 93.184.216.34:443, which began to answer and has been silent for 30s | an answer | it counts as silent after 1m without a byte; a keep-alive line starts that time again
        a command runs too: Waiting model-silent M1 (Likely, hung in 28m30s): Claude Code (11) waits for the model's stream at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
        no call: Waiting model-silent M1 (Likely, hung in 28m30s): Claude Code (11) waits for the model's stream at 93.184.216.34:443, which began to answer and has been silent for 1m30s | a byte or an end from 93.184.216.34:443; from outside: kill 11 | 900 bytes came, then none; a connection that is merely kept looks the same
    "#]].assert_eq(&all_answers(vec![
        ("silent", claude(&["mcp__db__query: {}"], 90_000)),
        ("silent for less than a minute", claude(&["mcp__db__query: {}"], 30_000)),
        ("a command runs too", claude(&["mcp__db__query: {}", "Bash: make"], 90_000)),
        ("no call", claude(&[], 90_000)),
    ]));
}

/// An idle Codex 0.171.0 whose helper looks something up again and again, and an idle Claude Code whose connection is kept:
/// neither draws. At work each draws several times a second.
#[test]
fn an_agent_that_draws_nothing_waits_for_a_person() {
    let tui = |args: &[&str]| {
        let what = Object::Tty { path: "/dev/pts/3".into(), index: Some(3) };
        let process = socket(has(process(11, 10, "codex"), 0, Mode::Both, what), 7, 80);
        started(watches(process, &[0, 7], TimeLimit::Never), &[&["codex"], args].concat())
    };
    let io = |reads, read_bytes, writes, written_bytes| Io { reads, read_bytes, writes, written_bytes };
    let of = |args: &[&str], connection: Socket, io| moves(Look::of(vec![tui(args)]).socket(connection), 11, io);
    let at = |io, quiet_ms| of(&[], connection(80, quiet_ms), io);
    let (wakes, draws) = (io(2, 16, 4, 32), io(2, 16, 4, 33));
    let (looks_up, works) = (io(216, 219_597, 2, 16), io(216, 219_597, 2, 17));
    let unanswered = || {
        let traffic =
            Traffic { received_bytes: 0, since_received_ms: 9_000, since_sent_ms: 5_000, ..Traffic::default() };
        Socket { traffic: Some(traffic), ..connection(80, 0) }
    };
    let unread = Look::of(vec![tui(&[])]).socket(connection(80, 5_000));
    let helper = |of_tui| {
        let helper = started(process(12, 11, "codex"), &["codex", "app-server"]);
        moves(moves(Look::of(vec![tui(&[]), awaits(helper)]).socket(connection(80, 5_000)), 11, of_tui), 12, looks_up)
    };
    let tool = moves(Look::of(vec![tui(&[]), process(12, 11, "grep")]).socket(connection(80, 5_000)), 11, wakes);
    let says = |look: Look| {
        let diagnosis = look.diagnosis();
        format!("{:?} {} {:?}", diagnosis.verdict, diagnosis.signature, diagnosis.hung_in_ms)
    };
    let person = "Waiting terminal-person None";
    assert_eq!(says(at(wakes, 5_000)), person, "its connection is kept");
    assert_eq!(says(at(wakes, 40 * 60_000)), person, "and is no hang, however long");
    assert_eq!(says(at(draws, 5_000)), "Waiting peer-wait None");
    assert_eq!(says(at(looks_up, 5_000)), person);
    assert_eq!(says(at(works, 5_000)), "Working working None");
    assert_eq!(says(of(&[], unanswered(), wakes)), "Waiting peer-wait None", "its model owes it an answer");
    assert_eq!(says(of(&["exec"], connection(80, 5_000), looks_up)), "Working working None", "no person sits there");
    assert_eq!(says(unread), "Waiting peer-wait None", "whether it draws may not be read");
    assert_eq!(says(helper(wakes)), person);
    assert_eq!(says(helper(draws)), "Working working None");
    assert_eq!(says(moves(tool, 12, works)), "Working working None", "a command of it works");
}
