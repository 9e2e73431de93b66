//! Trees that make namespaces of their own, as a sandbox does.

use crate::support::{Ran, program, run, run_with};
use libtest_mimic::Trial;
use rehang_warp::Verdict;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

pub fn trials() -> Vec<Trial> {
    // without the right to make namespaces there is nothing to try
    if !Command::new("unshare").args(["-Urnpf", "true"]).status().is_ok_and(|status| status.success()) {
        return Vec::new();
    }
    let mut trials = vec![
        Trial::test("namespaces::waits_and_timers_are_the_same", || {
            let ran = in_namespaces("-Urnpf", &["edge"]);
            assert_eq!(ran.output, crate::edge::EXPECTED);
            Ok(())
        }),
        Trial::test("namespaces::random_numbers_come_from_the_seed", || {
            let draw = |seed| {
                let mut command = Command::new("unshare");
                command.args(["-Urpf", "--mount-proc", "sh", "-c", "od -An -N16 -tx1 /dev/urandom"]);
                run_with(command, |warp| warp.seed(seed)).output
            };
            let first = draw(7);
            assert_eq!(first.split_ascii_whitespace().count(), 16, "{first}");
            assert_eq!(first, draw(7));
            assert_ne!(first, draw(8));
            Ok(())
        }),
        Trial::test("namespaces::a_network_that_others_are_in_is_not_the_trees", || {
            let mut other = Command::new("unshare");
            other.args(["-Urn", "sh", "-c", "echo; read word"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut other = other.spawn().expect("it runs");
            let said = BufReader::new(other.stdout.take().expect("its output")).lines().next();
            assert!(said.is_some_and(|line| line.is_ok()), "it is in its namespaces");
            let mut command = Command::new("nsenter");
            command.args(["--preserve-credentials", "-U", "-n", "-t", &other.id().to_string()]);
            command.arg(std::env::current_exe().expect("this binary")).args(["program", "verdict", "listener"]);
            let ran = run(command);
            drop(other.stdin.take());
            other.wait().expect("it ended");
            assert!(matches!(ran.ending.verdict, Verdict::WaitsFor { .. }), "{:?}", ran.ending.verdict);
            Ok(())
        }),
    ];
    trials.push(Trial::test("namespaces::a_terminal_of_a_devpts_of_its_own_is_a_deadlock", || {
        // its number is 0 there, as that of this one is here, or of one before it
        let _host = crate::stress::pty();
        let own =
            "mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx";
        let ran = in_namespaces_after("-Urm", own, &["verdict", "terminal"]);
        assert!(matches!(ran.ending.verdict, Verdict::Deadlock { .. }), "{:?}", ran.ending.verdict);
        Ok(())
    }));
    for name in ["listener", "socketpair", "tcp"] {
        trials.push(Trial::test(format!("namespaces::{name}_in_a_network_of_its_own_is_a_deadlock"), move || {
            let ran = in_namespaces("-Urnf", &["verdict", name]);
            assert!(matches!(ran.ending.verdict, Verdict::Deadlock { .. }), "{:?}", ran.ending.verdict);
            Ok(())
        }));
    }
    trials
}

/// Runs a program of this binary in namespaces of its own, with loopback up.
fn in_namespaces(flags: &str, arguments: &[&str]) -> Ran {
    in_namespaces_after(flags, "ip link set lo up 2>/dev/null; true", arguments)
}

/// The same after a command of a shell.
fn in_namespaces_after(flags: &str, prepared: &str, arguments: &[&str]) -> Ran {
    let script = format!("{prepared} && exec \"$@\"");
    let mut words = vec![flags, "sh", "-c", &script, "sh"];
    let exe = program(&[]).get_program().to_string_lossy().into_owned();
    words.extend([exe.as_str(), "program"]);
    words.extend(arguments);
    let mut command = Command::new("unshare");
    command.args(words);
    run(command)
}
