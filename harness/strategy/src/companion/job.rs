//! The companion's job store: one background task, and what `status` and `result` print of it.
//!
//! Invariant: a status is one of those that the companion writes. `cancelled` is never one of them, although its
//! monitor knows the word: a cancelled job is `failed` with the text `Canceled by user`.

use crate::canon::option;
use rehang_words::{Canon, Span, VTime};
use serde_json::{Value, json};

/// The id of the only job.
pub const TASK: &str = "task-1";

/// The status of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No worker has taken it yet.
    Queued,
    /// A worker runs it.
    Running,
    /// It has a result.
    Completed,
    /// It has an error.
    Failed,
}

impl Status {
    /// The word that the store has for it.
    pub fn word(self) -> &'static str {
        match self {
            Status::Queued => "queued",
            Status::Running => "running",
            Status::Completed => "completed",
            Status::Failed => "failed",
        }
    }

    /// Whether nothing changes it any more; a healer then leaves it alone.
    pub fn is_over(self) -> bool {
        matches!(self, Status::Completed | Status::Failed)
    }
}

/// The companion's background task, as its store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The status of the job.
    pub status: Status,
    /// The phase: `queued`, `investigating`, `completed`, `failed`.
    pub phase: &'static str,
    /// The session, once the worker has it.
    pub session: Option<String>,
    /// When it was queued. The companion never writes `startedAt`, so this is used for it.
    pub created: VTime,
    /// When it was last written.
    pub updated: VTime,
    /// The result's text, or the error's.
    pub text: String,
    /// Whether a healer, and not the worker, ended it.
    pub healed: bool,
    /// Whether `text` is in the data file that `result` prints.
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

    /// Its worker takes it, with this session.
    pub fn take(&mut self, now: VTime, session: &str) {
        self.session = Some(session.to_owned());
        self.status = Status::Running;
        self.phase = "investigating";
        self.updated = now;
    }

    /// It is over, and its status says so. Defect k: nothing keeps a late worker from writing over what a healer wrote,
    /// and the data file comes after the status ([`Job::write`]).
    pub fn end(&mut self, now: VTime, status: Status, text: &str, healed: bool) {
        self.status = status;
        self.phase = status.word();
        self.updated = now;
        text.clone_into(&mut self.text);
        self.healed = healed;
        self.written = false;
    }

    /// Its data file is written.
    pub fn write(&mut self) {
        self.written = true;
    }

    /// The job as the store has it, in JSON.
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

    /// How long it has run, as `status` says it: `2m 5s`.
    pub fn elapsed(&self, now: VTime) -> String {
        let ms = now.since(self.created).as_ms();
        let (s, m) = (ms / 1_000, ms / 60_000);
        match ms {
            0..1_000 => format!("{ms}ms"),
            1_000..60_000 => format!("{s}s"),
            60_000..3_600_000 => format!("{m}m {}s", s % 60),
            _ => format!("{}h {}m", m / 60, m % 60),
        }
    }

    /// The last line of its log, without the time of day; it is shown of a job that runs. The worker writes one for each
    /// phase and none while its prompt is under way.
    pub fn log_line(&self) -> Option<&'static str> {
        (self.status == Status::Running).then_some("[investigating] Running task...")
    }

    /// What `status ID --json` prints, where the id is a job's or the beginning of one.
    pub fn one_json(&self, now: VTime) -> Value {
        let mut job = self.json();
        job["elapsed"] = json!(self.elapsed(now));
        if let Some(line) = self.log_line() {
            job["progressPreview"] = json!(line);
        }
        json!({"workspaceRoot": ".", "job": job})
    }

    /// What `task-resume-candidate --json` prints: a job that runs or is completed has a session to go on with, one that
    /// was called failed has none.
    pub fn resume_json(&self) -> Value {
        let session = self.session.as_ref().filter(|_| matches!(self.status, Status::Completed | Status::Running));
        json!({"available": session.is_some(), "jobId": session.map(|_| TASK), "opencodeSessionId": session})
    }

    /// What `status --json` prints.
    pub fn status_json(&self) -> Value {
        let (running, finished) = match self.status.is_over() {
            false => (vec![self.json()], Value::Null),
            true => (vec![], self.json()),
        };
        json!({"workspaceRoot": ".", "running": running, "latestFinished": finished, "recent": []})
    }

    /// What `result` prints: the data file of a job that is over, or that the job still runs.
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

/// How many characters of a result `status` shows (PR 3).
const SUMMARY_CHARS: usize = 500;
