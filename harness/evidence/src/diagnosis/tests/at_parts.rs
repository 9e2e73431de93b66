//! The smallest part of a tree that has to end.

use super::*;

/// Processes, of which each has the one before it as its parent, from 10 on; the last one reads its stdin, a pipe that the
/// first one holds.
fn chain(all: &[&[&str]]) -> Look {
    let first = 10;
    let mut pids = first..;
    let mut tree: Vec<Process> = all
        .iter()
        .zip(&mut pids)
        .map(|(args, pid)| {
            let process = started(process(pid, pid - 1, args[0]), args);
            if pid == first { awaits(pipe(process, 7, Mode::Write, 70)) } else { awaits(process) }
        })
        .collect();
    let last = tree.pop().expect("a process");
    tree.push(reads(pipe(last, 0, Mode::Read, 70), 0));
    Look::of(tree)
}

fn parts(look: &Look) -> Vec<Pid> {
    look.diagnosis().parts
}

#[test]
fn a_command_is_the_part_with_the_shell_that_was_started_for_it() {
    let claude: &[&str] = &["claude", "-p", "x"];
    assert_eq!(parts(&chain(&[claude, &["cat"]])), [11]);
    // the shell would go on with what comes after the `;`
    assert_eq!(parts(&chain(&[claude, &["bash", "-c", "cat; deploy"], &["cat"]])), [11]);
    // a shell that the agent feeds line by line serves its other commands too
    assert_eq!(parts(&chain(&[claude, &["bash", "--norc"], &["cat"]])), [12]);
    assert_eq!(parts(&chain(&[claude, &["bash", "--norc"], &["bash", "x.sh"], &["cat"]])), [12]);
    // so does a tool server
    assert_eq!(parts(&chain(&[claude, &["node", "tickets-mcp"], &["git", "push"]])), [12]);
}

#[test]
fn the_agent_itself_is_no_part() {
    let claude: &[&str] = &["claude", "-p", "x"];
    assert_eq!(parts(&chain(&[claude])), [0; 0]);
    // below a launcher or a wrapper it is the agent all the same
    assert_eq!(parts(&chain(&[&["timeout", "9", "claude"], claude])), [0; 0]);
    assert_eq!(parts(&chain(&[&["python3", "run.py"], claude])), [0; 0]);
    // one that an agent runs is a part
    assert_eq!(parts(&chain(&[claude, &["bash", "-c", "codex exec x"], &["codex", "exec", "x"]])), [11]);
}

#[test]
fn a_program_without_a_name_goes_on_and_a_shell_does_not() {
    assert_eq!(parts(&chain(&[&["python3", "agent.py"], &["cat"]])), [11]);
    // the script's next line may rest on this one
    assert_eq!(parts(&chain(&[&["bash", "run.sh"], &["cat"]])), [0; 0]);
    assert_eq!(parts(&chain(&[&["npm", "test"], &["cat"]])), [0; 0]);
}

#[test]
fn what_outlived_a_command_is_a_part_unless_it_serves_others() {
    let agent = || reads(pipe(started(process(10, 1, "claude"), &["claude", "-p", "x"]), 7, Mode::Read, 70), 7);
    let stray = || Process { pgrp: 11, session: 11, ..pipe(process(12, 1, "sleep"), 1, Mode::Write, 70) };
    assert_eq!(parts(&Look::of(vec![agent(), stray()])), [12]);
    let serves = socket(stray(), 3, 90);
    let look = Look::of(vec![agent(), serves]).socket(listening(90, "127.0.0.1:80"));
    assert_eq!(parts(&look), [0; 0]);
    // it is no process of this tree: whoever started it waits for it elsewhere
    assert_eq!(parts(&Look::of(vec![agent()]).beside(stray())), [0; 0]);
}

#[test]
fn of_two_that_wait_for_each_other_it_is_the_one_below() {
    let agent = pipe(pipe(started(process(10, 1, "claude"), &["claude"]), 7, Mode::Read, 70), 8, Mode::Write, 80);
    let server = pipe(pipe(process(11, 10, "server"), 0, Mode::Read, 80), 1, Mode::Write, 70);
    let look = Look::of(vec![reads(agent, 7), reads(server, 0)]);
    assert_eq!(parts(&look), [11]);
}
