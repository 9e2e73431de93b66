use super::process::{LINGER, MUTE, STEP};
use super::server::{EVERY, GONE, SOON, STUCK};
use super::standing::{CLOSED_IN, PERSON};
use super::times::Times;
use super::{AT_WORK, QUIET};
use crate::testing::{Bench, Patience, deeds, looked, report};
use crate::{Act, Intended, ProcessAct, ProcessSeen, ProtocolAct, ProtocolSeen, Seen, Stream};
use rehang_evidence::{Diagnosis, Sure, Verdict};
use rehang_hangs::{Limit, Signature};
use rehang_words::{Span, Terminal};
use serde_json::{Value, json};

mod parts;

const RESULT: &str = "{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}\n";

fn process(terminal: Terminal) -> Bench {
    let mut bench = Bench::of("guard-process");
    bench.see(Seen::Process(ProcessSeen::Terminal(terminal)));
    bench.see(Seen::Process(ProcessSeen::Started { session: String::new(), prompt: "go".to_owned() }));
    bench
}

fn words(list: &[(Span, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|(at, word)| (at.as_ms(), (*word).to_owned())).collect()
}

/// A look that finds the agent in this state.
fn looks(verdict: Verdict) -> Seen {
    Seen::Process(ProcessSeen::Looked(Box::new(Diagnosis {
        verdict,
        ..diagnosis(&looked(Signature::Sleep, true, Sure::Guess))
    })))
}

/// What it does if each look finds something that may be at work, or nothing that is.
fn quiet(bench: &mut Bench, ms: u64, verdict: Verdict) -> Vec<(u64, String)> {
    deeds(&finds(bench, ms, &looks(verdict)))
}

/// What it does, apart from looking, if each look finds the same.
fn finds(bench: &mut Bench, ms: u64, seen: &Seen) -> Vec<(u64, Act)> {
    let mut done = Vec::new();
    let mut patience = Patience::new();
    while let Some(at) = bench.strategy.deadline().filter(|at| at.0 <= ms) {
        patience.spend();
        let mut acts = bench.until(at.0);
        while let Some((at, act)) = (!acts.is_empty()).then(|| acts.remove(0)) {
            match act {
                Act::Process(ProcessAct::Look) => acts.extend(bench.see(seen.clone()).into_iter().map(|act| (at, act))),
                act => done.push((at, act)),
            }
        }
    }
    done
}

fn of(limit: &Limit) -> Span {
    Times::default().span_of(limit.class)
}

/// A finding that ends a run once it has lasted for its limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub signature: Signature,
    /// Whether it is about the agent itself.
    pub is_root: bool,
    pub sure: Sure,
    pub limit: &'static Limit,
}

/// All of them: those of the agent, then those of a process below it.
pub(super) fn cases() -> Vec<Case> {
    let about = [true, false].into_iter().flat_map(|is_root| Signature::ALL.iter().map(move |of| (is_root, *of)));
    let each = about.flat_map(|(is_root, signature)| {
        let limits = signature.limits(is_root);
        let both = [(Sure::Certain, limits.certain.as_ref()), (Sure::Likely, limits.likely.as_ref())];
        let case =
            move |(sure, limit): (Sure, Option<&'static Limit>)| Some(Case { signature, is_root, sure, limit: limit? });
        both.into_iter().filter_map(case)
    });
    each.collect()
}

const FIRST_LOOK_MS: u64 = 10_000;

#[test]
fn each_finding_ends_a_run_at_its_own_limit_and_not_before() {
    for Case { signature, is_root, sure, limit } in cases() {
        let seen = looked(signature, is_root, sure);
        let ends = FIRST_LOOK_MS + of(limit).as_ms();
        let mut bench = process(Terminal::Null);
        assert_eq!(finds(&mut bench, ends - 1, &seen), [], "{signature} before its limit");
        let intent = bench.strategy.intent().expect("it is announced");
        let announced = (intent.does, intent.cause.as_str(), intent.since.0, intent.at.0, intent.pid);
        assert_eq!(announced, (Intended::End, signature.word(), FIRST_LOOK_MS, ends, Some(100)));
        let acts = finds(&mut bench, 100_000_000, &seen);
        let (at, Act::Report(policy)) = &acts[0] else { panic!("{signature}: {acts:?}") };
        assert_eq!((*at, policy.cause.as_deref()), (ends, Some(signature.word())));
        assert_eq!(policy.constants["limit_ms"], of(limit).as_ms());
        assert_eq!(deeds(&acts).last().map(|(_, deed)| deed.clone()), Some(format!("stopped: {signature}")));
    }
}

#[test]
fn who_is_closed_in_is_ended_after_half_a_minute_whatever_was_found() {
    for Case { signature, is_root, sure, limit } in cases() {
        let seen = looked(signature, is_root, sure);
        let closed = Seen::Process(ProcessSeen::Looked(Box::new(Diagnosis { closed_in: true, ..diagnosis(&seen) })));
        // the one who holds it can let it go on
        let is_held = [Signature::Stopped, Signature::Frozen, Signature::Traced].contains(&signature);
        let after = if is_held { of(limit) } else { of(limit).min(CLOSED_IN) };
        let ends = FIRST_LOOK_MS + after.as_ms();
        assert_eq!(finds(&mut process(Terminal::Null), ends - 1, &closed), [], "{signature}");
        let acts = finds(&mut process(Terminal::Null), 100_000_000, &closed);
        let (at, Act::Report(policy)) = &acts[0] else { panic!("{signature}: {acts:?}") };
        assert_eq!((*at, policy.constants["limit_ms"]), (ends, after.as_ms()));
    }
    // the finding comes and goes: each look that finds something else starts the time anew
    let mut bench = process(Terminal::Null);
    let seen = looked(Signature::NeverEnds, true, Sure::Likely);
    for look in 1..20_u64 {
        let found = Diagnosis { closed_in: look.is_multiple_of(2), ..diagnosis(&seen) };
        assert_eq!(finds(&mut bench, look * 10_000, &Seen::Process(ProcessSeen::Looked(Box::new(found)))), []);
    }
}

#[test]
fn what_is_announced_is_what_is_done() {
    let intent = |bench: &Bench| bench.strategy.intent().map(|intent| (intent.at.0, intent.does, intent.cause));
    let expect = |at: Span, does, cause: &str| Some((at.as_ms(), does, cause.to_owned()));
    let mut silent = process(Terminal::Pipe);
    assert_eq!(intent(&silent), expect(MUTE, Intended::CloseStdin, "stdin"));
    silent.out(RESULT);
    assert_eq!(intent(&silent), expect(LINGER, Intended::End, "lingers"));
    silent.until(LINGER.as_ms());
    assert_eq!(intent(&silent), expect(LINGER + STEP, Intended::End, "lingers"), "the next step");
    let mut held = process(Terminal::Null);
    assert_eq!(intent(&held), expect(QUIET, Intended::End, "idle"));
    held.see(Seen::Process(ProcessSeen::Exited(0)));
    assert_eq!(intent(&held), expect(STEP, Intended::TakeAsOver, "pipe-held"));
    held.until(STEP.as_ms());
    assert_eq!(intent(&held), None);
    let wall = Bench::started("wall(cap=30m)");
    assert_eq!(intent(&wall), expect(Span::mins(30), Intended::End, "wall"));
}

/// `docs/guard.md` with the table of all limits as they are.
fn with_all_limits(page: &str) -> String {
    const HEAD: &str = "| finding | of | limit | because |\n|---|---|---|---|\n";
    let (before, rest) = page.split_once(HEAD).expect("the table of limits");
    let (_, after) = rest.split_once("\n\n").expect("a text after the table");
    let row = |Case { signature, is_root, sure, limit }: Case| {
        let certain = if sure == Sure::Certain { ", certain" } else { "" };
        let whose = if is_root { "the agent" } else { "a process below it" };
        format!("| `{signature}`{certain} | {whose} | {} | {} |\n", of(limit), limit.because)
    };
    format!("{before}{HEAD}{}\n{after}", cases().into_iter().map(row).collect::<String>())
}

#[test]
fn the_page_has_the_table_of_all_limits() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guard.md");
    let page = std::fs::read_to_string(path).expect("the page of guard");
    let wanted = with_all_limits(&page);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &wanted).expect("the page can be written");
    } else {
        assert!(page == wanted, "UPDATE_EXPECT=1 cargo test -p rehang-strategy guard writes the table anew");
    }
}

#[test]
fn an_ask_that_somebody_can_answer_has_a_person_s_time() {
    let mut bench = process(Terminal::Tty);
    let seen = looked(Signature::QuestionOpen, true, Sure::Likely);
    assert_eq!(finds(&mut bench, PERSON.as_ms(), &seen), []);
    assert!(!finds(&mut bench, 100_000_000, &seen).is_empty());
}

#[test]
fn what_is_found_counts_from_the_last_word_and_only_while_it_stands() {
    let seen = looked(Signature::NeverEnds, true, Sure::Likely);
    let mut bench = process(Terminal::Null);
    for minute in 1..60 {
        assert_eq!(finds(&mut bench, minute * 240_000, &seen), [], "it speaks every four minutes");
        bench.out(&format!("word {minute}\n"));
    }
    let mut bench = process(Terminal::Null);
    for minute in 1..18 {
        let other = if minute % 2 == 0 { Signature::NeverEnds } else { Signature::ToolLost };
        assert_eq!(finds(&mut bench, minute * 240_000, &looked(other, true, Sure::Likely)), [], "now this, now that");
    }
    assert_eq!(
        finds(&mut process(Terminal::Null), AT_WORK.as_ms() - 1, &looks(Verdict::Waiting)),
        [],
        "it is not hung"
    );
}

fn diagnosis(seen: &Seen) -> Diagnosis {
    let Seen::Process(ProcessSeen::Looked(diagnosis)) = seen else { panic!("{seen:?}") };
    (**diagnosis).clone()
}

/// What silence alone leads to, after this time.
fn idle(after: Span) -> Vec<(u64, String)> {
    words(&[(after, "TERM tree"), (after + STEP, "KILL tree"), (after + STEP + STEP, "stopped: idle")])
}

#[test]
fn a_build_that_is_silent_for_hours_is_left_alone() {
    for terminal in [Terminal::Null, Terminal::Tty] {
        for verdict in [Verdict::Working, Verdict::Waiting, Verdict::Unknown] {
            let mut bench = process(terminal);
            bench.out("building\n");
            assert_eq!(quiet(&mut bench, AT_WORK.as_ms() - 1, verdict), []);
            assert_eq!(quiet(&mut bench, 100_000_000, verdict), idle(AT_WORK));
        }
        let mut unanswered = process(terminal);
        assert_eq!(deeds(&unanswered.until(100_000_000)), idle(AT_WORK), "no look is ever answered");
    }
}

#[test]
fn what_is_silent_and_not_at_work_is_ended_sooner() {
    let mut bench = process(Terminal::Null);
    assert_eq!(quiet(&mut bench, QUIET.as_ms() - 1, Verdict::Hung), []);
    assert_eq!(quiet(&mut bench, 100_000_000, Verdict::Hung), idle(QUIET));
    let mut works = process(Terminal::Null);
    let hour = Span::hours(1);
    assert_eq!(quiet(&mut works, hour.as_ms(), Verdict::Working), []);
    let acts = finds(&mut works, 100_000_000, &looks(Verdict::Hung));
    let (at, Act::Report(policy)) = &acts[0] else { panic!("{acts:?}") };
    // looks are two minutes apart by then
    let last = hour.as_ms() - 30_000..=hour.as_ms();
    assert!(last.contains(&(at - QUIET.as_ms())), "75 minutes after it was last at work: {at}");
    assert_eq!(policy.constants["limit_ms"], QUIET.as_ms());
}

#[test]
fn a_ticker_is_no_news_and_a_counter_is() {
    let hour = Span::hours(1).as_ms();
    for verdict in [Verdict::Hung, Verdict::Working] {
        let limit = if verdict == Verdict::Hung { QUIET } else { AT_WORK };
        let mut bench = process(Terminal::Null);
        // it ticks every 5 s, so that no look is due but the one that silence needs
        let tick = |bench: &mut Bench, until: u64, text: &str| {
            let mut acts = Vec::new();
            for at in (bench.now.0 / 5_000 + 1)..=until / 5_000 {
                acts.extend(finds(bench, at * 5_000, &looks(verdict)));
                bench.until(at * 5_000);
                bench.out(text);
            }
            acts
        };
        assert_eq!(tick(&mut bench, hour, "tick\n"), [], "{verdict:?}");
        bench.out("tock\n");
        assert_eq!(tick(&mut bench, hour + limit.as_ms() - 5_000, "tick\n"), [], "{verdict:?}: the tock was news");
        let acts = tick(&mut bench, hour + limit.as_ms(), "tick\n");
        assert_eq!(acts.first().map(|(at, _)| *at), Some(hour + limit.as_ms()), "{verdict:?}");
    }
}

#[test]
fn a_stdin_that_is_the_callers_is_never_closed_and_costs_no_time() {
    let of_caller = || {
        let mut bench = process(Terminal::Pipe);
        bench.see(Seen::Process(ProcessSeen::StdinIsTheCallers));
        bench
    };
    let waits = looked(Signature::StdinOpen, true, Sure::Likely);
    let limit = of(Signature::StdinOpen.limit(true, false).expect("it has one"));
    let ends = Span::ms(FIRST_LOOK_MS + limit.as_ms());
    assert_eq!(deeds(&finds(&mut of_caller(), ends.as_ms(), &waits)), words(&[(ends, "TERM tree")]));
    let mut done = of_caller();
    done.see(Seen::Process(ProcessSeen::Output(Stream::Stdout, RESULT.into())));
    assert_eq!(deeds(&done.until(LINGER.as_ms())), words(&[(LINGER, "TERM tree")]));
}

#[test]
fn a_stdin_that_nobody_writes_to_is_closed_where_the_agent_waits_for_it() {
    let closes = |bench: &mut Bench| deeds(&bench.until(MUTE.as_ms()));
    assert_eq!(closes(&mut process(Terminal::Pipe)), words(&[(MUTE, "close stdin")]));
    for terminal in [Terminal::Tty, Terminal::Null, Terminal::Closed] {
        assert_eq!(closes(&mut process(terminal)), [], "{terminal:?}");
    }
    let mut speaks = process(Terminal::Pipe);
    speaks.out("hello\n");
    assert_eq!(closes(&mut speaks), [], "it does not wait for its stdin");
    let mut fed = process(Terminal::Pipe);
    fed.see(Seen::Process(ProcessSeen::Wrote(b"{}\n".to_vec())));
    assert_eq!(closes(&mut fed), [], "somebody writes");
}

#[test]
fn a_run_that_works_after_its_result_is_not_lingering() {
    let mut bench = process(Terminal::Null);
    bench.out(RESULT);
    assert_eq!(quiet(&mut bench, Span::hours(1).as_ms(), Verdict::Working), []);
    let mut timer = process(Terminal::Null);
    timer.out(RESULT);
    assert_eq!(quiet(&mut timer, Span::hours(1).as_ms(), Verdict::Waiting), []);
    // a session between two turns
    let mut serves = process(Terminal::Null);
    serves.out(RESULT);
    let look = Diagnosis { verdict: Verdict::Waiting, ..diagnosis(&looked(Signature::Serves, true, Sure::Guess)) };
    let acts = finds(&mut serves, LINGER.as_ms(), &Seen::Process(ProcessSeen::Looked(Box::new(look))));
    assert_eq!(deeds(&acts), words(&[(LINGER, "TERM tree")]));
    let mut idle = process(Terminal::Null);
    idle.out(RESULT);
    assert_eq!(quiet(&mut idle, LINGER.as_ms(), Verdict::Ended), words(&[(LINGER, "TERM tree")]));
}

#[test]
fn a_host_has_as_long_as_a_person_for_its_next_message() {
    let lasts = |written: bool, signature: Signature| {
        let mut bench = process(Terminal::Pipe);
        if written {
            bench.see(Seen::Process(ProcessSeen::Wrote(b"{}\n".to_vec())));
        }
        bench.out(RESULT);
        let look = Diagnosis { verdict: Verdict::Waiting, ..diagnosis(&looked(signature, true, Sure::Likely)) };
        let acts = finds(&mut bench, PERSON.as_ms(), &Seen::Process(ProcessSeen::Looked(Box::new(look))));
        deeds(&acts).first().cloned()
    };
    let closes = |after: Span| words(&[(after, "close stdin")]).pop();
    assert_eq!(lasts(true, Signature::BetweenTurns), closes(PERSON));
    assert_eq!(lasts(true, Signature::Serves), closes(LINGER));
    assert_eq!(lasts(false, Signature::BetweenTurns), closes(LINGER), "nobody has sent it a message");
}

#[test]
fn a_result_is_kept_and_what_lingers_behind_it_is_ended() {
    let mut bench = process(Terminal::Pipe);
    bench.out(RESULT);
    let l = LINGER;
    let want = [
        (l, "close stdin"),
        (l + STEP, "TERM tree"),
        (l + STEP + STEP, "KILL tree"),
        (l + STEP + STEP + STEP, "completed: done"),
    ];
    assert_eq!(deeds(&bench.until(100_000_000)), words(&want));
    let mut null = process(Terminal::Null);
    null.out(RESULT);
    assert_eq!(deeds(&null.until(LINGER.as_ms())), words(&[(LINGER, "TERM tree")]), "there is no stdin to close");
    let mut tty = process(Terminal::Tty);
    tty.out(RESULT);
    let acts = tty.until(LINGER.as_ms());
    assert_eq!(deeds(&acts), words(&[(LINGER, "TERM tree")]), "a terminal is not hung up");
    let report = report(&acts.into_iter().map(|(_, act)| act).collect::<Vec<_>>());
    assert_eq!(
        (report.detected.as_deref(), report.cause),
        (Some("lingers"), None),
        "how it ended is what its result says"
    );
    let quiet = finds(&mut process(Terminal::Null), QUIET.as_ms() + 3 * STEP.as_ms(), &looks(Verdict::Hung));
    let Some((_, Act::Process(ProcessAct::Settle(crate::Settled::Stopped(cause, text))))) = quiet.last() else {
        panic!("{quiet:?}")
    };
    let why = "nothing new was said for 75 minutes, and nothing in sight is at work";
    assert_eq!((cause.as_str(), text.as_str()), ("idle", why));
    let ends = tty.see(Seen::Process(ProcessSeen::Exited(-15)));
    assert!(
        matches!(&ends[..], [Act::Process(ProcessAct::Kill { sig: "KILL", whom: crate::Whom::Tree }), Act::Process(ProcessAct::Settle(crate::Settled::Completed(text)))] if text == "done")
    );
}

#[test]
fn a_process_that_goes_on_speaking_after_its_result_is_not_lingering_yet() {
    let mut bench = process(Terminal::Null);
    for minute in 0..60 {
        assert_eq!(deeds(&bench.until(minute * 60_000)), [], "minute {minute}");
        bench.out(RESULT);
    }
    let mut news = process(Terminal::Null);
    news.out(RESULT);
    news.until(60_000);
    news.out("bye\n");
    assert_eq!(deeds(&news.until(60_000 + LINGER.as_ms())), words(&[(Span::mins(1) + LINGER, "TERM tree")]));
}

#[test]
fn a_result_that_is_cut_and_a_failure_that_says_nothing_are_failures_with_a_reason() {
    let ends = |out: &str, code: i32| {
        let mut bench = process(Terminal::Null);
        bench.out(out);
        bench.see(Seen::Process(ProcessSeen::Exited(code)));
        deeds(&bench.until(100_000)).pop().map(|(_, deed)| deed)
    };
    let is = |out: &str, code: i32, deed: &str| assert_eq!(ends(out, code).as_deref(), Some(deed), "{out}");
    is(&RESULT[..30], 0, "failed: the agent's last message is cut");
    is("all done", 0, "completed: all done");
    is(
        "{\"type\":\"result\",\"is_error\":true,\"result\":\"\"}\n",
        1,
        "failed: the agent's result is an error that says nothing",
    );
    is("{\"type\":\"result\",\"is_error\":true,\"result\":\"no\"}\n", 1, "failed: no");
    is("  {\"type\":\"result\",\"is_error\":false,\"result\":\"shown\"}\n", 3, "failed: exited with 3");
    is(&format!("$ cat log\n{RESULT}"), 3, "failed: exited with 3");
    let interrupted = "{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":false}\n";
    is(interrupted, 0, "failed: the agent's result is an error that says nothing");
}

#[test]
fn a_word_that_was_under_way_takes_no_signal_back() {
    let mut bench = process(Terminal::Null);
    let at = QUIET.as_ms();
    assert_eq!(deeds(&finds(&mut bench, at, &looks(Verdict::Hung))), words(&[(QUIET, "TERM tree")]));
    bench.out("{\"type\":\"user\",\"message\":{\"content\":[]}}\n");
    let Some(Act::Process(ProcessAct::Settle(crate::Settled::Stopped(cause, _)))) =
        bench.see(Seen::Process(ProcessSeen::Exited(143))).pop()
    else {
        panic!()
    };
    assert_eq!(cause, "idle", "who ended it, and why, stays so, though it is slow to say goodbye");
}

#[test]
fn a_further_turn_is_no_lingering() {
    for begins in ["assistant", "user"] {
        let mut bench = process(Terminal::Pipe);
        bench.out(RESULT);
        bench.until(LINGER.as_ms() - 1);
        bench.out(&format!("{{\"type\":\"{begins}\",\"message\":{{\"content\":[]}}}}\n"));
        assert_eq!(deeds(&bench.until(LINGER.as_ms() * 3)), [], "{begins}");
    }
}

#[test]
fn a_pipe_that_somebody_else_holds_does_not_keep_the_run() {
    let mut bench = process(Terminal::Null);
    bench.out("all done\n");
    bench.until(1_000);
    assert_eq!(bench.see(Seen::Process(ProcessSeen::Exited(0))), []);
    assert_eq!(
        deeds(&bench.until(100_000)),
        words(&[(Span::secs(31), "TERM holders"), (Span::secs(31), "completed: all done\n")])
    );
    let mut whole = process(Terminal::Null);
    whole.see(Seen::Process(ProcessSeen::Exited(0)));
    whole.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stdout)));
    whole.see(Seen::Process(ProcessSeen::OutputEnd(Stream::Stderr)));
    assert_eq!(whole.until(100_000_000), [], "the wrapper says how it went");
}

#[test]
fn what_nobody_has_read_is_not_taken_for_whole() {
    let mut stopped = process(Terminal::StdoutStopped);
    stopped.see(Seen::Process(ProcessSeen::Exited(0)));
    assert_eq!(
        deeds(&stopped.until(100_000_000)),
        words(&[
            (QUIET, "TERM holders"),
            (QUIET, "failed: the process is over, and nobody has read what it said for 75 minutes")
        ])
    );
    let mut slow = process(Terminal::StdoutSlow);
    slow.see(Seen::Process(ProcessSeen::Exited(0)));
    for second in 1..=100 {
        assert_eq!(slow.until(second * 1_000), [], "it is still being read");
        slow.out("the same line\n");
    }
    let text = "completed: ".to_owned() + &"the same line\n".repeat(100);
    assert_eq!(
        deeds(&slow.until(1_000_000)),
        words(&[(Span::secs(130), "TERM holders"), (Span::secs(130), text.as_str())])
    );
}

#[test]
fn a_retry_that_says_nothing_new_is_no_news() {
    let mut bench = process(Terminal::Null);
    let step = |at: u64, text: &str| {
        format!("{{\"type\":\"text\",\"timestamp\":{at},\"part\":{{\"id\":\"prt_{at}\",\"text\":\"{text}\"}}}}\n")
    };
    bench.until(1_000);
    bench.out(&step(1, "Half of it."));
    bench.until(3_000_000);
    bench.out(&step(2, "Half of it."));
    assert_eq!(quiet(&mut bench, 1_000 + QUIET.as_ms() - 1, Verdict::Hung), []);
    bench.out(&step(3, "The other half."));
    let news = bench.now.0;
    let acts = quiet(&mut bench, 100_000_000, Verdict::Hung);
    assert_eq!(acts.first().map(|(at, _)| *at), Some(news + QUIET.as_ms()), "the other half was news");
}

/// What a server answers each time.
struct Stands {
    busy: bool,
    message: Value,
    asks: usize,
    children: Option<u32>,
    /// What each look at its processes finds.
    looks: Signature,
}

fn message(finish: Option<&str>, parts: Value) -> Value {
    let completed = finish.map(|_| 2);
    json!({ "info": { "role": "assistant", "finish": finish, "time": { "created": 1, "completed": completed } }, "parts": parts })
}

fn said() -> Value {
    message(Some("stop"), json!([{ "type": "text", "text": "hi" }]))
}

fn bash() -> Value {
    message(None, json!([{ "type": "tool", "tool": "bash", "state": { "status": "running" } }]))
}

impl Stands {
    /// What the guard does about it, and when, apart from looking.
    fn meets(&self, ms: u64) -> Vec<(u64, String)> {
        let mut bench = Bench::of("guard-server");
        bench.see(Seen::Process(ProcessSeen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() }));
        let mut done = Vec::new();
        while let Some(at) = bench.strategy.deadline().filter(|at| at.0 <= ms) {
            let acts = bench.until(at.0).into_iter().map(|(_, act)| act).collect();
            self.serve(&mut bench, acts, &mut done);
        }
        done.retain(|(_, deed)| !deed.starts_with("GET") && deed != "count children");
        done
    }

    fn serve(&self, bench: &mut Bench, acts: Vec<Act>, done: &mut Vec<(u64, String)>) {
        let now = bench.now.0;
        let timed: Vec<(u64, Act)> = acts.into_iter().map(|act| (now, act)).collect();
        done.extend(deeds(&timed));
        for (_, act) in timed {
            let more = match act {
                Act::Protocol(ProtocolAct::CountChildren) => {
                    bench.see(Seen::Protocol(ProtocolSeen::Children(self.children)))
                }
                Act::Process(ProcessAct::Look) => bench.see(looked(self.looks, true, Sure::Likely)),
                Act::Protocol(ProtocolAct::Request { id, path, .. }) => {
                    let body = match path.as_str() {
                        "/session/status" if self.busy => json!({ "ses_1": { "type": "busy" } }),
                        "/session/status" => json!({}),
                        "/question" => json!(vec![0; self.asks]),
                        "/permission" => json!([]),
                        _ => json!([self.message]),
                    };
                    bench.see(Seen::Protocol(ProtocolSeen::Response { id, status: 200, body: body.into() }))
                }
                _ => continue,
            };
            self.serve(bench, more, done);
        }
    }
}

#[test]
fn a_finished_turn_is_taken_as_finished() {
    let idle = Stands { busy: false, message: said(), asks: 0, children: Some(0), looks: Signature::Serves };
    assert_eq!(idle.meets(10_000_000), words(&[(EVERY + SOON, "completed: hi")]));
    let busy = Stands { busy: true, ..idle };
    let want = words(&[(EVERY + STUCK, "POST /session/ses_1/abort"), (EVERY + STUCK, "completed: hi")]);
    assert_eq!(busy.meets(10_000_000), want);
}

#[test]
fn a_step_that_called_tools_is_no_finished_turn() {
    for finish in ["tool-calls", "unknown"] {
        let step = Stands {
            busy: false,
            message: message(Some(finish), json!([])),
            asks: 0,
            children: Some(0),
            looks: Signature::Serves,
        };
        assert_eq!(step.meets(STUCK.as_ms()), [], "{finish}");
        assert_eq!(step.meets(10_000_000), words(&[(EVERY + STUCK, "stopped: no-result")]));
    }
}

#[test]
fn a_bash_without_a_child_is_stuck_and_one_with_a_child_works() {
    let stuck = Stands { busy: true, message: bash(), asks: 0, children: Some(0), looks: Signature::Serves };
    let want = words(&[(EVERY + GONE, "POST /session/ses_1/abort"), (EVERY + GONE, "stopped: bash-stuck")]);
    assert_eq!(stuck.meets(10_000_000), want);
    for children in [Some(1), None] {
        let works = Stands { children, message: bash(), ..stuck };
        assert_eq!(works.meets(QUIET.as_ms()), [], "{children:?}");
    }
}

#[test]
fn an_ask_is_neither_answered_nor_refused_nor_aborted() {
    let asked = Stands { busy: true, message: bash(), asks: 1, children: Some(0), looks: Signature::PermissionOpen };
    assert_eq!(asked.meets(PERSON.as_ms()), [], "a person has their time");
    assert_eq!(asked.meets(QUIET.as_ms()), words(&[(EVERY + PERSON, "stopped: asked")]));
}

#[test]
fn a_server_whose_model_is_silent_is_ended_by_what_its_processes_show() {
    let silent = Stands {
        busy: true,
        message: message(None, json!([])),
        asks: 0,
        children: Some(0),
        looks: Signature::ModelSilent,
    };
    let limit = of(Signature::ModelSilent.limit(true, false).expect("a limit"));
    let want = words(&[(EVERY + limit, "POST /session/ses_1/abort"), (EVERY + limit, "stopped: model-silent")]);
    assert_eq!(silent.meets(QUIET.as_ms()), want);
}

#[test]
fn a_server_that_is_gone_is_said_to_be() {
    let mut bench = Bench::of("guard-server");
    bench.see(Seen::Process(ProcessSeen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() }));
    let mut settled = Vec::new();
    while let Some(at) = bench.strategy.deadline().filter(|at| at.0 <= 10_000_000) {
        for (at, act) in bench.until(at.0) {
            let more = match act {
                Act::Protocol(ProtocolAct::Request { id, .. }) => {
                    bench.see(Seen::Protocol(ProtocolSeen::Failed { id, why: "refused".to_owned() }))
                }
                Act::Protocol(ProtocolAct::CountChildren) => bench.see(Seen::Protocol(ProtocolSeen::Children(None))),
                Act::Process(ProcessAct::Look) => bench.see(looked(Signature::Unknown, true, Sure::Guess)),
                _ => Vec::new(),
            };
            settled.extend(deeds(&more.into_iter().map(|act| (at, act)).collect::<Vec<_>>()));
        }
    }
    let at = EVERY + SOON;
    assert_eq!(settled, words(&[(at, "KILL tree"), (at, "failed: the server cannot be reached")]));
}

/// What it does beside a server that is asked for no session, if each look finds the same.
fn without_a_session(seen: &Seen) -> Vec<(u64, String)> {
    let mut bench = Bench::of("guard-server");
    bench.see(Seen::Process(ProcessSeen::Terminal(Terminal::Null)));
    deeds(&finds(&mut bench, 100_000_000, seen))
}

#[test]
fn a_server_that_is_asked_for_no_session_is_looked_at() {
    let frozen = without_a_session(&looked(Signature::Stopped, true, Sure::Certain));
    // a second look of three has to confirm the first
    assert_eq!(frozen, words(&[(EVERY + Span::mins(15), "KILL tree"), (EVERY + Span::mins(15), "stopped: stopped")]));
    let listens = without_a_session(&looks(Verdict::Waiting));
    assert_eq!(listens, words(&[(AT_WORK, "KILL tree"), (AT_WORK, "stopped: idle")]));
}

#[test]
fn a_finding_that_comes_and_goes_is_no_news_of_the_server() {
    let mut bench = Bench::of("guard-server");
    bench.see(Seen::Process(ProcessSeen::Terminal(Terminal::Null)));
    let mut done = Vec::new();
    for round in 0..1_000_u64 {
        let at = EVERY.as_ms() * (round + 1);
        let seen =
            if round % 2 == 0 { looks(Verdict::Waiting) } else { looked(Signature::ModelSilent, true, Sure::Likely) };
        done.extend(finds(&mut bench, at, &seen));
    }
    assert_eq!(deeds(&done).first().map(|(at, _)| *at), Some(AT_WORK.as_ms()), "{done:?}");
}

/// Each limit that can be set ends a run at the time that is set, and its report names that time.
#[test]
fn a_limit_that_is_set_is_the_one_that_counts() {
    let bench = |spec: &str| {
        let mut bench = Bench::of(spec);
        bench.see(Seen::Process(ProcessSeen::Terminal(Terminal::Null)));
        bench.see(Seen::Process(ProcessSeen::Started { session: String::new(), prompt: "go".to_owned() }));
        bench
    };
    let ends = |spec: &str, seen: &Seen| {
        let (at, act) = finds(&mut bench(spec), 1_000_000, seen).into_iter().next().expect("it ends the run");
        let Act::Report(policy) = act else { panic!("a report comes first") };
        (at, policy.constants["limit_ms"], policy.text.expect("a text"))
    };
    let (at, limit, text) = ends("guard-process(quiet=2m)", &looks(Verdict::Hung));
    assert_eq!((at, limit), (120_000, 120_000));
    assert_eq!(text, "nothing new was said for 2 minutes, and nothing in sight is at work");
    let (at, limit, text) = ends("guard-process(at-work=90s)", &looks(Verdict::Working));
    assert_eq!((at, limit, text.as_str()), (90_000, 90_000, "nothing new was said for 90 seconds"));
    for (set, signature, root) in [
        ("person", Signature::QuestionOpen, true),
        ("model", Signature::ModelSilent, true),
        ("tool", Signature::NeverEnds, false),
    ] {
        let (at, limit, _) = ends(&format!("guard-process({set}=3m)"), &looked(signature, root, Sure::Likely));
        assert_eq!((at, limit), (FIRST_LOOK_MS + 180_000, 180_000), "{set}");
    }
}
