//! The cases: one line each names what must be found and the function that starts the processes.

use crate::set_up::*;
use crate::stage::{Case, Stage};
use rehang_evidence::{Limits, Verdict};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use Verdict::{Hung, Unknown, Waiting, Working};

/// All of them.
pub fn all() -> Vec<Case> {
    vec![
        hung("stdin-pipe", "stdin-open", "S1", "standard input", |s| piped(s, &["read-stdin"])),
        hung("stdin-socket", "stdin-open", "S1", "standard input", |s| {
            let (ours, theirs) = UnixStream::pair().expect("a pair");
            let mut command = s.player(&["read-stdin"]);
            command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
            s.start(command);
            s.keep(ours);
        }),
        benign("stdin-is-a-fifo-of-its-own", Waiting, "pipe-read", |s| {
            let fifo = fifo(s, "queue");
            plain(s, &["read-own-fifo", &fifo]);
        }),
        hung("stdin-in-a-thread", "stdin-open", "S1", "standard input", |s| piped(s, &["read-stdin-in-thread"])),
        hung("stdin-epoll", "stdin-open", "S1", "standard input", |s| piped(s, &["epoll-stdin"])),
        hung("stdin-poll", "stdin-open", "S1", "standard input", |s| piped(s, &["poll-stdin"])),
        hung("stdin-of-an-agent", "stdin-open", "S1", "Codex", |s| {
            agent_piped(s, "codex", &["exec"], &["read-stdin-in-thread"]);
        }),
        hung("stdin-of-a-child-whose-output-is-read", "stdin-open", "S1", "standard input", |s| {
            plain(s, &["read-output-of", "stdin", "named", "cat", "read-stdin"]);
        }),
        hung("stdin-of-a-tool", "stdin-open", "B1", "opencode", |s| {
            agent(s, "opencode", &["run"], &["loop-with-child", "named", "cat", "read-stdin"]);
        }),
        hung("stdin-of-a-tool-below-a-shell", "stdin-open", "B1", "opencode", |s| {
            agent(s, "opencode", &["run"], &["loop-with-child", "wait-for", "named", "cat", "read-stdin"]);
        }),
        hung("stdin-of-a-hook", "stdin-open", "S3", "a hook of Claude Code", |s| {
            agent(s, "claude", &["-p"], &["loop-with-child", "args", "/home/x/.claude/hooks/check.sh", "read-stdin"]);
        }),
        hung("stdin-that-its-starter-shares", "stdin-open", "S1", "standard input", |s| {
            piped(s, &["wait-for", "read-stdin"]);
        }),
        hung("hook-never-ends", "never-ends", "B5", "without an end", |s| {
            agent(
                s,
                "claude",
                &["-p"],
                &["loop-with-child", "args", "/home/x/.claude/hooks/check.sh", "sleep-for-ever"],
            );
        }),
        hung("hook-whose-output-nobody-reads", "stdout-undrained", "C6", "standard output", |s| {
            plain(s, &["ignore-output-of", "args", "/home/x/.claude/hooks/stop.sh", "fill-stdout"]);
        }),
        hung("tty-read", "tty-read", "B2", "waits for a key at the terminal /dev/pts/", |s| tty(s, &["read-stdin"])),
        hung("tty-read-dev-tty", "tty-read", "B2", "waits for a key at the terminal /dev/tty", |s| {
            tty(s, &["read-dev-tty"])
        }),
        hung("tty-read-of-a-tool", "tty-read", "B2", "waits for a key", |s| tty(s, &["wait-for", "read-dev-tty"])),
        hung("git-asks-for-a-name", "tty-read", "B2", "“Username for 'https://example.com':”", |s| {
            tty(s, &["wait-for", "named", "git-remote-http", "ask", "Username for 'https://example.com': "]);
        }),
        hung("git-has-a-switch", "tty-read", "B2", "GIT_TERMINAL_PROMPT=0", |s| {
            tty(s, &["wait-for", "named", "git-remote-http", "ask", "Username for 'https://example.com': "]);
        }),
        hung("ssh-has-a-switch", "tty-read", "B2", "BatchMode=yes", |s| {
            tty(s, &["wait-for", "named", "ssh", "ask", "Are you sure you want to continue connecting (yes/no)? "]);
        }),
        hung("terminal-query", "tty-read", "B2", "its cursor", |s| tty(s, &["wait-for", "ask-terminal"])),
        hung("pager", "pager", "B3", "shows a page", |s| tty(s, &["wait-for", "named", "less", "read-dev-tty"])),
        hung("editor", "editor", "B4", "is an editor", |s| tty(s, &["wait-for", "named", "vim", "poll-stdin"])),
        hung("editor-on-stderr", "editor-on-stderr", "B4", "its own standard error", |s| {
            plain(s, &["read-output-of", "both", "named", "vi", "editor-on-stderr"]);
        }),
        hung("sigttin", "sigttin", "T1", "stopped by SIGTTIN", |s| tty(s, &["background", "read-stdin"])),
        hung("sigttou", "sigttou", "T1", "stopped by SIGTTOU", |s| tty(s, &["background", "change-tty"])),
        hung("tty-unread", "tty-unread", "T6", "does not read", |s| tty(s, &["fill-tty"])),
        hung("stray-holds-pipe", "stray-holds-pipe", "B6", "outlived the command", |s| stray(s, "quiet", "out")),
        hung("stray-holds-stderr-too", "stray-holds-pipe", "B6", "outlived the command", |s| stray(s, "quiet", "both")),
        hung("stray-in-a-session-of-its-own", "stray-holds-pipe", "B6", "outlived the command", |s| {
            stray(s, "away", "out");
        }),
        hung("stray-at-a-terminal", "stray-holds-pipe", "B6", "outlived the command", stray_at_terminal),
        hung("stray-that-is-an-agent-and-asks", "question-open", "Q1", "que_1", |s| {
            stray_agent(s, "service=question id=que_1 questions=1 asking");
        }),
        moves("client-of-an-idle-server", Hung, "event-missed", Some("E1"), "nothing is under way", |s| {
            client(s, "{}", "[]");
        }),
        moves("client-of-a-server-that-asks", Hung, "question-open", Some("Q1"), "Which database?", |s| {
            client(s, BUSY, QUESTION);
        }),
        moves("client-of-a-busy-server", Waiting, "peer-wait", None, "began to answer", |s| client(s, BUSY, "[]")),
        moves("stray-writes-pipe", Waiting, "stray-writes-pipe", Some("B7"), "goes on writing", |s| {
            stray(s, "noisy", "out")
        }),
        Case {
            awake: true,
            ..moves(
                "stray-writes-pipe-of-one-awake",
                Waiting,
                "stray-writes-pipe",
                Some("B7"),
                "goes on writing",
                |s| {
                    stray(s, "noisy", "out");
                },
            )
        },
        hung("stderr-undrained", "stderr-undrained", "C1", "standard error", |s| {
            plain(s, &["read-output-of", "both", "fill-stderr"])
        }),
        hung("stdout-undrained", "stdout-undrained", "C6", "standard output", |s| {
            plain(s, &["ignore-output-of", "fill-stdout"])
        }),
        hung("server-stdout-undrained", "stdout-undrained", "C2", "standard output", |s| {
            plain(s, &["ignore-output-of", "serve-and-fill-stdout"])
        }),
        hung("mutual-pipe", "mutual-pipe", "C6", "wait for each other", |s| plain(s, &["mutual-pipe"])),
        hung("mutual-wait", "mutual-wait", "C6", "wait for each other", |s| plain(s, &["mutual-wait"])),
        hung("tool-server-owes-an-answer", "mutual-wait", "X2", "waits for an answer of its tool server", |s| {
            plain(s, &["read-output-of", "stdin", "args", "mcp-server", "read-stdin"])
        }),
        hung("tool-server-was-never-asked", "mutual-wait", "X2", "wait for each other", |s| {
            plain(s, &["loop-with-child", "args", "mcp-server", "read-stdin"])
        }),
        hung("fifo-open", "fifo-open", "B12", "nobody opens it to write", |s| {
            let fifo = fifo(s, "queue");
            plain(s, &["open-fifo", &fifo]);
        }),
        hung("fifo-open-to-write", "fifo-open", "B12", "nobody opens it to read", |s| {
            let fifo = fifo(s, "queue");
            plain(s, &["open-fifo-to-write", &fifo]);
        }),
        Case {
            ready: 1,
            ..hung("flock", "file-lock", "R2", "the lock on", |s| {
                locked(s, "flock", "index.lock", &["flock"], &["sleep-for-ever"])
            })
        },
        Case {
            ready: 1,
            ..hung("posix-lock", "file-lock", "R2", "the lock on", |s| {
                locked(s, "posix", "index.lock", &["lock"], &["sleep-for-ever"])
            })
        },
        hung("lock-of-a-leaked-child", "file-lock", "H3", "left by a run that is over", leaked),
        Case {
            ..moves("sqlite-lock", Hung, "sqlite-lock", Some("R1"), "the database", |s| {
                locked(s, "posix", "opencode.db", &["busy-database"], &["sleep-for-ever"])
            })
        },
        hung("unreaped", "unreaped", "C4", "has not noticed", |s| plain(s, &["ignore-child"])),
        moves("spin-on-eof", Hung, "eof-spin", Some("H2"), "spins", |s| plain(s, &["spin-on-eof"])),
        moves("spin-on-a-broken-pipe", Hung, "eof-spin", Some("H2"), "spins", |s| plain(s, &["spin-on-broken-pipe"])),
        Case {
            // it is awaited where it is found
            ready: 0,
            ..moves("orphaned-agent-spins", Hung, "cpu-spin", Some("H2"), "whoever started it is gone", |s| {
                orphan(s, "opencode");
            })
        },
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("model-silent", "model-silent", "M1", "began to answer", |s| peer(s, "claude", "ask-by-loop"))
        },
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("peer-silent", "peer-silent", "E2", "has been silent", |s| peer(s, "curl", "ask-by-read"))
        },
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("peer-silent-on-a-kept-connection", "peer-silent", "M9", "had been idle for", |s| {
                peer(s, "curl", "ask-on-a-kept-one");
            })
        },
        Case {
            limits: Limits { silent_ms: 1 },
            ..hung("no-connection", "no-connection", "M8", "nothing under way", |s| {
                agent(s, "opencode", &["run"], &["idle"]);
            })
        },
        Case {
            limits: Limits { silent_ms: 1 },
            ..hung("no-connection-but-a-timer", "no-connection", "M8", "nothing under way", |s| {
                agent(s, "codex", &["exec"], &["timer"]);
            })
        },
        Case {
            mechanism: Some("M8"),
            ..benign("no-connection-for-a-moment", Waiting, "no-connection", |s| {
                agent(s, "codex", &["exec"], &["timer"]);
            })
        },
        hung("oauth-callback", "oauth-callback", "X4", "log-in", |s| {
            agent(s, "gemini", &[], &["listen"]);
        }),
        hung("never-ends", "never-ends", "B5", "without an end", |s| plain(s, &["wait-for", "sleep-for-ever"])),
        hung("never-ends-and-ignores-term", "never-ends", "B5", "kill -KILL", |s| {
            plain(s, &["wait-for", "deaf-to-term", "sleep-for-ever"]);
        }),
        hung("follows-a-file", "never-ends", "B5", "follows a file", |s| {
            agent(s, "tail", &["-f", "x.log"], &["named", "tail", "idle"]);
        }),
        hung("thread-deadlock", "thread-deadlock", "", "each other", |s| plain(s, &["deadlock"])),
        // our own GET requests keep these awake
        moves("question-on-a-server", Hung, "question-open", Some("Q1"), "Which database?", |s| {
            asking(s, QUESTION, "[]", "{}")
        }),
        moves("two-questions-on-a-server", Hung, "question-open", Some("Q1"), "(1 more is open)", |s| {
            asking(s, &format!("[{0},{0}]", QUESTION.trim_matches(['[', ']'])), "[]", "{}");
        }),
        moves("question-of-a-subagent", Hung, "question-open", Some("Q2"), "subagent", |s| {
            asking(s, QUESTION, "[]", NESTED)
        }),
        moves("permission-on-a-server", Hung, "permission-open", Some("P1"), "bash: rm -r build", |s| {
            asking(s, "[]", PERMISSION, "{}")
        }),
        moves("permission-of-a-subagent", Hung, "permission-open", Some("P2"), "subagent", |s| {
            asking(s, "[]", PERMISSION, NESTED)
        }),
        moves("tool-of-which-nothing-runs", Hung, "tool-lost", Some("B13"), "“bash: make”", |s| {
            busy(s, BUSY, TOOL_RUNS);
        }),
        moves("busy-behind-its-answer", Hung, "busy-stuck", Some("E3"), "its session busy", |s| {
            busy(s, BUSY, COMPLETE)
        }),
        hung("question-in-a-log", "question-open", "Q1", "que_1", |s| {
            let line = "service=question id=que_1 questions=1 asking";
            agent(s, "opencode", &["run", "go"], &["logged", line, "idle"]);
        }),
        hung("permission-in-a-log", "permission-open", "P1", "touch x", |s| {
            let line = r#"service=permission id=per_1 permission=bash patterns=["touch x"] asking"#;
            agent(s, "opencode", &["run", "go"], &["logged", line, "idle"]);
        }),
        hung("question-in-a-transcript", "question-open", "Q1", "Which colour?", |s| {
            agent_piped(s, "claude", &["-p"], &["recorded", "question", "epoll-stdin"]);
        }),
        hung("permission-in-a-transcript", "permission-open", "P3", "“Bash: touch x”", |s| {
            agent_piped(s, "claude", &["-p"], &["recorded", "bash", "epoll-stdin"]);
        }),
        hung("permission-at-a-terminal", "permission-open", "P1", "a key at the terminal", |s| {
            agent_on_tty(s, "claude", &["recorded", "bash", "epoll-stdin"]);
        }),
        hung("tool-of-a-transcript-of-which-nothing-runs", "tool-lost", "B13", "“Bash: touch x”", |s| {
            agent(s, "claude", &["-p"], &["recorded", "bash", "idle"]);
        }),
        hung("tool-server-owes-an-answer", "tool-lost", "X2", "which a tool server owes it", |s| {
            agent(s, "claude", &["-p"], &["recorded", "tool-server", "idle"]);
        }),
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("tool-server-over-http-owes-an-answer", "tool-lost", "X2", "mcp__tickets__list: {}” from", |s| {
                tool_server(s, "ask-by-loop");
            })
        },
        hung("host-owes-an-answer", "host-silent", "P4", "waits for its host in the middle of a turn", |s| {
            agent_piped(s, "claude", &HOSTED, &["recorded", "prompt", "epoll-stdin"]);
        }),
        hung("alive-after-its-result", "alive-after-result", "H1", "nothing in sight keeps it", |s| {
            agent(s, "claude", &["-p"], &["recorded", "ended", "idle"]);
        }),
        hung("alive-after-its-result-by-a-child", "alive-after-result", "H1", "below it lives", |s| {
            agent(s, "claude", &["-p"], &["recorded", "ended", "loop-with-child", "sleep"]);
        }),
        hung("alive-after-its-result-by-its-input", "alive-after-result", "H1", "holds its standard input open", |s| {
            agent_piped(s, "claude", &["-p"], &["recorded", "ended", "epoll-stdin"]);
        }),
        hung("command-of-an-agent-is-a-server", "never-ends", "B5", "that usually does not end", |s| {
            agent(s, "opencode", &["run"], &["loop-with-child", "wait-for", "listen"]);
        }),
        hung("command-of-an-agent-watches-files", "never-ends", "B5", "that usually does not end", |s| {
            agent(s, "opencode", &["run"], &["loop-with-child", "watch-files"]);
        }),
        hung("never-ends-but-by-a-signal", "never-ends", "B5", "without an end", |s| plain(s, &["wait-for", "pause"])),
        hung("reads-its-own-pipe-beside-a-zombie", "own-pipe", "", "nobody but itself", |s| {
            plain(s, &["beside-a-zombie", "read-own-pipe"]);
        }),
        hung("reads-its-own-pipe", "own-pipe", "", "nobody but itself", |s| plain(s, &["read-own-pipe"])),
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("server-that-owes-an-answer", "peer-silent", "E2", "has been silent", |s| {
                keeping(s, &["and-owe"]);
            })
        },
        // what is no hang
        benign("stopped", Waiting, "stopped", |s| plain(s, &["wait-for", "stop"])),
        benign("lock-of-a-holder-that-sleeps", Waiting, "lock-wait", |s| {
            locked(s, "flock", "index.lock", &["flock"], &["sleep"]);
            s.await_ready(0).expect("the holder is ready");
        }),
        benign("sleep", Waiting, "sleep", |s| plain(s, &["sleep"])),
        benign("sleep-that-was-stopped", Waiting, "sleep", |s| plain(s, &["stop-and-continue", "sleep"])),
        benign("live-child", Waiting, "sleep", |s| plain(s, &["wait-for", "sleep"])),
        benign("live-child-whose-output-is-read", Waiting, "sleep", |s| plain(s, &["read-output-of", "out", "sleep"])),
        benign("tool-sleeps", Waiting, "sleep", |s| {
            agent(s, "opencode", &["run"], &["loop-with-child", "sleep"]);
        }),
        benign("hook-sleeps", Waiting, "sleep", |s| {
            agent(s, "claude", &["-p"], &["loop-with-child", "args", "/home/x/.claude/hooks/check.sh", "sleep"]);
        }),
        benign("tool-of-a-transcript-sleeps", Waiting, "sleep", |s| {
            agent(s, "claude", &["-p"], &["recorded", "bash", "loop-with-child", "sleep"]);
        }),
        benign("command-of-a-hosted-agent-sleeps", Waiting, "sleep", |s| {
            agent_piped(s, "claude", &HOSTED, &["recorded", "prompt", "loop-with-child", "sleep"]);
        }),
        benign("tool-server-over-http-works", Waiting, "peer-wait", |s| tool_server(s, "ask-by-loop")),
        benign("tool-server-is-mute", Waiting, "tool-server-mute", |s| {
            agent(s, "claude", &["-p"], &["loop-with-child", "args", "mcp-server", "sleep"]);
        }),
        benign("model-thinks", Waiting, "peer-wait", thinking),
        benign("agent-at-a-terminal", Waiting, "terminal-person", |s| agent_on_tty(s, "claude", &["epoll-stdin"])),
        benign("slow-reader", Waiting, "slow-reader", |s| plain(s, &["read-slowly", "fill-stdout"])),
        benign("timer", Waiting, "timer", |s| plain(s, &["timer"])),
        benign("tool-server-idles", Waiting, "serves", |s| {
            plain(s, &["loop-with-child-and-port", "args", "mcp-server", "read-stdin"])
        }),
        benign("any-program-with-both-streams-in-one-hand-idles", Waiting, "serves", |s| {
            plain(s, &["loop-with-child-and-port", "args", "server", "read-stdin"])
        }),
        benign("any-server-idles", Waiting, "serves", |s| plain(s, &["wait-for", "listen"])),
        benign("server-that-listens-to-its-input-too", Waiting, "serves", |s| piped(s, &["listen"])),
        benign("server-that-takes-keys-too", Waiting, "serves", |s| tty(s, &["listen"])),
        benign("server-with-a-child-unreaped", Waiting, "serves", |s| plain(s, &["beside-a-zombie", "listen"])),
        benign("server-with-idle-workers", Waiting, "serves", |s| plain(s, &["beside", "wait-on-shared", "listen"])),
        Case {
            limits: Limits { silent_ms: 50 },
            ..benign("server-that-keeps-a-connection", Waiting, "serves", |s| keeping(s, &[]))
        },
        benign("server-of-datagrams", Waiting, "serves", |s| plain(s, &["datagram"])),
        benign("answer-by-datagram", Waiting, "datagram", |s| plain(s, &["datagram-of", "127.0.0.1:9"])),
        benign("watches-files", Waiting, "watches", |s| plain(s, &["wait-for", "watch-files"])),
        benign("sleep-beside-a-child-unreaped", Waiting, "sleep", |s| plain(s, &["beside-a-zombie", "sleep"])),
        benign("command-of-an-agent-has-a-timer", Waiting, "timer", |s| {
            agent(s, "claude", &["-p"], &["loop-with-child", "wait-for", "timer"]);
        }),
        benign("stdin-with-a-limit", Waiting, "stdin-limit", |s| piped(s, &["poll-stdin-for-a-while"])),
        benign("shared-memory", Unknown, "unknown", |s| plain(s, &["wait-for", "wait-on-shared"])),
        benign("waits-inside-until-it-is-told-to-end", Unknown, "unknown", |s| plain(s, &["handle-term", "deadlock"])),
        benign("signal-wait", Unknown, "signal-wait", |s| plain(s, &["handle-term", "pause"])),
        benign("server-idles", Waiting, "serves", |s| {
            agent(s, "codex", &["app-server"], &["listen"]);
        }),
        benign("connecting", Waiting, "connecting", |s| {
            let listener = deaf();
            let address = listener.0.local_addr().expect("an address").to_string();
            plain(s, &["connect-to-deaf", &address]);
            s.keep(listener);
        }),
        moves("build", Working, "working", None, "works", |s| plain(s, &["wait-for", "build"])),
        moves("polling", Waiting, "polling", None, "polls", |s| plain(s, &["wait-for", "poll-a-file"])),
        moves("spin", Working, "computing", None, "computes", |s| plain(s, &["spin"])),
        moves("peer-talks", Waiting, "peer-talks", None, "talks", |s| talking(s, None, b"data: x\n")),
        moves("model-talks", Waiting, "peer-talks", None, "the model's answer", |s| {
            talking(s, Some("claude"), &[b'x'; 150]);
        }),
        moves("model-keeps-alive", Waiting, "peer-keepalive", Some("M2"), "next to nothing", |s| {
            talking(s, Some("claude"), b": keep-alive\n\n");
        }),
        Case {
            still: true,
            limits: Limits { silent_ms: 500 },
            ..moves("model-keeps-alive-seldom", Waiting, "peer-keepalive", Some("M2"), "since it asked", |s| {
                trickling(s, "claude");
            })
        },
        moves("retry", Waiting, "retry", Some("M5"), "before it asks its model again", |s| {
            busy(s, r#"{"ses_1":{"type":"retry","attempt":3,"message":"overloaded","next":0}}"#, "[]");
        }),
        Case {
            ready: 1,
            ..moves("lock-holder-works", Waiting, "lock-wait", None, "and works", |s| {
                locked(s, "flock", "index.lock", &["flock"], &["build"])
            })
        },
        Case {
            ready: 1,
            ..moves("lock-holder-downloads", Waiting, "lock-wait", None, "which talks", |s| {
                let address = speaker(b"data: x\n");
                locked(s, "flock", "index.lock", &["flock"], &["wait-for", "connect", &address, "read"]);
            })
        },
    ]
}

const QUESTION: &str = r#"[{"id":"que_1","sessionID":"ses_1","questions":[{"question":"Which database?","header":"db","options":[{"label":"sqlite","description":""}]}]}]"#;
const BUSY: &str = r#"{"ses_1":{"type":"busy"}}"#;
const NESTED: &str = r#"{"id":"ses_1","parentID":"ses_0"}"#;
const TOOL_RUNS: &str = r#"[{"info":{"role":"assistant","time":{"created":1}},"parts":[{"type":"tool","tool":"bash","state":{"status":"running","input":{"command":"make"}}}]}]"#;
const COMPLETE: &str =
    r#"[{"info":{"role":"assistant","finish":"stop","time":{"created":1,"completed":2}},"parts":[]}]"#;
const PERMISSION: &str =
    r#"[{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["rm -r build"],"always":[],"metadata":{}}]"#;

fn hung(
    name: &'static str,
    signature: &'static str,
    mechanism: &'static str,
    says: &'static str,
    set_up: fn(&mut Stage),
) -> Case {
    let mechanism = Some(mechanism).filter(|id| !id.is_empty());
    Case {
        name,
        verdict: Hung,
        signature,
        mechanism,
        says,
        still: true,
        ready: 1,
        limits: Limits::default(),
        awake: false,
        set_up,
    }
}

fn benign(name: &'static str, verdict: Verdict, signature: &'static str, set_up: fn(&mut Stage)) -> Case {
    let mechanism = match signature {
        "connecting" => Some("X6"),
        "tool-server-mute" => Some("X1"),
        "terminal-person" => Some("T3"),
        "stopped" => Some("T1"),
        _ => None,
    };
    Case {
        name,
        verdict,
        signature,
        mechanism,
        says: "",
        still: true,
        ready: 1,
        limits: Limits::default(),
        awake: false,
        set_up,
    }
}

fn moves(
    name: &'static str,
    verdict: Verdict,
    signature: &'static str,
    mechanism: Option<&'static str>,
    says: &'static str,
    set_up: fn(&mut Stage),
) -> Case {
    Case {
        name,
        verdict,
        signature,
        mechanism,
        says,
        still: false,
        ready: 1,
        limits: Limits::default(),
        awake: false,
        set_up,
    }
}
