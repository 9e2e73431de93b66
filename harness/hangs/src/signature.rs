//! What a look at real processes finds.
//!
//! Each signature is one constant in a file of its family, and one line here. A state that is no hang is a word and a
//! sentence; those are in `waits.rs`.
//!
//! Invariants: a word never changes its meaning; each variant has all facts, or this crate does not compile.

mod agent;
mod asks;
mod files;
mod network;
mod pipes;
mod process;
mod stdin;
mod stopped;
mod terminal;
mod waits;

use crate::draft::{Play, Shown};
use crate::{Limit, Limits, Mechanism, UnknownWord};
use rehang_words::BlockedOn;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// What, beside the awaited thing itself, ends a hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedBy {
    /// A timer of the process itself would end it.
    OwnTimer,
    /// The one who holds the process can let it go on, even if the process is closed in.
    Holder,
    /// Neither of those.
    Neither,
}

/// Who is to act next, so that a process of this state goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owed {
    /// A person: by an answer, a key, a log-in, or by letting it go on.
    Person,
    /// Another process, of this machine or another one.
    Peer,
    /// The process itself, which computes or waits for time.
    Itself,
    /// Nobody: what it waits for cannot come from any of these.
    Nobody,
}

/// All that is known of a signature.
#[derive(Debug)]
pub struct Facts {
    /// The word that `rehang why` prints.
    pub word: &'static str,
    /// What `rehang why` calls it, with exceptions: `hung`, `waiting`, `waiting, a guess`, …
    pub called: &'static str,
    /// What it means, as a sentence without its end.
    pub means: &'static str,
    /// The mechanisms that a finding of it may name.
    pub mechanisms: &'static [Mechanism],
    /// What the judge says that the same hang is blocked on.
    pub judged: &'static [BlockedOn],
    /// Who is to act next.
    pub owed: Owed,
    /// What else ends it.
    pub ended_by: EndedBy,
    /// How long guard lets it last if it is about the agent.
    pub agent: Limits,
    /// How long guard lets it last if it is about a process below the agent.
    pub below: Limits,
    /// The scenario that hangs the same way; `None` if the fakes cannot play it.
    pub draft: fn(&Shown<'_>) -> Option<Play>,
}

impl Facts {
    /// A state that is no hang, or that alone ends nothing.
    const fn state(word: &'static str, owed: Owed, called: &'static str, means: &'static str) -> Facts {
        Facts {
            word,
            called,
            means,
            mechanisms: &[],
            judged: &[],
            owed,
            ended_by: EndedBy::Neither,
            agent: Limits::NONE,
            below: Limits::NONE,
            draft: no_draft,
        }
    }

    /// The same with the mechanisms that it may name.
    const fn naming(self, mechanisms: &'static [Mechanism]) -> Facts {
        Facts { mechanisms, ..self }
    }
}

/// The fakes cannot play it.
fn no_draft(_: &Shown<'_>) -> Option<Play> {
    None
}

macro_rules! signatures {
    ($($name:ident: $facts:path,)+) => {
        /// What a look at real processes finds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub enum Signature {
            $($name,)+
        }

        impl Signature {
            /// All signatures, in the order of the book.
            pub const ALL: &'static [Signature] = &[$(Signature::$name,)+];

            /// All that is known of it.
            pub const fn facts(self) -> &'static Facts {
                match self {
                    $(Signature::$name => &$facts,)+
                }
            }
        }
    };
}

signatures! {
    QuestionOpen: asks::QUESTION_OPEN,
    PermissionOpen: asks::PERMISSION_OPEN,
    StdinOpen: stdin::STDIN_OPEN,
    StdoutUndrained: pipes::STDOUT_UNDRAINED,
    StderrUndrained: pipes::STDERR_UNDRAINED,
    TtyUnread: terminal::TTY_UNREAD,
    MutualPipe: pipes::MUTUAL_PIPE,
    MutualWait: stdin::MUTUAL_WAIT,
    OwnPipe: pipes::OWN_PIPE,
    ThreadDeadlock: process::THREAD_DEADLOCK,
    EofSpin: process::EOF_SPIN,
    Unreaped: process::UNREAPED,
    AliveAfterResult: agent::ALIVE_AFTER_RESULT,
    Sigttin: stopped::SIGTTIN,
    Sigttou: stopped::SIGTTOU,
    NeverEnds: process::NEVER_ENDS,
    ToolLost: agent::TOOL_LOST,
    StrayHoldsPipe: pipes::STRAY_HOLDS_PIPE,
    StrayWritesPipe: pipes::STRAY_WRITES_PIPE,
    ModelSilent: network::MODEL_SILENT,
    PeerSilent: network::PEER_SILENT,
    HostSilent: asks::HOST_SILENT,
    NoConnection: agent::NO_CONNECTION,
    TtyRead: terminal::TTY_READ,
    OauthCallback: asks::OAUTH_CALLBACK,
    TerminalPerson: terminal::TERMINAL_PERSON,
    Stopped: stopped::STOPPED,
    FifoOpen: files::FIFO_OPEN,
    FileLock: files::FILE_LOCK,
    SqliteLock: files::SQLITE_LOCK,
    OwesAnswer: agent::OWES_ANSWER,
    ServerMute: network::SERVER_MUTE,
    BusyStuck: agent::BUSY_STUCK,
    Editor: terminal::EDITOR,
    Pager: terminal::PAGER,
    EditorOnStderr: stdin::EDITOR_ON_STDERR,
    Frozen: stopped::FROZEN,
    Traced: stopped::TRACED,
    CpuSpin: process::CPU_SPIN,
    EventMissed: agent::EVENT_MISSED,
    PeerKeepalive: network::PEER_KEEPALIVE,
    TriesAgain: process::TRIES_AGAIN,
    BetweenTurns: waits::BETWEEN_TURNS,
    Computing: waits::COMPUTING,
    Connecting: waits::CONNECTING,
    Daemon: waits::DAEMON,
    Datagram: waits::DATAGRAM,
    Debugger: waits::DEBUGGER,
    Disk: waits::DISK,
    FileServer: waits::FILE_SERVER,
    Helper: waits::HELPER,
    LiveChild: waits::LIVE_CHILD,
    LockWait: waits::LOCK_WAIT,
    PeerTalks: waits::PEER_TALKS,
    PeerWait: waits::PEER_WAIT,
    PipeRead: waits::PIPE_READ,
    Pipeline: waits::PIPELINE,
    Polling: waits::POLLING,
    Reads: waits::READS,
    Retry: waits::RETRY,
    Serves: waits::SERVES,
    SharedPipe: waits::SHARED_PIPE,
    ShellPrompt: waits::SHELL_PROMPT,
    SignalWait: waits::SIGNAL_WAIT,
    Sleep: waits::SLEEP,
    SlowReader: waits::SLOW_READER,
    StdinLimit: waits::STDIN_LIMIT,
    ThisLook: waits::THIS_LOOK,
    Timer: waits::TIMER,
    ToolServerMute: waits::TOOL_SERVER_MUTE,
    TtyForeign: waits::TTY_FOREIGN,
    Unknown: waits::UNKNOWN,
    Watches: waits::WATCHES,
    Working: waits::WORKING,
}

impl Signature {
    /// Its word, such as `stdin-open`.
    pub const fn word(self) -> &'static str {
        self.facts().word
    }

    /// Guard's limits for it: for the agent, or for a process below the agent.
    pub const fn limits(self, of_agent: bool) -> &'static Limits {
        if of_agent { &self.facts().agent } else { &self.facts().below }
    }

    /// The limit of a finding: whether it is about the agent, and whether it is certain rather than likely.
    pub fn limit(self, of_agent: bool, is_certain: bool) -> Option<&'static Limit> {
        let Limits { certain, likely } = self.limits(of_agent);
        certain.as_ref().filter(|_| is_certain).or(likely.as_ref())
    }

    /// Whether a finding that the judge says is blocked on `on` is this one.
    pub fn is_judged(self, on: BlockedOn) -> bool {
        self.facts().judged.contains(&on)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for Signature {
    type Err = UnknownWord;

    /// The signature with this word.
    fn from_str(word: &str) -> Result<Signature, UnknownWord> {
        Signature::ALL.iter().copied().find(|signature| signature.word() == word).ok_or(UnknownWord)
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `StdinOpen` as `stdin-open`.
    fn in_kebab_case(name: &str) -> String {
        let letter = |c: char| if c.is_uppercase() { format!("-{}", c.to_lowercase()) } else { c.to_string() };
        name.chars().map(letter).collect::<String>().trim_start_matches('-').to_owned()
    }

    #[test]
    fn a_word_is_the_name_in_kebab_case() {
        for signature in Signature::ALL {
            let word = signature.to_string();
            assert_eq!(word, in_kebab_case(&format!("{signature:?}")));
            assert_eq!(word.parse(), Ok(*signature));
            assert_eq!(serde_json::to_string(signature).expect("JSON"), format!("\"{word}\""));
        }
        assert_eq!("".parse::<Signature>(), Err(UnknownWord));
    }

    #[test]
    fn the_texts_are_sentences_that_name_no_time() {
        for signature in Signature::ALL {
            let Facts { means, called, agent, below, .. } = signature.facts();
            assert!(means.len() >= 20 && !called.is_empty() && !means.ends_with('.'), "{signature}");
            let limits = [agent, below].into_iter().flat_map(|limits| [limits.certain, limits.likely]).flatten();
            for Limit { report, because, .. } in limits {
                assert!(["second", "minute", "hour"].iter().all(|time| !report.contains(time)), "it depends: {report}");
                assert!(!report.is_empty() && !because.is_empty(), "{signature}");
            }
        }
    }
}
