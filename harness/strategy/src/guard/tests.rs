use super::QUIET;
use super::process::{LINGER, MUTE, STEP};
use super::server::{EVERY, GONE, SOON, STUCK};
use super::standing::{CLOSED_IN, LIMITS, PERSON};
use crate::testing::{Bench, Patience, deeds, looked, report};
use crate::{Act, Intended, Seen, Stream};
use rehang_evidence::{Diagnosis, Sure, Verdict};
use rehang_scenario::{Span, Terminal};
use serde_json::{Value, json};

const RESULT: &str = "{\"type\":\"result\",\"is_error\":false,\"result\":\"done\"}\n";

fn process(terminal: Terminal) -> Bench {
    let mut bench = Bench::of("guard-process");
    bench.see(Seen::Terminal(terminal));
    bench.see(Seen::Started { session: String::new(), prompt: "go".to_owned() });
    bench
}

fn words(list: &[(Span, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|(at, word)| (at.as_ms(), (*word).to_owned())).collect()
}

/// When it acts because of silence alone; the look that is due before is asked for, and never answered.
fn quiet_until(bench: &mut Bench) -> u64 {
    let look = bench.strategy.deadline().expect("a look is due");
    assert_eq!(bench.until(look.0).into_iter().map(|(_, act)| act).collect::<Vec<_>>(), [Act::Look]);
    bench.strategy.deadline().expect("a limit").0
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
                Act::Look => acts.extend(bench.see(seen.clone()).into_iter().map(|act| (at, act))),
                act => done.push((at, act)),
            }
        }
    }
    done
}

const FIRST_LOOK_MS: u64 = 10_000;

#[test]
fn each_finding_ends_a_run_at_its_own_limit_and_not_before() {
    for limit in &LIMITS {
        let seen = looked(limit.signature, limit.root, limit.sure);
        let ends = FIRST_LOOK_MS + limit.after.as_ms();
        let mut bench = process(Terminal::Null);
        assert_eq!(finds(&mut bench, ends - 1, &seen), [], "{} before its limit", limit.signature);
        let intent = bench.strategy.intent().expect("it is announced");
        let announced = (intent.does, intent.cause.as_str(), intent.since.0, intent.at.0, intent.pid);
        assert_eq!(announced, (Intended::End, limit.signature, FIRST_LOOK_MS, ends, Some(100)));
        let acts = finds(&mut bench, 100_000_000, &seen);
        let (at, Act::Report(policy)) = &acts[0] else { panic!("{}: {acts:?}", limit.signature) };
        assert_eq!((*at, policy.cause.as_deref()), (ends, Some(limit.signature)));
        assert_eq!(policy.constants["limit_ms"], limit.after.as_ms());
        assert_eq!(deeds(&acts).last().map(|(_, deed)| deed.clone()), Some(format!("stopped: {}", limit.signature)));
    }
}

#[test]
fn who_is_closed_in_is_ended_after_half_a_minute_whatever_was_found() {
    for limit in &LIMITS {
        let seen = looked(limit.signature, limit.root, limit.sure);
        let closed = Seen::Looked(Box::new(Diagnosis { closed_in: true, ..diagnosis(&seen) }));
        let ends = FIRST_LOOK_MS + limit.after.min(CLOSED_IN).as_ms();
        assert_eq!(finds(&mut process(Terminal::Null), ends - 1, &closed), [], "{}", limit.signature);
        let acts = finds(&mut process(Terminal::Null), 100_000_000, &closed);
        let (at, Act::Report(policy)) = &acts[0] else { panic!("{}: {acts:?}", limit.signature) };
        assert_eq!((*at, policy.constants["limit_ms"]), (ends, limit.after.min(CLOSED_IN).as_ms()));
    }
    // the finding comes and goes: each look that finds something else starts the time anew
    let mut bench = process(Terminal::Null);
    let seen = looked("never-ends", true, Sure::Likely);
    for look in 1..20_u64 {
        let found = Diagnosis { closed_in: look.is_multiple_of(2), ..diagnosis(&seen) };
        assert_eq!(finds(&mut bench, look * 10_000, &Seen::Looked(Box::new(found))), []);
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
    held.see(Seen::Exited(0));
    assert_eq!(intent(&held), expect(STEP, Intended::TakeAsOver, "pipe-held"));
    held.until(STEP.as_ms());
    assert_eq!(intent(&held), None);
    let wall = Bench::started("wall(cap=30m)");
    assert_eq!(intent(&wall), expect(Span::mins(30), Intended::End, "wall"));
}

#[test]
fn the_page_names_each_limit() {
    let page = include_str!("../../../../docs/guard.md");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), LIMITS.len());
    for (row, limit) in rows.iter().zip(&LIMITS) {
        let certain = if limit.sure == Sure::Certain { ", certain" } else { "" };
        let of = if limit.root { "the agent" } else { "a process below it" };
        let begin = format!("| `{}`{certain} | {of} | {} |", limit.signature, limit.after);
        assert!(row.starts_with(&begin), "{row} does not begin with {begin}");
    }
}

#[test]
fn an_ask_that_somebody_can_answer_has_a_person_s_time() {
    let mut bench = process(Terminal::Tty);
    let seen = looked("question-open", true, Sure::Likely);
    assert_eq!(finds(&mut bench, PERSON.as_ms(), &seen), []);
    assert!(!finds(&mut bench, 100_000_000, &seen).is_empty());
}

#[test]
fn what_is_found_counts_from_the_last_word_and_only_while_it_stands() {
    let seen = looked("never-ends", true, Sure::Likely);
    let mut bench = process(Terminal::Null);
    for minute in 1..60 {
        assert_eq!(finds(&mut bench, minute * 240_000, &seen), [], "it speaks every four minutes");
        bench.out(&format!("word {minute}\n"));
    }
    let mut bench = process(Terminal::Null);
    for minute in 1..60 {
        let other = if minute % 2 == 0 { "never-ends" } else { "tool-lost" };
        assert_eq!(finds(&mut bench, minute * 240_000, &looked(other, true, Sure::Likely)), [], "now this, now that");
    }
    let waits = Seen::Looked(Box::new(Diagnosis { verdict: Verdict::Waiting, ..diagnosis(&seen) }));
    assert_eq!(finds(&mut process(Terminal::Null), QUIET.as_ms() - 1, &waits), [], "what waits is not hung");
}

fn diagnosis(seen: &Seen) -> Diagnosis {
    let Seen::Looked(diagnosis) = seen else { panic!("{seen:?}") };
    (**diagnosis).clone()
}

#[test]
fn a_build_that_is_silent_for_hours_is_left_alone() {
    for terminal in [Terminal::Null, Terminal::Tty] {
        let mut bench = process(terminal);
        bench.out("building\n");
        assert_eq!(deeds(&bench.until(QUIET.as_ms() - 1)), []);
        let want = words(&[(QUIET, "TERM tree"), (QUIET + STEP, "KILL tree"), (QUIET + STEP + STEP, "stopped: idle")]);
        assert_eq!(deeds(&bench.until(100_000_000)), want);
    }
}

#[test]
fn a_ticker_is_no_news_and_a_counter_is() {
    let mut bench = process(Terminal::Null);
    for hour in 1..5_u64 {
        bench.until(hour * 3_600_000);
        bench.out("tick\n");
    }
    assert_eq!(quiet_until(&mut bench), 3_600_000 + QUIET.as_ms(), "the first tick was news");
    bench.out("tock 5\n");
    assert_eq!(quiet_until(&mut bench), 4 * 3_600_000 + FIRST_LOOK_MS + QUIET.as_ms(), "10 s later, after the look");
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
    fed.see(Seen::Wrote(b"{}\n".to_vec()));
    assert_eq!(closes(&mut fed), [], "somebody writes");
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
    assert_eq!(report(&acts.into_iter().map(|(_, act)| act).collect::<Vec<_>>()).cause.as_deref(), Some("lingers"));
    let quiet = process(Terminal::Null).until(QUIET.as_ms() + 3 * STEP.as_ms());
    let Some((_, Act::Settle(crate::Settled::Stopped(cause, text)))) = quiet.last() else { panic!("{quiet:?}") };
    assert_eq!((cause.as_str(), text.as_str()), ("idle", "nothing new was said for hours"));
    let ends = tty.see(Seen::Exited(-15));
    assert!(
        matches!(&ends[..], [Act::Kill { sig: "KILL", whom: crate::Whom::Tree }, Act::Settle(crate::Settled::Completed(text))] if text == "done")
    );
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
    assert_eq!(bench.see(Seen::Exited(0)), []);
    assert_eq!(
        deeds(&bench.until(100_000)),
        words(&[(Span::secs(31), "TERM holders"), (Span::secs(31), "completed: all done\n")])
    );
    let mut whole = process(Terminal::Null);
    whole.see(Seen::Exited(0));
    whole.see(Seen::OutputEnd(Stream::Stdout));
    whole.see(Seen::OutputEnd(Stream::Stderr));
    assert_eq!(whole.until(100_000_000), [], "the wrapper says how it went");
}

#[test]
fn what_nobody_has_read_is_not_taken_for_whole() {
    let mut stopped = process(Terminal::StdoutStopped);
    stopped.see(Seen::Exited(0));
    assert_eq!(
        deeds(&stopped.until(100_000_000)),
        words(&[(QUIET, "failed: the process is over, and nobody has read what it said for hours")])
    );
    let mut slow = process(Terminal::StdoutSlow);
    slow.see(Seen::Exited(0));
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
    for hour in 1..5_u64 {
        bench.until(hour * 3_600_000);
        bench.out(&step(hour, "Half of it."));
    }
    assert_eq!(quiet_until(&mut bench), 3_600_000 + QUIET.as_ms(), "the first was news");
    bench.out(&step(5, "The other half."));
    assert_eq!(quiet_until(&mut bench), 4 * 3_600_000 + FIRST_LOOK_MS + QUIET.as_ms(), "10 s later, after the look");
}

/// What a server answers each time.
struct Stands {
    busy: bool,
    message: Value,
    asks: usize,
    children: Option<u32>,
    /// What each look at its processes finds.
    looks: &'static str,
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
        bench.see(Seen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() });
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
                Act::CountChildren => bench.see(Seen::Children(self.children)),
                Act::Look => bench.see(looked(self.looks, true, Sure::Likely)),
                Act::Request { id, path, .. } => {
                    let body = match path.as_str() {
                        "/session/status" if self.busy => json!({ "ses_1": { "type": "busy" } }),
                        "/session/status" => json!({}),
                        "/question" => json!(vec![0; self.asks]),
                        "/permission" => json!([]),
                        _ => json!([self.message]),
                    };
                    bench.see(Seen::Response { id, status: 200, body })
                }
                _ => continue,
            };
            self.serve(bench, more, done);
        }
    }
}

#[test]
fn a_finished_turn_is_taken_as_finished() {
    let idle = Stands { busy: false, message: said(), asks: 0, children: Some(0), looks: "serves" };
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
            looks: "serves",
        };
        assert_eq!(step.meets(STUCK.as_ms()), [], "{finish}");
        assert_eq!(step.meets(10_000_000), words(&[(EVERY + STUCK, "stopped: no-result")]));
    }
}

#[test]
fn a_bash_without_a_child_is_stuck_and_one_with_a_child_works() {
    let stuck = Stands { busy: true, message: bash(), asks: 0, children: Some(0), looks: "serves" };
    let want = words(&[(EVERY + GONE, "POST /session/ses_1/abort"), (EVERY + GONE, "stopped: bash-stuck")]);
    assert_eq!(stuck.meets(10_000_000), want);
    for children in [Some(1), None] {
        let works = Stands { children, message: bash(), ..stuck };
        assert_eq!(works.meets(QUIET.as_ms()), [], "{children:?}");
    }
}

#[test]
fn an_ask_is_neither_answered_nor_refused_nor_aborted() {
    let asked = Stands { busy: true, message: bash(), asks: 1, children: Some(0), looks: "permission-open" };
    assert_eq!(asked.meets(PERSON.as_ms()), [], "a person has their time");
    assert_eq!(asked.meets(QUIET.as_ms()), words(&[(EVERY + PERSON, "stopped: asked")]));
}

#[test]
fn a_server_whose_model_is_silent_is_ended_by_what_its_processes_show() {
    let silent =
        Stands { busy: true, message: message(None, json!([])), asks: 0, children: Some(0), looks: "model-silent" };
    let limit = LIMITS.iter().find(|limit| limit.signature == "model-silent").expect("a limit").after;
    let want = words(&[(EVERY + limit, "POST /session/ses_1/abort"), (EVERY + limit, "stopped: model-silent")]);
    assert_eq!(silent.meets(QUIET.as_ms()), want);
}

#[test]
fn a_server_that_is_gone_is_said_to_be() {
    let mut bench = Bench::of("guard-server");
    bench.see(Seen::Started { session: "ses_1".to_owned(), prompt: "go".to_owned() });
    let mut settled = Vec::new();
    while let Some(at) = bench.strategy.deadline().filter(|at| at.0 <= 10_000_000) {
        for (at, act) in bench.until(at.0) {
            let more = match act {
                Act::Request { id, .. } => bench.see(Seen::Failed { id, why: "refused".to_owned() }),
                Act::CountChildren => bench.see(Seen::Children(None)),
                Act::Look => bench.see(looked("unknown", true, Sure::Guess)),
                _ => Vec::new(),
            };
            settled.extend(deeds(&more.into_iter().map(|act| (at, act)).collect::<Vec<_>>()));
        }
    }
    assert_eq!(settled, words(&[(SOON, "failed: the server cannot be reached")]));
}
