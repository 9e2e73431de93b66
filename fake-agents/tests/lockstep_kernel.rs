//! The real kernel does what the simulated one does, and what the research measured, cell by cell.

mod lockstep;

use lockstep::{Cell, Do, cell, drive, kernel};
use rehang_os::{exec, kernel::Kernel, os::Sig, sim};
use rehang_scenario::{
    Terminal::{Closed, CttyNull, Null, Pipe, Tty, TtyBackground, TtyBackgroundNohup},
    limits::{EXEC_BYTES, EXEC_STRING_BYTES},
};

/// Runs it on both kernels; they must agree, and their record must have these lines.
fn both(cell: &Cell, expected: &[&str]) {
    let real = drive(&mut kernel(), cell).unwrap();
    let simulated = drive(&mut sim::SimKernel::new(rehang_fakes::program), cell).unwrap();
    let real_text = real.join("\n");
    assert_eq!(real_text, simulated.join("\n"), "left: the real kernel, right: the simulated one");
    for line in expected {
        assert!(real.iter().any(|l| l == line), "no line `{line}` in\n{real_text}");
    }
}

#[test]
fn prints_and_exits() {
    let steps = r#"[{"print":"hello"},{"warn":"oops"},{"sleep":"15m"},{"exit":3}]"#;
    both(&cell(Null, steps), &["0 out \"hello\\n\"", "0 err \"oops\\n\"", "900000 agent exit 3", "900000 out end"]);
}

#[test]
fn a_line_typed_at_a_terminal_is_echoed_and_read() {
    let steps = r#"[{"prompt":"name? "},"read-stdin",{"print":"thanks"}]"#;
    let cell = cell(Tty, steps).at(1_000, Do::Type("yes\r"));
    both(&cell, &["0 out \"name? \"", "1000 out \"yes\\r\\n\"", "1000 out \"thanks\\r\\n\"", "1000 agent exit 0"]);
}

#[test]
fn what_fills_a_terminals_buffer_comes_out_whole() {
    // Linux gives at most 4,095 bytes of it at once (`N_TTY_BUF_SIZE`), and may part the two bytes of a line's end
    for lines in 2_044..2_049 {
        let out = format!("0 out {} bytes", 2 * lines.min(2_048));
        both(&cell(Tty, &format!(r#"[{{"print":"{}"}}]"#, "\\n".repeat(lines - 1))), &[&out]);
    }
}

#[test]
fn type_ahead_is_echoed_before_anybody_reads() {
    let steps = r#"[{"sleep":"10s"},"read-stdin","read-stdin",{"print":"done"}]"#;
    let cell = cell(Tty, steps).at(1_000, Do::Type("one\r")).at(2_000, Do::Type("tw")).at(3_000, Do::Type("o\r"));
    both(&cell, &["1000 out \"one\\r\\n\"", "2000 out \"tw\"", "3000 out \"o\\r\\n\"", "10000 agent exit 0"]);
}

#[test]
fn nobody_answers_on_a_terminal() {
    both(&cell(Tty, r#"["read-stdin"]"#), &["waits agent stdin", "left agent"]);
}

#[test]
fn stdin_ends_or_does_not() {
    both(&cell(Closed, r#"["read-stdin-to-end",{"print":"end"}]"#), &["0 out \"end\\n\"", "0 agent exit 0"]);
    both(&cell(Pipe, r#"["read-stdin-to-end"]"#), &["waits agent stdin"]);
    let cell = cell(Pipe, r#"["read-stdin",{"print":"a line"},"read-stdin-to-end"]"#);
    both(&cell.at(5, Do::Type("x\n")).at(9, Do::Close), &["5 out \"a line\\n\"", "9 agent exit 0"]);
}

#[test]
fn a_grandchild_holds_the_pipe() {
    let steps = r#"[{"background":{"name":"dev-server","does":[{"sleep":"1h"},{"print":"late"}]}},{"print":"done"}]"#;
    both(
        &cell(Null, steps),
        &[
            "0 agent exit 0",
            "0 agent.1 adopted",
            "3600000 out \"late\\n\"",
            "3600000 agent.1 exit 0",
            "3600000 out end",
        ],
    );
}

#[test]
fn an_escaped_grandchild_is_adopted_and_counted() {
    let steps =
        r#"[{"background":{"name":"d","does":["hold"],"setsid":true,"double-fork":true}},{"sleep":"1s"},"hold"]"#;
    let cell = cell(Null, steps).at(500, Do::Count("agent")).at(600, Do::Kill("agent", true, Sig::Kill));
    both(
        &cell,
        &[
            "0 agent.1.1 adopted",
            "500 agent has 0",
            "600 agent killed KILL",
            "waits agent.1.1 nothing",
            "left agent.1.1",
        ],
    );
}

#[test]
fn zombies_count_until_they_are_reaped() {
    // the background child ends while its parent does not look
    let steps = r#"[{"background":{"name":"b","does":[{"sleep":"2s"}]}},{"sleep":"10s"}]"#;
    let cell = cell(Null, steps).at(1_000, Do::Count("agent")).at(3_000, Do::Count("agent"));
    both(&cell, &["1000 agent has 1", "2000 agent.1 exit 0"]);
}

#[test]
fn a_full_stderr_pipe_blocks() {
    let steps = r#"[{"fill":{"bytes":65537,"stderr":true}},{"print":"through"}]"#;
    let mut cell = cell(Null, steps);
    cell.reads_from = 7_000;
    both(&cell, &["7000 err 65536 bytes", "7000 out \"through\\n\"", "7000 agent exit 0"]);
}

#[test]
fn term_is_ignored_and_kill_is_not() {
    let steps = r#"[{"ignore":["TERM"]},"hold"]"#;
    let cell = cell(Null, steps).at(1, Do::Kill("agent", true, Sig::Term)).at(2, Do::Kill("agent", true, Sig::Kill));
    both(&cell, &["2 agent killed KILL"]);
}

#[test]
fn an_ignored_signal_stays_ignored_in_children() {
    let steps = r#"[{"ignore":["TERM"]},{"run":["hold"]}]"#;
    let cell = cell(Null, steps).at(1, Do::Kill("agent", true, Sig::Term)).at(2, Do::Kill("agent", true, Sig::Kill));
    both(&cell, &["2 agent killed KILL", "2 agent.1 killed KILL"]);
}

#[test]
fn a_group_dies_as_one() {
    let cell = cell(Null, r#"[{"run":[{"run":["hold"]}]}]"#).at(1, Do::Kill("agent", true, Sig::Term));
    both(&cell, &["1 agent killed TERM", "1 agent.1 killed TERM", "1 agent.1.1 killed TERM"]);
}

#[test]
fn what_a_turn_ends_can_be_read_in_it() {
    let steps =
        r#"[{"start":{"name":"w","does":["hold"]}},{"sleep":"1s"},{"end":"w"},{"receive":{"from":"w"}},{"exit":3}]"#;
    let mut kernel = kernel();
    let log = drive(&mut kernel, &cell(Null, steps)).unwrap();
    assert!(log.contains(&"1000 agent exit 3".to_owned()), "{log:?}");
    // it starts, the child runs, and one turn brings the child's end about and reads the end of its stdout
    assert_eq!(kernel.turns(), 3);
}

#[test]
fn a_terminals_group_dies_of_what_it_was_sent() {
    let cell = cell(Tty, r#"[{"run":["hold"]}]"#).at(1, Do::Kill("agent", true, Sig::Term));
    both(&cell, &["1 agent killed TERM", "1 agent.1 killed TERM"]);
}

#[test]
fn ctrl_c_ends_the_foreground() {
    let cell = cell(Tty, r#"[{"run":["hold"]}]"#).at(1, Do::Type("\x03"));
    both(&cell, &["1 agent killed INT", "1 agent.1 killed INT", "1 out \"^C\""]);
}

#[test]
fn a_leaders_death_hangs_up_its_foreground() {
    let cell = cell(Tty, r#"[{"run":["hold"]}]"#).at(1, Do::Kill("agent", false, Sig::Term));
    both(&cell, &["1 agent killed TERM", "1 agent.1 adopted", "1 agent.1 killed HUP"]);
}

#[test]
fn a_hung_up_terminal_ends_its_leader() {
    both(&cell(Tty, r#"["hold"]"#).at(1, Do::Close), &["1 agent killed HUP"]);
}

#[test]
fn a_leader_that_ignores_the_hang_up_reads_the_end() {
    let steps = r#"[{"ignore":["HUP"]},"read-stdin",{"sleep":"1s"},{"exit":4}]"#;
    both(&cell(Tty, steps).at(1, Do::Close), &["1001 agent exit 4"]);
}

#[test]
fn a_read_in_the_background_stops() {
    both(&cell(TtyBackground, r#"["read-stdin"]"#), &["0 agent stopped TTIN", "waits agent stopped", "left agent"]);
}

#[test]
fn a_stopped_reader_tries_again_when_it_is_continued() {
    let cell = cell(TtyBackground, r#"["read-stdin"]"#).at(5, Do::Kill("agent", false, Sig::Cont));
    both(&cell, &["5 agent continued", "5 agent stopped TTIN"]);
}

#[test]
fn settings_in_the_background_stop() {
    both(&cell(TtyBackground, r#"["set-tty"]"#), &["0 agent stopped TTOU", "waits agent stopped"]);
}

#[test]
fn term_waits_for_cont_in_a_stopped_process() {
    let cell = cell(Null, r#"[{"raise":"STOP"},{"print":"again"}]"#)
        .at(1, Do::Kill("agent", false, Sig::Term))
        .at(2, Do::Kill("agent", false, Sig::Cont));
    both(&cell, &["0 agent stopped STOP", "2 agent continued", "2 agent killed TERM"]);
}

#[test]
fn a_stopped_process_goes_on_when_continued() {
    let cell = cell(Null, r#"[{"raise":"STOP"},{"print":"again"}]"#).at(2, Do::Kill("agent", false, Sig::Cont));
    both(&cell, &["0 agent stopped STOP", "2 agent continued", "2 out \"again\\n\"", "2 agent exit 0"]);
}

#[test]
fn a_process_that_kills_itself() {
    both(&cell(Null, r#"[{"raise":"KILL"}]"#), &["0 agent signal KILL to agent", "0 agent killed KILL"]);
}

#[test]
fn a_controlling_terminal_without_stdin() {
    let cell = cell(CttyNull, r#"[{"ask-tty":"Password: "},{"print":"in"}]"#);
    both(&cell, &["waits agent tty"]);
}

#[test]
fn no_terminal_to_ask_on() {
    let cell = cell(Null, r#"[{"ask-tty":"Password: "}]"#);
    both(&cell, &["0 agent exit 1"]);
}

#[test]
fn a_shell_that_is_hung_up_takes_its_stopped_job_along() {
    let cell = cell(TtyBackground, r#"["read-stdin"]"#).at(1, Do::Close);
    both(&cell, &["0 agent stopped TTIN", "1 agent continued", "1 agent killed HUP"]);
}

#[test]
fn a_shell_that_is_hung_up_takes_its_running_job_along() {
    both(
        &cell(TtyBackground, r#"[{"run":["hold"]}]"#).at(1, Do::Close),
        &["1 agent killed HUP", "1 agent.1 killed HUP"],
    );
}

#[test]
fn a_job_that_ignores_the_hang_up_outlives_its_shell() {
    let steps = r#"[{"ignore":["HUP"]},{"sleep":"10s"},"read-stdin",{"exit":5}]"#;
    both(&cell(TtyBackground, steps).at(1, Do::Close), &["10000 agent exit 5"]);
}

#[test]
fn a_terminal_that_was_hung_up_takes_no_mode() {
    let cell = cell(TtyBackground, r#"[{"ignore":["HUP"]},"set-tty"]"#).at(1, Do::Close);
    both(&cell, &["0 agent stopped TTOU", "1 agent continued", "1 agent exit 1"]);
}

#[test]
fn a_shell_that_ignores_the_hang_up_leaves_its_job_stopped() {
    let cell = cell(TtyBackgroundNohup, r#"["read-stdin"]"#).at(1, Do::Close);
    both(&cell, &["0 agent stopped TTIN", "waits agent stopped", "left agent"]);
}

#[test]
fn enter_and_ctrl_c_in_one_write_echo_ctrl_c_alone() {
    let steps = r#"[{"ignore":["INT"]},{"sleep":"2s"},"read-stdin",{"print":"read"}]"#;
    let cell = cell(Tty, steps).at(1, Do::Type("typeahead\n\u{3}z\n"));
    both(&cell, &["1 out \"^Cz\\r\\n\"", "2000 out \"read\\r\\n\""]);
}

#[test]
fn a_line_of_five_thousand_bytes_comes_short() {
    let steps = r#"["read-stdin",{"sleep":"1s"},"read-stdin",{"exit":6}]"#;
    let cell = cell(Tty, steps).at(1, Do::TypeMany('a', 5_000)).at(2, Do::Type("\n")).at(3, Do::Type("\u{4}"));
    both(&cell, &["1 out 5000 bytes", "2 out \"\\r\\n\"", "1002 agent exit 6"]);
}

#[test]
fn what_a_terminal_does_not_take_is_typed_when_its_reader_reads() {
    let steps =
        r#"[{"sleep":"5s"},"read-stdin",{"print":"a line"},{"sleep":"5s"},"read-stdin-to-end",{"print":"end"}]"#;
    let cell = cell(Tty, steps)
        .at(1_000, Do::TypeMany('b', 4_000))
        .at(1_000, Do::Type("\n"))
        .at(1_000, Do::TypeMany('c', 4_000))
        .at(1_000, Do::Type("\nd\u{4}\u{4}"));
    both(&cell, &["1000 out 4000 bytes", "5000 out 3917 bytes", "10000 out \"end\\r\\n\"", "10000 agent exit 0"]);
}

#[test]
fn keys_that_edit_a_line() {
    let cell = cell(Tty, r#"["read-stdin","read-stdin","read-stdin",{"print":"read"}]"#)
        .at(1, Do::Type("foo bar\u{17}baz\n"))
        .at(2, Do::Type("a\tb\u{7f}\u{7f}\n"))
        .at(3, Do::Type("foo\u{16}\u{3}baz\u{12}\n"));
    both(
        &cell,
        &[
            "1 out \"foo bar\\u{8} \\u{8}\\u{8} \\u{8}\\u{8} \\u{8}baz\\r\\n\"",
            "2 out \"a\\tb\\u{8} \\u{8}\\u{8}\\u{8}\\u{8}\\u{8}\\u{8}\\u{8}\\u{8}\\r\\n\"",
            "3 out \"foo^\\u{8}^Cbaz^R\\r\\nfoo^Cbaz\\r\\n\"",
            "3 out \"read\\r\\n\"",
        ],
    );
}

#[test]
fn a_terminal_that_nobody_reads_fills() {
    let mut cell = cell(Tty, r#"[{"fill":{"bytes":20000}},{"print":"done"}]"#);
    cell.reads_from = 1_000;
    both(&cell, &["1000 out 8191 bytes", "1000 agent exit 0"]);
    cell.reads_from = u64::MAX;
    both(&cell, &["waits agent tty", "left agent"]);
}

#[test]
fn flow_control_is_an_error_on_both() {
    let cell = cell(Tty, r#"["read-stdin"]"#).at(1, Do::Type("\u{13}"));
    assert_eq!(drive(&mut kernel(), &cell), drive(&mut sim::SimKernel::new(rehang_fakes::program), &cell));
    assert!(drive(&mut sim::SimKernel::new(rehang_fakes::program), &cell).is_err());
}

/// The longest string that Linux passes on to a process, and one that is a byte longer (execve(2), MAX_ARG_STRLEN).
#[test]
fn an_argument_has_at_most_131_071_bytes() {
    let steps = |bytes: usize| {
        let around = r#"[{"exit":7},{"print":""}]"#.len();
        format!(r#"[{{"run":[{{"exit":7}},{{"print":"{}"}}]}}]"#, "x".repeat(bytes - around))
    };
    both(&cell(Null, &steps(131_071)), &["0 agent.1 exit 7", "0 agent exit 7"]);
    both(&cell(Null, &steps(131_072)), &["0 agent exit 126"]);
    // the player does not read what a process list shows: it only meets the kernel's limit
    let named =
        |bytes: usize| format!(r#"[{{"background":{{"name":"{}","does":[{{"exit":7}}]}}}}]"#, "x".repeat(bytes));
    both(&cell(Null, &named(131_071)), &["0 agent.1 exit 7", "0 agent exit 0"]);
    both(&cell(Null, &named(131_072)), &["0 agent exit 126"]);
    // until it calls exec, a child has copies of all ends of this process: no other test's kernel may wait for one meanwhile
    let _turn = kernel();
    let given = |bytes: usize| std::process::Command::new("true").arg("x".repeat(bytes)).status().map(|s| s.success());
    assert_eq!(given(131_071).ok(), Some(true));
    assert_eq!(given(131_072).map_err(|e| e.raw_os_error()), Err(Some(libc::E2BIG)));
}

#[test]
fn a_variable_has_at_most_131_071_bytes() {
    let with = |bytes: usize| {
        let value = "x".repeat(bytes - exec::ENV_PREFIX.len() - "A=".len());
        Cell { env: vec![("A".to_owned(), value)], ..cell(Null, r#"[{"run":[{"exit":7}]}]"#) }
    };
    both(&with(131_071), &["0 agent.1 exit 7", "0 agent exit 7"]);
    // the agent itself: the scheduler asks before it starts one
    let long = with(131_072).launch();
    assert!(!exec::fits(&long.argv, &long.env));
    assert!(kernel().start(&long).is_err());
}

#[test]
fn nobody_answers_a_request_and_nobody_opens_the_other_end() {
    both(&cell(Null, r#"[{"fetch":{}}]"#), &["waits agent peer", "left agent"]);
    let given_up = r#"[{"fetch":{"within":"30s"}},{"print":"on"},{"run":[{"open-fifo":{}}]}]"#;
    both(&cell(Null, given_up), &["30000 out \"on\\n\"", "waits agent.1 file", "left agent", "left agent.1"]);
    both(&cell(Null, r#"[{"open-fifo":{"skips":true}},{"exit":3}]"#), &["0 agent exit 3"]);
    both(
        &cell(Null, r#"[{"lock":{"within":"10s"}},{"run":[{"lock":{}}]}]"#),
        &["waits agent.1 file", "left agent", "left agent.1"],
    );
    let naps = r#"[{"lock":{"database":true,"within":"5s"}},{"exit":3}]"#;
    both(&cell(Null, naps), &["5000 agent exit 3"]);
}

#[test]
fn a_kept_connection_brought_one_answer_and_brings_no_other() {
    both(&cell(Null, r#"[{"fetch":{"kept":"1h"}}]"#), &["waits agent peer", "left agent"]);
    both(&cell(Null, r#"[{"fetch":{"kept":"1h","within":"30s"}},{"exit":3}]"#), &["3630000 agent exit 3"]);
}

#[test]
fn one_process_of_a_cell_has_its_lock() {
    let holder = |ends: &str| format!(r#"{{"background":{{"does":[{{"take-lock":{{}}}},{ends}]}}}},{{"sleep":"1s"}}"#);
    // whoever has it keeps it until its end, and not only until its next step
    let ends = holder(r#"{"sleep":"5s"}"#);
    both(&cell(Null, &format!(r#"[{ends},{{"take-lock":{{}}}},{{"exit":3}}]"#)), &["5000 agent exit 3"]);
    both(&cell(Null, &format!(r#"[{ends},{{"take-lock":{{"within":"2s"}}}},{{"exit":3}}]"#)), &["3000 agent exit 3"]);
    let again = r#"[{"run":[{"take-lock":{}},{"sleep":"1s"}]},{"take-lock":{}},{"exit":3}]"#;
    both(&cell(Null, again), &["1000 agent exit 3"]);
    let stays = holder(r#""hold""#);
    let waits = ["waits agent file", "waits agent.1 nothing", "left agent", "left agent.1"];
    both(&cell(Null, &format!(r#"[{stays},{{"take-lock":{{}}}}]"#)), &waits);
    // a second descriptor of the same process waits for the first
    both(&cell(Null, r#"[{"take-lock":{}},{"take-lock":{}}]"#), &["waits agent file", "left agent"]);
}

#[test]
fn what_fits_together_is_passed_on() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current;
    if limit.is_some_and(|bytes| bytes < 8 << 20) {
        println!("skipped: the stack limit is {limit:?} bytes, less than the usual 8 MiB (ulimit -s 8192)");
        return;
    }
    let with = |more: usize| {
        let steps = cell(Null, r#"[{"exit":7}]"#);
        let mut rest = EXEC_BYTES - "fake-tool".len() - 9 + more;
        let mut env = Vec::new();
        while rest > 0 {
            let bytes = (rest - 9).min(EXEC_STRING_BYTES);
            let name = format!("V{:02}", env.len());
            env.push((name, "x".repeat(bytes - exec::ENV_PREFIX.len() - "V00=".len())));
            rest -= bytes + 9;
        }
        Cell { env, ..steps }
    };
    let (all, more) = (with(0).launch(), with(1).launch());
    assert!(exec::fits(&all.argv, &all.env) && !exec::fits(&more.argv, &more.env));
    both(&with(0), &["0 agent exit 7"]);
}
