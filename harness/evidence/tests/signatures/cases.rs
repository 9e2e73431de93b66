//! The cases: one line each names what must be found and the function that starts the processes.

use crate::set_up::*;
use crate::stage::{Case, Stage};
use rehang_evidence::{Limits, Verdict};
use rehang_hangs::{Mechanism, Signature};
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use Verdict::{Hung, Unknown, Waiting, Working};

/// All of them.
pub fn all() -> Vec<Case> {
    vec![
        hung("stdin-pipe", Signature::StdinOpen, Mechanism::S1, "standard input", |s| piped(s, &["read-stdin"])),
        hung("stdin-socket", Signature::StdinOpen, Mechanism::S1, "standard input", |s| {
            let (ours, theirs) = UnixStream::pair().expect("a pair");
            let mut command = s.player(&["read-stdin"]);
            command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
            s.start(command);
            s.keep(ours);
        }),
        benign("stdin-is-a-fifo-of-its-own", Waiting, Signature::PipeRead, |s| {
            let fifo = fifo(s, "queue");
            plain(s, &["read-own-fifo", &fifo]);
        }),
        hung("stdin-in-a-thread", Signature::StdinOpen, Mechanism::S1, "standard input", |s| {
            piped(s, &["read-stdin-in-thread"])
        }),
        hung("stdin-epoll", Signature::StdinOpen, Mechanism::S1, "standard input", |s| piped(s, &["epoll-stdin"])),
        hung("stdin-poll", Signature::StdinOpen, Mechanism::S1, "standard input", |s| piped(s, &["poll-stdin"])),
        hung("stdin-of-an-agent", Signature::StdinOpen, Mechanism::S1, "Codex", |s| {
            agent_piped(s, "codex", &["exec"], &["read-stdin-in-thread"]);
        }),
        hung("stdin-of-a-child-whose-output-is-read", Signature::StdinOpen, Mechanism::S1, "standard input", |s| {
            plain(s, &["read-output-of", "stdin", "named", "cat", "read-stdin"]);
        }),
        hung("stdin-of-a-tool", Signature::StdinOpen, Mechanism::B1, "opencode", |s| {
            agent(s, "opencode", &["run"], &["loop-with-child", "named", "cat", "read-stdin"]);
        }),
        hung("stdin-of-a-tool-below-a-shell", Signature::StdinOpen, Mechanism::B1, "opencode", |s| {
            agent(s, "opencode", &["run"], &["loop-with-child", "wait-for", "named", "cat", "read-stdin"]);
        }),
        hung("stdin-of-a-hook", Signature::StdinOpen, Mechanism::S3, "a hook of Claude Code", |s| {
            agent(s, "claude", &["-p"], &["loop-with-child", "args", "/home/x/.claude/hooks/check.sh", "read-stdin"]);
        }),
        hung("stdin-that-its-starter-shares", Signature::StdinOpen, Mechanism::S1, "standard input", |s| {
            piped(s, &["wait-for", "read-stdin"]);
        }),
        hung("hook-never-ends", Signature::NeverEnds, Mechanism::B5, "without an end", |s| {
            agent(
                s,
                "claude",
                &["-p"],
                &["loop-with-child", "args", "/home/x/.claude/hooks/check.sh", "sleep-for-ever"],
            );
        }),
        hung("hook-whose-output-nobody-reads", Signature::StdoutUndrained, Mechanism::C6, "standard output", |s| {
            plain(s, &["ignore-output-of", "args", "/home/x/.claude/hooks/stop.sh", "fill-stdout"]);
        }),
        hung("tty-read", Signature::TtyRead, Mechanism::B2, "waits for a key at the terminal /dev/pts/", |s| {
            tty(s, &["read-stdin"])
        }),
        hung("tty-read-dev-tty", Signature::TtyRead, Mechanism::B2, "waits for a key at the terminal /dev/tty", |s| {
            tty(s, &["read-dev-tty"])
        }),
        hung("tty-read-of-a-tool", Signature::TtyRead, Mechanism::B2, "waits for a key", |s| {
            tty(s, &["wait-for", "read-dev-tty"])
        }),
        hung(
            "git-asks-for-a-name",
            Signature::TtyRead,
            Mechanism::B2,
            "“Username for 'https://example.com':”",
            |s| {
                tty(s, &["wait-for", "named", "git-remote-http", "ask", "Username for 'https://example.com': "]);
            },
        ),
        hung("git-has-a-switch", Signature::TtyRead, Mechanism::B2, "GIT_TERMINAL_PROMPT=0", |s| {
            tty(s, &["wait-for", "named", "git-remote-http", "ask", "Username for 'https://example.com': "]);
        }),
        hung("ssh-has-a-switch", Signature::TtyRead, Mechanism::B2, "BatchMode=yes", |s| {
            tty(s, &["wait-for", "named", "ssh", "ask", "Are you sure you want to continue connecting (yes/no)? "]);
        }),
        hung("terminal-query", Signature::TtyRead, Mechanism::B2, "its cursor", |s| {
            tty(s, &["wait-for", "ask-terminal"])
        }),
        hung("pager", Signature::Pager, Mechanism::B3, "shows a page", |s| {
            tty(s, &["wait-for", "named", "less", "read-dev-tty"])
        }),
        hung("editor", Signature::Editor, Mechanism::B4, "is an editor", |s| {
            tty(s, &["wait-for", "named", "vim", "poll-stdin"])
        }),
        hung("editor-on-stderr", Signature::EditorOnStderr, Mechanism::B4, "its own standard error", |s| {
            plain(s, &["read-output-of", "both", "named", "vi", "editor-on-stderr"]);
        }),
        hung("sigttin", Signature::Sigttin, Mechanism::T1, "stopped by SIGTTIN", |s| {
            tty(s, &["background", "read-stdin"])
        }),
        hung("sigttou", Signature::Sigttou, Mechanism::T1, "stopped by SIGTTOU", |s| {
            tty(s, &["background", "change-tty"])
        }),
        hung("tty-unread", Signature::TtyUnread, Mechanism::T6, "does not read", |s| tty(s, &["fill-tty"])),
        hung("stray-holds-pipe", Signature::StrayHoldsPipe, Mechanism::B6, "outlived the command", |s| {
            stray(s, "quiet", "out")
        }),
        hung("stray-holds-stderr-too", Signature::StrayHoldsPipe, Mechanism::B6, "outlived the command", |s| {
            stray(s, "quiet", "both")
        }),
        hung("stray-in-a-session-of-its-own", Signature::StrayHoldsPipe, Mechanism::B6, "outlived the command", |s| {
            stray(s, "away", "out");
        }),
        hung(
            "stray-at-a-terminal",
            Signature::StrayHoldsPipe,
            Mechanism::B6,
            "outlived the command",
            stray_at_terminal,
        ),
        hung("stray-that-is-an-agent-and-asks", Signature::QuestionOpen, Mechanism::Q1, "que_1", |s| {
            stray_agent(s, "service=question id=que_1 questions=1 asking");
        }),
        moves(
            "client-of-an-idle-server",
            Hung,
            Signature::EventMissed,
            Some(Mechanism::E1),
            "nothing is under way",
            |s| {
                client(s, "{}", "[]");
            },
        ),
        moves(
            "client-of-a-server-that-asks",
            Hung,
            Signature::QuestionOpen,
            Some(Mechanism::Q1),
            "Which database?",
            |s| {
                client(s, BUSY, QUESTION);
            },
        ),
        moves("client-of-a-busy-server", Waiting, Signature::PeerWait, None, "began to answer", |s| {
            client(s, BUSY, "[]")
        }),
        moves("stray-writes-pipe", Waiting, Signature::StrayWritesPipe, Some(Mechanism::B7), "goes on writing", |s| {
            stray(s, "noisy", "out")
        }),
        Case {
            awake: true,
            ..moves(
                "stray-writes-pipe-of-one-awake",
                Waiting,
                Signature::StrayWritesPipe,
                Some(Mechanism::B7),
                "goes on writing",
                |s| {
                    stray(s, "noisy", "out");
                },
            )
        },
        hung("stderr-undrained", Signature::StderrUndrained, Mechanism::C1, "standard error", |s| {
            plain(s, &["read-output-of", "both", "fill-stderr"])
        }),
        hung("stdout-undrained", Signature::StdoutUndrained, Mechanism::C6, "standard output", |s| {
            plain(s, &["ignore-output-of", "fill-stdout"])
        }),
        hung("server-stdout-undrained", Signature::StdoutUndrained, Mechanism::C2, "standard output", |s| {
            plain(s, &["ignore-output-of", "serve-and-fill-stdout"])
        }),
        hung("mutual-pipe", Signature::MutualPipe, Mechanism::C6, "wait for each other", |s| {
            plain(s, &["mutual-pipe"])
        }),
        hung("mutual-wait", Signature::MutualWait, Mechanism::C6, "wait for each other", |s| {
            plain(s, &["mutual-wait"])
        }),
        hung(
            "tool-server-owes-an-answer",
            Signature::MutualWait,
            Mechanism::X2,
            "waits for an answer of its tool server",
            |s| plain(s, &["read-output-of", "stdin", "args", "mcp-server", "read-stdin"]),
        ),
        hung("tool-server-was-never-asked", Signature::MutualWait, Mechanism::X2, "wait for each other", |s| {
            plain(s, &["loop-with-child", "args", "mcp-server", "read-stdin"])
        }),
        hung("fifo-open", Signature::FifoOpen, Mechanism::B12, "nobody opens it to write", |s| {
            let fifo = fifo(s, "queue");
            plain(s, &["open-fifo", &fifo]);
        }),
        hung("fifo-open-to-write", Signature::FifoOpen, Mechanism::B12, "nobody opens it to read", |s| {
            let fifo = fifo(s, "queue");
            plain(s, &["open-fifo-to-write", &fifo]);
        }),
        Case {
            ready: 1,
            ..hung("flock", Signature::FileLock, Mechanism::R2, "the lock on", |s| {
                locked(s, "flock", "index.lock", &["flock"], &["sleep-for-ever"])
            })
        },
        Case {
            ready: 1,
            ..hung("posix-lock", Signature::FileLock, Mechanism::R2, "the lock on", |s| {
                locked(s, "posix", "index.lock", &["lock"], &["sleep-for-ever"])
            })
        },
        hung("lock-of-a-leaked-child", Signature::FileLock, Mechanism::H3, "left by a run that is over", leaked),
        Case {
            ..moves("sqlite-lock", Hung, Signature::SqliteLock, Some(Mechanism::R1), "the database", |s| {
                locked(s, "posix", "opencode.db", &["busy-database"], &["sleep-for-ever"])
            })
        },
        hung("unreaped", Signature::Unreaped, Mechanism::C4, "has not noticed", |s| plain(s, &["ignore-child"])),
        moves("spin-on-eof", Hung, Signature::EofSpin, Some(Mechanism::H2), "spins", |s| plain(s, &["spin-on-eof"])),
        moves("spin-on-a-broken-pipe", Hung, Signature::EofSpin, Some(Mechanism::H2), "spins", |s| {
            plain(s, &["spin-on-broken-pipe"])
        }),
        Case {
            // it is awaited where it is found
            ready: 0,
            ..moves(
                "orphaned-agent-spins",
                Hung,
                Signature::CpuSpin,
                Some(Mechanism::H2),
                "the process that started it is gone",
                |s| {
                    orphan(s, "opencode");
                },
            )
        },
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("model-silent", Signature::ModelSilent, Mechanism::M1, "began to answer", |s| {
                peer(s, "claude", "ask-by-loop")
            })
        },
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("peer-silent", Signature::PeerSilent, Mechanism::E2, "has been silent", |s| {
                peer(s, "curl", "ask-by-read")
            })
        },
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("peer-silent-on-a-kept-connection", Signature::PeerSilent, Mechanism::M9, "had been idle for", |s| {
                peer(s, "curl", "ask-on-a-kept-one");
            })
        },
        Case {
            limits: Limits { silent_ms: 1 },
            ..hung("no-connection", Signature::NoConnection, Mechanism::M8, "nothing under way", |s| {
                agent(s, "opencode", &["run"], &["idle"]);
            })
        },
        Case {
            limits: Limits { silent_ms: 1 },
            ..hung("no-connection-but-a-timer", Signature::NoConnection, Mechanism::M8, "nothing under way", |s| {
                agent(s, "codex", &["exec"], &["timer"]);
            })
        },
        Case {
            mechanism: Some(Mechanism::M8),
            ..benign("no-connection-for-a-moment", Waiting, Signature::NoConnection, |s| {
                agent(s, "codex", &["exec"], &["timer"]);
            })
        },
        hung("oauth-callback", Signature::OauthCallback, Mechanism::X4, "log-in", |s| {
            agent(s, "gemini", &[], &["listen"]);
        }),
        hung("never-ends", Signature::NeverEnds, Mechanism::B5, "without an end", |s| {
            plain(s, &["wait-for", "sleep-for-ever"])
        }),
        hung("never-ends-and-ignores-term", Signature::NeverEnds, Mechanism::B5, "kill -KILL", |s| {
            plain(s, &["wait-for", "deaf-to-term", "sleep-for-ever"]);
        }),
        hung("follows-a-file", Signature::NeverEnds, Mechanism::B5, "follows a file", |s| {
            agent(s, "tail", &["-f", "x.log"], &["named", "tail", "idle"]);
        }),
        hung("thread-deadlock", Signature::ThreadDeadlock, None, "each other", |s| plain(s, &["deadlock"])),
        // our own GET requests keep these awake
        moves("question-on-a-server", Hung, Signature::QuestionOpen, Some(Mechanism::Q1), "Which database?", |s| {
            asking(s, QUESTION, "[]", "{}")
        }),
        moves(
            "two-questions-on-a-server",
            Hung,
            Signature::QuestionOpen,
            Some(Mechanism::Q1),
            "(1 more is open)",
            |s| {
                asking(s, &format!("[{0},{0}]", QUESTION.trim_matches(['[', ']'])), "[]", "{}");
            },
        ),
        moves("question-of-a-subagent", Hung, Signature::QuestionOpen, Some(Mechanism::Q2), "subagent", |s| {
            asking(s, QUESTION, "[]", NESTED)
        }),
        moves(
            "permission-on-a-server",
            Hung,
            Signature::PermissionOpen,
            Some(Mechanism::P1),
            "bash: rm -r build",
            |s| asking(s, "[]", PERMISSION, "{}"),
        ),
        moves("permission-of-a-subagent", Hung, Signature::PermissionOpen, Some(Mechanism::P2), "subagent", |s| {
            asking(s, "[]", PERMISSION, NESTED)
        }),
        moves("tool-of-which-nothing-runs", Hung, Signature::ToolLost, Some(Mechanism::B13), "“bash: make”", |s| {
            busy(s, BUSY, TOOL_RUNS);
        }),
        moves("busy-behind-its-answer", Hung, Signature::BusyStuck, Some(Mechanism::E3), "its session busy", |s| {
            busy(s, BUSY, COMPLETE)
        }),
        hung("question-in-a-log", Signature::QuestionOpen, Mechanism::Q1, "que_1", |s| {
            let line = "service=question id=que_1 questions=1 asking";
            agent(s, "opencode", &["run", "go"], &["logged", line, "idle"]);
        }),
        hung("permission-in-a-log", Signature::PermissionOpen, Mechanism::P1, "touch x", |s| {
            let line = r#"service=permission id=per_1 permission=bash patterns=["touch x"] asking"#;
            agent(s, "opencode", &["run", "go"], &["logged", line, "idle"]);
        }),
        hung("question-in-a-transcript", Signature::QuestionOpen, Mechanism::Q1, "Which colour?", |s| {
            agent_piped(s, "claude", &["-p"], &["recorded", "question", "epoll-stdin"]);
        }),
        hung("permission-in-a-transcript", Signature::PermissionOpen, Mechanism::P3, "“Bash: touch x”", |s| {
            agent_piped(s, "claude", &["-p"], &["recorded", "bash", "epoll-stdin"]);
        }),
        hung("permission-at-a-terminal", Signature::PermissionOpen, Mechanism::P1, "a key at the terminal", |s| {
            agent_on_tty(s, "claude", &["recorded", "bash", "epoll-stdin"]);
        }),
        hung(
            "tool-of-a-transcript-of-which-nothing-runs",
            Signature::ToolLost,
            Mechanism::B13,
            "“Bash: touch x”",
            |s| {
                agent(s, "claude", &["-p"], &["recorded", "bash", "idle"]);
            },
        ),
        hung("tool-server-owes-an-answer", Signature::ToolLost, Mechanism::X2, "which a tool server owes it", |s| {
            agent(s, "claude", &["-p"], &["recorded", "tool-server", "idle"]);
        }),
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung(
                "tool-server-over-http-owes-an-answer",
                Signature::ToolLost,
                Mechanism::X2,
                "mcp__tickets__list: {}” from",
                |s| {
                    tool_server(s, "ask-by-loop");
                },
            )
        },
        hung(
            "host-owes-an-answer",
            Signature::HostSilent,
            Mechanism::P4,
            "waits for its host in the middle of a turn",
            |s| {
                agent_piped(s, "claude", &HOSTED, &["recorded", "prompt", "epoll-stdin"]);
            },
        ),
        hung("alive-after-its-result", Signature::AliveAfterResult, Mechanism::H1, "nothing in sight keeps it", |s| {
            agent(s, "claude", &["-p"], &["recorded", "ended", "idle"]);
        }),
        hung("alive-after-its-result-by-a-child", Signature::AliveAfterResult, Mechanism::H1, "below it lives", |s| {
            agent(s, "claude", &["-p"], &["recorded", "ended", "loop-with-child", "sleep"]);
        }),
        hung(
            "alive-after-its-result-by-its-input",
            Signature::AliveAfterResult,
            Mechanism::H1,
            "holds its standard input open",
            |s| {
                agent_piped(s, "claude", &["-p"], &["recorded", "ended", "epoll-stdin"]);
            },
        ),
        hung(
            "command-of-an-agent-is-a-server",
            Signature::NeverEnds,
            Mechanism::B5,
            "that usually does not end",
            |s| {
                agent(s, "opencode", &["run"], &["loop-with-child", "wait-for", "listen"]);
            },
        ),
        hung(
            "command-of-an-agent-watches-files",
            Signature::NeverEnds,
            Mechanism::B5,
            "that usually does not end",
            |s| {
                agent(s, "opencode", &["run"], &["loop-with-child", "watch-files"]);
            },
        ),
        hung("never-ends-but-by-a-signal", Signature::NeverEnds, Mechanism::B5, "without an end", |s| {
            plain(s, &["wait-for", "pause"])
        }),
        hung("reads-its-own-pipe-beside-a-zombie", Signature::OwnPipe, None, "nobody but itself", |s| {
            plain(s, &["beside-a-zombie", "read-own-pipe"]);
        }),
        hung("reads-its-own-pipe", Signature::OwnPipe, None, "nobody but itself", |s| plain(s, &["read-own-pipe"])),
        Case {
            limits: Limits { silent_ms: 50 },
            ..hung("server-that-owes-an-answer", Signature::PeerSilent, Mechanism::E2, "has been silent", |s| {
                keeping(s, &["and-owe"]);
            })
        },
        // what is no hang
        benign("stopped", Waiting, Signature::Stopped, |s| plain(s, &["wait-for", "stop"])),
        benign("lock-of-a-holder-that-sleeps", Waiting, Signature::LockWait, |s| {
            locked(s, "flock", "index.lock", &["flock"], &["sleep"]);
            s.await_ready(0).expect("the holder is ready");
        }),
        benign("sleep", Waiting, Signature::Sleep, |s| plain(s, &["sleep"])),
        benign("sleep-that-was-stopped", Waiting, Signature::Sleep, |s| plain(s, &["stop-and-continue", "sleep"])),
        benign("live-child", Waiting, Signature::Sleep, |s| plain(s, &["wait-for", "sleep"])),
        benign("live-child-whose-output-is-read", Waiting, Signature::Sleep, |s| {
            plain(s, &["read-output-of", "out", "sleep"])
        }),
        benign("tool-sleeps", Waiting, Signature::Sleep, |s| {
            agent(s, "opencode", &["run"], &["loop-with-child", "sleep"]);
        }),
        benign("hook-sleeps", Waiting, Signature::Sleep, |s| {
            agent(s, "claude", &["-p"], &["loop-with-child", "args", "/home/x/.claude/hooks/check.sh", "sleep"]);
        }),
        benign("tool-of-a-transcript-sleeps", Waiting, Signature::Sleep, |s| {
            agent(s, "claude", &["-p"], &["recorded", "bash", "loop-with-child", "sleep"]);
        }),
        benign("command-of-a-hosted-agent-sleeps", Waiting, Signature::Sleep, |s| {
            agent_piped(s, "claude", &HOSTED, &["recorded", "prompt", "loop-with-child", "sleep"]);
        }),
        benign("tool-server-over-http-works", Waiting, Signature::PeerWait, |s| tool_server(s, "ask-by-loop")),
        benign("tool-server-is-mute", Waiting, Signature::ToolServerMute, |s| {
            agent(s, "claude", &["-p"], &["loop-with-child", "args", "mcp-server", "sleep"]);
        }),
        benign("model-thinks", Waiting, Signature::PeerWait, thinking),
        benign("agent-at-a-terminal", Waiting, Signature::TerminalPerson, |s| {
            agent_on_tty(s, "claude", &["epoll-stdin"])
        }),
        benign("slow-reader", Waiting, Signature::SlowReader, |s| plain(s, &["read-slowly", "fill-stdout"])),
        benign("timer", Waiting, Signature::Timer, |s| plain(s, &["timer"])),
        benign("tool-server-idles", Waiting, Signature::Serves, |s| {
            plain(s, &["loop-with-child-and-port", "args", "mcp-server", "read-stdin"])
        }),
        benign("any-program-with-both-streams-in-one-hand-idles", Waiting, Signature::Serves, |s| {
            plain(s, &["loop-with-child-and-port", "args", "server", "read-stdin"])
        }),
        benign("any-server-idles", Waiting, Signature::Serves, |s| plain(s, &["wait-for", "listen"])),
        benign("server-that-listens-to-its-input-too", Waiting, Signature::Serves, |s| piped(s, &["listen"])),
        benign("server-that-takes-keys-too", Waiting, Signature::Serves, |s| tty(s, &["listen"])),
        benign("server-with-a-child-unreaped", Waiting, Signature::Serves, |s| {
            plain(s, &["beside-a-zombie", "listen"])
        }),
        benign("server-with-idle-workers", Waiting, Signature::Serves, |s| {
            plain(s, &["beside", "wait-on-shared", "listen"])
        }),
        Case {
            limits: Limits { silent_ms: 50 },
            ..benign("server-that-keeps-a-connection", Waiting, Signature::Serves, |s| keeping(s, &[]))
        },
        benign("server-of-datagrams", Waiting, Signature::Serves, |s| plain(s, &["datagram"])),
        benign("answer-by-datagram", Waiting, Signature::Datagram, |s| plain(s, &["datagram-of", "127.0.0.1:9"])),
        benign("watches-files", Waiting, Signature::Watches, |s| plain(s, &["wait-for", "watch-files"])),
        benign("sleep-beside-a-child-unreaped", Waiting, Signature::Sleep, |s| plain(s, &["beside-a-zombie", "sleep"])),
        benign("command-of-an-agent-has-a-timer", Waiting, Signature::Timer, |s| {
            agent(s, "claude", &["-p"], &["loop-with-child", "wait-for", "timer"]);
        }),
        benign("stdin-with-a-limit", Waiting, Signature::StdinLimit, |s| piped(s, &["poll-stdin-for-a-while"])),
        benign("shared-memory", Unknown, Signature::Unknown, |s| plain(s, &["wait-for", "wait-on-shared"])),
        benign("waits-inside-until-it-is-told-to-end", Unknown, Signature::Unknown, |s| {
            plain(s, &["handle-term", "deadlock"])
        }),
        benign("signal-wait", Unknown, Signature::SignalWait, |s| plain(s, &["handle-term", "pause"])),
        benign("server-idles", Waiting, Signature::Serves, |s| {
            agent(s, "codex", &["app-server"], &["listen"]);
        }),
        benign("connecting", Waiting, Signature::Connecting, |s| {
            let listener = deaf();
            let address = listener.0.local_addr().expect("an address").to_string();
            plain(s, &["connect-to-deaf", &address]);
            s.keep(listener);
        }),
        moves("build", Working, Signature::Working, None, "works", |s| plain(s, &["wait-for", "build"])),
        moves("polling", Waiting, Signature::Polling, None, "polls", |s| plain(s, &["wait-for", "poll-a-file"])),
        moves("spin", Working, Signature::Computing, None, "computes", |s| plain(s, &["spin"])),
        moves("peer-talks", Waiting, Signature::PeerTalks, None, "talks", |s| talking(s, None, b"data: x\n")),
        moves("model-talks", Waiting, Signature::PeerTalks, None, "the model's answer", |s| {
            talking(s, Some("claude"), &[b'x'; 150]);
        }),
        moves("model-keeps-alive", Waiting, Signature::PeerKeepalive, Some(Mechanism::M2), "next to nothing", |s| {
            talking(s, Some("claude"), b": keep-alive\n\n");
        }),
        Case {
            still: true,
            limits: Limits { silent_ms: 500 },
            ..moves(
                "model-keeps-alive-seldom",
                Waiting,
                Signature::PeerKeepalive,
                Some(Mechanism::M2),
                "since it asked",
                |s| {
                    trickling(s, "claude");
                },
            )
        },
        moves("retry", Waiting, Signature::Retry, Some(Mechanism::M5), "before it asks its model again", |s| {
            busy(s, r#"{"ses_1":{"type":"retry","attempt":3,"message":"overloaded","next":0}}"#, "[]");
        }),
        Case {
            ready: 1,
            ..moves("lock-holder-works", Waiting, Signature::LockWait, None, "while it works", |s| {
                locked(s, "flock", "index.lock", &["flock"], &["build"])
            })
        },
        Case {
            ready: 1,
            ..moves("lock-holder-downloads", Waiting, Signature::LockWait, None, "which talks", |s| {
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
    signature: Signature,
    mechanism: impl Into<Option<Mechanism>>,
    says: &'static str,
    set_up: fn(&mut Stage),
) -> Case {
    let mechanism = mechanism.into();
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

fn benign(name: &'static str, verdict: Verdict, signature: Signature, set_up: fn(&mut Stage)) -> Case {
    // a state that shows several mechanisms is no benign one
    let mechanism = match signature.facts().mechanisms {
        [one] => Some(*one),
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
    signature: Signature,
    mechanism: Option<Mechanism>,
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
