//! The companion's job store: one background task, and what `status` and `result` print of it.
//!
//! Invariant: a status is one of those that the companion writes. `cancelled` is never among them, though its
//! monitor knows the word: a cancelled job is `failed` with the text `Canceled by user`.

use crate::canon::option;
use rehang_scenario::{Canon, Span, VTime};
use serde_json::{Value, json};

/// The one job's id.
pub const TASK: &str = "task-1";

/// A job's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No worker took it yet.
    Queued,
    /// A worker runs it.
    Running,
    /// It has its result.
    Completed,
    /// It has its error.
    Failed,
}

impl Status {
    /// The word in the store.
    pub fn word(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Failed => "failed",
        }
    }

    /// Whether nothing changes it any more; a healer leaves it alone.
    pub fn is_over(self) -> bool {
        matches!(self, Status::Completed | Status::Failed)
    }
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its status.
    pub status: Status,
    /// Its phase: `queued`, `investigating`, `completed`, `failed`.
    pub phase: &'static str,
    /// The session, once the worker has it.
    pub session: Option<String>,
    /// When it was queued. The companion never writes `startedAt`, so this stands for it.
    pub created: VTime,
    /// When it was last written.
    pub updated: VTime,
    /// The result's text, or the error's.
    pub text: String,
    /// A healer, not the worker, ended it.
    pub healed: bool,
    /// Whether `text` stands in the data file that `result` prints.
    pub written: bool,
}

impl Job {
    /// A job that waits for its worker.
    pub fn queued(now: VTime) -> Job {
        Job {
            status: Status::Queued,
            phase: "queued",
            session: None,
            created: now,
            updated: now,
            text: String::new(),
            healed: false,
            written: false,
        }
    }

    /// Its worker has it.
    pub fn take(&mut self, now: VTime, session: &str) {
        self.session = Some(session.to_owned());
        self.status = Status::Running;
        self.phase = "investigating";
        self.updated = now;
    }

    /// It is over, and its status says so. Defect k: nothing keeps a late worker from writing over what a healer wrote,
    /// and the data file comes behind the status ([`Job::write`]).
    pub fn end(&mut self, now: VTime, status: Status, text: &str, healed: bool) {
        self.status = status;
        self.phase = status.word();
        self.updated = now;
        text.clone_into(&mut self.text);
        self.healed = healed;
        self.written = false;
    }

    /// Its data file is there.
    pub fn write(&mut self) {
        self.written = true;
    }

    /// As the store has it.
    pub fn json(&self) -> Value {
        let mut job = json!({
            "id": TASK,
            "status": self.status.word(),
            "phase": self.phase,
            "opencodeSessionId": self.session,
            "createdAt": self.created,
            "updatedAt": self.updated,
        });
        match self.status {
            Status::Completed => {
                job["summary"] = json!(self.text.chars().take(SUMMARY_CHARS).collect::<String>());
                job["healed"] = json!(self.healed);
            }
            Status::Failed => job["errorMessage"] = json!(self.text),
            Status::Queued | Status::Running => {}
        }
        job
    }

    /// What `status --json` prints.
    pub fn status_json(&self) -> Value {
        let (running, finished) = match self.status.is_over() {
            false => (vec![self.json()], Value::Null),
            true => (vec![], self.json()),
        };
        json!({"workspaceRoot": ".", "running": running, "latestFinished": finished, "recent": []})
    }

    /// What `result` prints: the data file of a job that is over, or that it still runs.
    pub fn result_json(&self, now: VTime) -> Value {
        match self.status.is_over() {
            true if !self.written => json!({"status": self.status.word(), "rendered": null}),
            true => json!({"status": self.status.word(), "rendered": self.text, "healed": self.healed}),
            false => json!({
                "status": "running",
                "elapsed": now.since(self.created).as_ms() / 1_000,
                "task_id": TASK,
                "log_file": format!("{TASK}.log"),
            }),
        }
    }

    /// `updated` is compared with now up to `cap`; what is printed of it decides nothing.
    pub fn canon(&self, canon: &mut Canon, cap: Span) {
        let Self {
            status,
            phase,
            session,
            created: _, // not compared: set once, printed, and below all completions of the session, made for this job
            updated,
            text,
            healed,
            written,
        } = self;
        canon.num(*status as u64).text(phase).age(*updated, cap).text(text).flag(*healed).flag(*written);
        option(canon, session.as_ref(), |canon, session| {
            canon.text(session);
        });
    }
}

/// How much of a result `status` shows (PR 3).
const SUMMARY_CHARS: usize = 500;
