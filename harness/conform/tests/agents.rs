//! A good agent has no finding, and each bug of a bad one is found by the fault that is made for it.
//!
//! The agent is `agent.py`, a real process with real pipes. This binary is also the client that is played against it.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn main() {}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn main() {
    if std::env::args().nth(1).is_some_and(|word| word == rehang_conform::CLIENT_ARG) {
        std::process::exit(rehang_conform::client::main());
    }
    real::main();
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod real {
    use libtest_mimic::{Arguments, Failed, Trial};
    use rehang_conform::{Conform, ConformError, Fault, Judged, Run, Setup, Verdict, control, faults};
    use std::path::Path;
    use std::sync::OnceLock;
    use std::time::Duration;

    /// Bugs of `agent.py`, with a fault that finds each, what it shows and a part of what is said about it.
    const BUGS: [(&str, &str, Verdict, &str); 19] = [
        (
            "ignores-cancel-while-it-asks",
            "cancel/permission-open",
            Verdict::Owes,
            "owes the reply to session/prompt since the cancel at 1m40s, for ever (a deadlock, proved): it waits for the \
             reply to session/request_permission, in a turn that the client cancelled",
        ),
        (
            "no-reply-to-unknown",
            "request/unknown",
            Verdict::Owes,
            "owes the reply to _rehang/unknown since 1m40s, for ever (a deadlock, proved): python3 waits for its stdin (read)",
        ),
        ("prompt-absorbed", "cancel/permission", Verdict::Owes, "owes the reply to the second session/prompt"),
        ("prompt-absorbed", "cancel/and-prompt", Verdict::Owes, "owes the reply to the second session/prompt"),
        ("stays", "close/idle", Verdict::Owes, "owes its end since its stdin was closed at 1m42s"),
        ("stays", "gone/permission", Verdict::Owes, "owes its end since its stdin was closed at 1m40s"),
        (
            "blocks-on-stdout",
            "unread/writes-first",
            Verdict::Waits,
            "waits for the client to read its stdout: no limit, proved",
        ),
        ("ends-on-bad-line", "line/no-json", Verdict::Died, "ends with 1"),
        ("error-on-cancel", "cancel/permission", Verdict::Wrong, "due is the stop reason `cancelled`"),
        ("never-kills", "cancel/terminal", Verdict::Owes, "it waits for the reply to terminal/wait_for_exit"),
        ("two-replies", "cancel/permission", Verdict::Wrong, "answers session/prompt 2 times"),
        ("trusts-its-client", "permission/error", Verdict::Owes, "owes the reply to session/prompt"),
        (
            "stops-after-giving-up",
            "permission/never",
            Verdict::Owes,
            "owes the reply to the second session/prompt since 2m40s, for ever (a deadlock, proved): python3 waits for its stdin",
        ),
        ("silent-and-stays", "unread/never", Verdict::Owes, "owes its end since its stdin was closed at 11m40s"),
        (
            "nests-deeply",
            "permission/never",
            Verdict::Waits,
            "waits for the client's reply to session/request_permission",
        ),
        ("ends-by-signal", "close/idle", Verdict::Died, "ends by signal 11, 0ms after the end of its stdin"),
        ("never-silent", "none", Verdict::Undecided, "writes without an end: "),
        ("not-ready", "none", Verdict::Owes, "owes the reply to session/new since 0ms, for ever (a deadlock, proved)"),
        ("serial", "none", Verdict::Owes, "python3 in futex waits for itself alone"),
    ];

    pub fn main() {
        let mut trials = vec![
            Trial::test("a_good_agent_has_no_finding", good),
            Trial::test("a_wait_that_polls_is_one_of_a_day", polls),
            Trial::test("a_program_that_is_no_agent_is_no_agent", no_agent),
            Trial::test("a_line_that_is_no_message_is_wrong", odd),
            Trial::test("an_agent_has_no_terminal", no_terminal),
            Trial::test("a_run_that_takes_too_long_is_undecided", too_long),
        ];
        for (bug, fault, verdict, text) in BUGS {
            let name = format!("{bug}_is_found_by_{fault}");
            trials.push(Trial::test(name, move || found(bug, fault, verdict, text)));
        }
        libtest_mimic::run(&Arguments::from_args(), trials).exit();
    }

    fn tested(bug: Option<&str>) -> Conform {
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agent.py");
        let words = ["python3", "-B", agent.to_str().expect("a path that is text")];
        Conform {
            command: words.into_iter().chain(bug).map(str::to_owned).collect(),
            client: std::env::current_exe().expect("this binary"),
            prompt: "List the files.".to_owned(),
            until: Duration::from_secs(24 * 3_600),
            within: Duration::from_secs(120),
            skip_tickers: None,
            network: false,
            model: None,
        }
    }

    fn judge(tested: &Conform, fault: &Fault) -> Result<(Run, Judged), ConformError> {
        let run = tested.play(fault)?;
        let judged = Judged::of(fault, &run);
        Ok((run, judged))
    }

    /// All faults that fit the good agent.
    fn all() -> &'static [Fault] {
        static ALL: OnceLock<Vec<Fault>> = OnceLock::new();
        ALL.get_or_init(|| {
            let (run, judged) = judge(&tested(None), &control(&Setup::default())).expect("a run");
            assert_eq!((judged.verdict, judged.text.as_str()), (Verdict::Fine, "answers all"));
            let slow = Duration::from_secs(100);
            assert!(run.ending.elapsed >= slow, "its session/new takes that long: {:?}", run.ending);
            let (all, unfit) = faults(&run.seen(), &Setup::default());
            let unfit: Vec<&str> = unfit.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(unfit, ["terminal-kill/*"], "it kills only what was cancelled");
            all
        })
    }

    fn fault(name: &str) -> Result<Fault, Failed> {
        let found = all().iter().find(|fault| fault.name == name);
        Ok(found.ok_or(format!("no fault {name}"))?.clone())
    }

    fn good() -> Result<(), Failed> {
        let mut wrong = Vec::new();
        for fault in all() {
            let (_, judged) = judge(&tested(None), fault)?;
            let told = format!("{}: {:?} {}", fault.name, judged.verdict, judged.text);
            let is_silent = fault.name.ends_with("/never") && fault.name != "unread/never";
            let is_right = match judged.verdict {
                Verdict::Waits => is_silent && judged.text.ends_with(": no limit, proved"),
                Verdict::Fine | Verdict::ErrorReply => !is_silent,
                _ => false,
            };
            if !is_right {
                wrong.push(told);
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    }

    fn found(bug: &str, name: &str, verdict: Verdict, text: &str) -> Result<(), Failed> {
        let healthy = control(&Setup::default());
        let fault = match name {
            "none" => healthy.clone(),
            _ => fault(name)?,
        };
        let (_, judged) = judge(&tested(Some(bug)), &fault)?;
        assert_eq!(judged.verdict, verdict, "{}", judged.text);
        assert!(judged.text.contains(text), "{}", judged.text);
        if name != "none" {
            let (_, judged) = judge(&tested(Some(bug)), &healthy)?;
            assert_eq!(judged.verdict, Verdict::Fine, "without a fault: {}", judged.text);
        }
        Ok(())
    }

    /// A silence that is not proved is one only after the whole horizon.
    fn polls() -> Result<(), Failed> {
        let fault = fault("permission/never")?;
        let (run, judged) = judge(&tested(Some("busy")), &fault)?;
        let text = "waits for the client's reply to session/request_permission: no limit in 24h";
        assert_eq!((judged.verdict, judged.text.as_str()), (Verdict::Waits, text));
        assert_eq!(run.ending.elapsed, Duration::from_secs(24 * 3_600));
        Ok(())
    }

    fn no_agent() -> Result<(), Failed> {
        let with = |words: &[&str]| Conform { command: words.iter().map(|&w| w.to_owned()).collect(), ..tested(None) };
        let error = with(&["./no-such-agent"]).play(&control(&Setup::default())).err().ok_or("it must not start")?;
        assert!(matches!(&error, ConformError::Start(why) if why.starts_with("./no-such-agent: ")), "{error}");
        let (_, judged) =
            judge(&with(&["sh", "-c", "echo 'hello\u{1b}'; echo why >&2; exit 3"]), &control(&Setup::default()))?;
        assert_eq!(judged.verdict, Verdict::Died);
        assert!(
            judged.text.starts_with("ends with 3 at 0ms, and owes the reply to initialize: why"),
            "{}",
            judged.text
        );
        assert_eq!(judged.ledger.odd_lines.len(), 1);
        let (_, judged) = judge(&with(&["cat"]), &control(&Setup::default()))?;
        let text = "answers initialize with error -32601 \"Method not found: initialize\"; due is a result";
        assert_eq!((judged.verdict, judged.text.as_str()), (Verdict::Wrong, text), "it sends back what it hears");
        Ok(())
    }

    fn odd() -> Result<(), Failed> {
        let (_, judged) = judge(&tested(Some("talks-on-stdout")), &fault("cancel/idle")?)?;
        assert_eq!(judged.verdict, Verdict::Fine, "{}", judged.text);
        let judged = judged.with_odd_lines();
        let text = "writes to stdout what is no message: cancelled \\u{1b}[31m\\u{9b}31m\\u{202e}";
        assert_eq!((judged.verdict, judged.text.as_str()), (Verdict::Wrong, text));
        Ok(())
    }

    /// It leads a session of its own: its number in `/proc/self/stat` is that of its process.
    fn no_terminal() -> Result<(), Failed> {
        let script = r#"read -r pid rest </proc/self/stat; set -- $rest; test "$5 $6" = "$pid 0" && exit 7; echo "$rest" >&2; exit 8"#;
        let tested = Conform { command: ["sh", "-c", script].map(str::to_owned).to_vec(), ..tested(None) };
        let (_, judged) = judge(&tested, &control(&Setup::default()))?;
        assert!(judged.text.starts_with("ends with 7 at"), "{}", judged.text);
        Ok(())
    }

    fn too_long() -> Result<(), Failed> {
        let command = ["sh", "-c", "while :; do :; done"].map(str::to_owned).to_vec();
        let tested = Conform { command, within: Duration::from_millis(300), ..tested(None) };
        let (_, judged) = judge(&tested, &control(&Setup::default()))?;
        assert_eq!((judged.verdict, judged.text.as_str()), (Verdict::Undecided, "used up the real time (--within)"));
        Ok(())
    }
}
