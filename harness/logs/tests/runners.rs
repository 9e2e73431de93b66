//! Logs of CI jobs, of interrupted turns and of programs that live on, and the verdict on each.
//!
//! These tests show: a runner's own lines are told apart from those of what it ran; what was silent until it was ended is not
//! said to have completed, or failed, by itself.

use rehang_logs::{Imported, Options, Verdict, import};

fn imported(about: &str, log: &str) -> Imported {
    match import(log.as_bytes(), &Options::default(), &mut |_| {}) {
        Ok(imported) => imported,
        Err(error) => panic!("{about}: {error}"),
    }
}

/// What a log is, its lines, its verdict, its mechanism, and words that must be in what is said of it.
type Case = (&'static str, &'static [&'static str], Verdict, Option<&'static str>, &'static str);

const STREAM: &str = r#"2027-05-04T09:00:02.0000000Z {"type":"system","subtype":"init","session_id":"s","tools":["Bash"],"claude_code_version":"2.1.40"}"#;
const RESULT: &str = r#"2027-05-04T09:03:00.0000000Z {"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s"}"#;
const META: &str =
    r#"{"timestamp":"2027-05-04T09:00:00Z","type":"session_meta","payload":{"id":"x","cli_version":"0.104.0"}}"#;
const GO: &str =
    r#"{"timestamp":"2027-05-04T09:00:01Z","type":"event_msg","payload":{"type":"user_message","message":"go"}}"#;
const RUNS: &str = r#"{"timestamp":"2027-05-04T09:00:09Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"terraform apply\"]}","call_id":"c"}}"#;
const LATE: &str = r#"{"timestamp":"2027-05-04T09:31:00Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#;

const CASES: &[Case] = &[
    (
        "a question with choices",
        &["making a project", "Which linter? [eslint/biome]"],
        Verdict::EndedOpen,
        Some("B1"),
        "Which linter? [eslint/biome]",
    ),
    (
        "what npm runs, and its question",
        &["> shop@2.0.0 init", "> make-shop", "", "Select a region [1-5]: "],
        Verdict::EndedOpen,
        Some("B1"),
        "Select a region",
    ),
    (
        "Codex, interrupted in a command after a long silence",
        &[META, GO, RUNS, LATE],
        Verdict::EndedOpen,
        None,
        "terraform apply",
    ),
    (
        "the same, of a release that writes a result for what it aborts",
        &[
            META,
            GO,
            RUNS,
            r#"{"timestamp":"2027-05-04T09:31:00Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"aborted by user after 1851.0s"}}"#,
            LATE,
        ],
        Verdict::EndedOpen,
        None,
        "terraform apply, for 30m51s",
    ),
    (
        "Codex, interrupted while its model was silent",
        &[META, GO, LATE],
        Verdict::EndedOpen,
        Some("M1"),
        "interrupted it",
    ),
    (
        "Codex, interrupted while it moved",
        &[
            META,
            GO,
            RUNS,
            r#"{"timestamp":"2027-05-04T09:00:20Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}"#,
        ],
        Verdict::Failed,
        None,
        "somebody interrupted it",
    ),
    (
        "Codex, at a limit of its own after a long silence",
        &[
            META,
            GO,
            RUNS,
            r#"{"timestamp":"2027-05-04T09:31:00Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"budget_limited"}}"#,
        ],
        Verdict::Failed,
        None,
        "budget_limited",
    ),
    (
        "GitLab's limit, with its sections between a question and it",
        &[
            "$ pnpm create shop",
            "Overwrite the folder shop? (y/N)",
            "section_end:1777885200:step_script",
            "Cleaning up project directory and file based variables",
            "ERROR: Job failed: execution took longer than 45m0s seconds",
        ],
        Verdict::EndedOpen,
        Some("B1"),
        "execution took longer than 45m0s",
    ),
    (
        "GitLab, done",
        &["$ make", "cc shop.c", "Cleaning up project directory and file based variables", "Job succeeded"],
        Verdict::Completed,
        None,
        "Job succeeded",
    ),
    (
        "Jenkins' limit",
        &[
            "[Pipeline] sh",
            "+ make deploy",
            "Password: ",
            "Cancelling nested steps due to timeout",
            "Sending interrupt signal to process",
            "[Pipeline] }",
            "[Pipeline] // timeout",
            "[Pipeline] }",
            "[Pipeline] // node",
            "[Pipeline] End of Pipeline",
            "Timeout has been exceeded",
            "Finished: ABORTED",
        ],
        Verdict::EndedOpen,
        Some("B2"),
        "Timeout has been exceeded",
    ),
    ("Jenkins, failed", &["+ make", "cc: no input", "Finished: FAILURE"], Verdict::Failed, None, "Finished: FAILURE"),
    (
        "Azure Pipelines' limit",
        &[
            "2027-05-04T09:00:01.0000000Z apply these changes? [yes/no]",
            "2027-05-04T10:15:00.0000000Z ##[error]The job running on agent Pool 4 ran longer than the maximum time of 75 minutes.",
            "2027-05-04T10:15:00.1000000Z ##[error]The operation was canceled.",
        ],
        Verdict::EndedOpen,
        Some("B1"),
        "apply these changes?",
    ),
    (
        "CircleCI's limit on silence",
        &["+ make report", "rendering page 12", "Too long with no output (exceeded 15m0s): context deadline exceeded"],
        Verdict::Hung,
        None,
        "exceeded 15m0s",
    ),
    (
        "a result, and silence until the runner's limit",
        &[
            STREAM,
            RESULT,
            "2027-05-04T11:00:00.0000000Z ##[error]The job running on runner A 7 has exceeded the maximum execution time of 120 minutes.",
        ],
        Verdict::Hung,
        Some("H1"),
        "1h57m of silence later",
    ),
    (
        "a result, and a limit soon after it",
        &[STREAM, RESULT, "2027-05-04T09:05:00.0000000Z ##[error]The action 'ask' has timed out after 5 minutes."],
        Verdict::Completed,
        None,
        "has timed out after 5 minutes",
    ),
    (
        "a result, another command after it, and the limit",
        &[
            STREAM,
            RESULT,
            "2027-05-04T09:03:01.0000000Z uploading the report",
            "2027-05-04T11:00:00.0000000Z ##[error]The job running on runner A 7 has exceeded the maximum execution time of 120 minutes.",
        ],
        Verdict::Completed,
        None,
        "exceeded the maximum execution time",
    ),
    (
        "GitHub Actions, done",
        &[
            "2027-05-04T09:00:01.0000000Z ##[group]Run make",
            "2027-05-04T09:00:02.0000000Z ##[error]this one may fail",
            "2027-05-04T09:00:03.0000000Z ##[group]Run make docs",
            "2027-05-04T09:20:03.0000000Z written: 14 pages",
            "2027-05-04T09:20:04.0000000Z Post job cleanup.",
            "2027-05-04T09:20:05.0000000Z Cleaning up orphan processes",
        ],
        Verdict::Completed,
        None,
        "Post job cleanup.",
    ),
    (
        "GitHub Actions, failed",
        &[
            "2027-05-04T09:00:01.0000000Z ##[group]Run make",
            "2027-05-04T09:00:02.0000000Z ##[error]no rule to make it",
            "2027-05-04T09:00:03.0000000Z make: leaving",
            "2027-05-04T09:20:04.0000000Z Cleaning up orphan processes",
        ],
        Verdict::Failed,
        None,
        "no rule to make it",
    ),
    (
        "GitHub Actions' limit, and a long clean-up after it",
        &[
            "2027-05-04T09:00:01.0000000Z ##[group]Run make",
            "2027-05-04T09:00:02.0000000Z Continue? (y/n)",
            "2027-05-04T09:40:02.0000000Z ##[error]The action 'make' has timed out after 40 minutes.",
            "2027-05-04T09:40:03.0000000Z Post job cleanup.",
            "2027-05-04T09:40:04.0000000Z a",
            "2027-05-04T09:40:14.0000000Z b",
            "2027-05-04T09:40:24.0000000Z c",
            "2027-05-04T09:40:34.0000000Z d",
            "2027-05-04T09:40:44.0000000Z e",
            "2027-05-04T09:40:54.0000000Z f",
            "2027-05-04T09:41:04.0000000Z g",
            "2027-05-04T09:41:14.0000000Z h",
            "2027-05-04T09:41:24.0000000Z i",
            "2027-05-04T09:41:34.0000000Z j",
            "2027-05-04T09:41:44.0000000Z k",
            "2027-05-04T09:41:54.0000000Z l",
        ],
        Verdict::EndedOpen,
        Some("B1"),
        "silent for 40m1s",
    ),
    (
        "a test runner that says that it did not exit",
        &[
            "Tests: 3 passed, 3 total",
            "2027-05-04T09:00:02Z Jest did not exit one second after the test run has completed.",
            "2027-05-04T09:00:02Z Consider running Jest with `--detectOpenHandles` to troubleshoot this issue.",
        ],
        Verdict::EndedOpen,
        Some("B5"),
        "did not exit one second",
    ),
    (
        "the same, cancelled hours later",
        &[
            "2027-05-04T09:00:02Z Tests closed successfully but something prevents the main process from exiting",
            "2027-05-04T12:00:02Z ##[error]The operation was canceled.",
        ],
        Verdict::Hung,
        Some("B5"),
        "its clock goes on for 3h",
    ),
    (
        "a test runner that went on",
        &[
            "2027-05-04T09:00:02Z Jest did not exit one second after the test run has completed.",
            "2027-05-04T09:00:09Z publishing",
        ],
        Verdict::EndedOpen,
        None,
        "does not end with a prompt",
    ),
    (
        "opencode's own log, with a request to the model at its end",
        &[
            "INFO  2027-05-04T09:00:00 +90ms service=session.prompt step=0 sessionID=ses_9 loop",
            "INFO  2027-05-04T09:00:00 +3ms service=llm providerID=openai modelID=gpt-x sessionID=ses_9 agent=build stream",
        ],
        Verdict::EndedOpen,
        None,
        "a request to the model began",
    ),
];

#[test]
fn each_log_is_said_to_be_what_it_shows() {
    let mut wrong = Vec::new();
    for (about, log, verdict, mechanism, words) in CASES {
        let mut found = imported(about, &log.join("\n"));
        let open = rehang_logs::open::all(&found.story, &mut found.mask);
        let all = format!("{:?} {:?} {open:?}", found.guess.because, found.guess.why);
        if (found.guess.verdict, found.guess.named()) != (*verdict, *mechanism) || !all.contains(words) {
            wrong.push(format!(
                "{about}: {:?} {:?} as {}, not {:?}: {all}",
                found.guess.verdict,
                found.guess.named(),
                found.format.name(),
                (verdict, mechanism),
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_only_a_guess_is_played_and_not_named() {
    let Some((about, log, ..)) = CASES.iter().find(|case| case.0.starts_with("opencode's own log")) else {
        panic!("no such case");
    };
    let guess = imported(about, &log.join("\n")).guess;
    assert_eq!((guess.mechanism, guess.named(), guess.is_guess()), ("M1", None, true));
}
