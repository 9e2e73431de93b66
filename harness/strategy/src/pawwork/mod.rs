//! PawWork's strategies: the blocker ledger, the recovery clock, external results.
//!
//! Invariant: a strategy here decides (timers, what fits, what happens to an ask) and knows no route and no event
//! except those that it publishes itself; the persona owns routes, tool texts and the pending map.
//!
//! # The agreement with the persona
//!
//! `ledger@v0` (2837fabbb, with the connect timeout of 54c7661d2 as a parameter) and `external-result`
//! (6ab984202) sit inside. The persona looks into `Plan::inside` for `ledger@…` or `external-result`.
//! `recovery@430` (563d689d3) is an outside reader of events and routes and needs nothing from the persona except
//! upstream's wire.
//!
//! **Model streams.** The AI SDK runs a response's tools *within* its stream. So `StreamOpen` comes when a
//! request goes to the model, `StreamMoved` with each event of the SDK's stream (`progress: false` for start,
//! start-step and finish; `true` for text, reasoning and tool-input deltas, tool calls, *tool results* and
//! errors; keep-alive comments are no event at all), and `StreamClosed` only when the tools of that response
//! have ended too, or when the stream was aborted. Each session has at most one stream.
//! A reasoning model (`Pawwork::reasoning`) is told by a variable in `Boot`'s environment: [`REASONING`]` = "1"`.
//!
//! **`InsideAct::AbortStream { fail, text, reject_asks: true }`** is what the abort signal does: the stream's
//! connection is closed, running tools of that session are aborted, bash and child sessions among them,
//! and open asks of that session and of the child sessions below end as `cancelled`. With `fail: false` the
//! stream drains as a success (the turn ends as if the model had stopped); with `fail: true` the assistant
//! message gets `info.error` with the text, `session.error` is published and the session turns idle.
//!
//! **Order of an ask.** `ToolAsks` (a question that breaks the limits is refused by `Withhold`: the tool dies
//! with that text) → into the pending map → `Pending`; each act is done before the persona goes on, so that
//! `Publish(session.blocker.upserted)` is on the wire before the persona publishes `question.asked`. The
//! persona fills `request` and `tool` into the published entry (they are null) and serves `GET /blocker` from
//! the entries that were upserted and not yet removed. Permissions are announced by `Pending` too; no
//! strategy here covers them.
//!
//! **Order of an end.** Out of the pending map → `Closing { reason }` (here `Publish(session.blocker.removed)`
//! comes) → `question.replied`, or `question.rejected` with `reason` → the tool's end → `Ended`. Reasons:
//! `replied` (answers and skips alike), `dismissed` (a person's dismissal), `cancelled` (abort of the session
//! or its stream), `shutdown` (disposal), `rejected` (a reply that did not fit). The tool's error text is
//! [`ended_text`]; all answers empty or blank means skipped: `question.replied`, and the text [`SKIPPED`](rehang_words::attribution::SKIPPED).
//!
//! **Replies.** The persona hands every `POST /question/:id/reply` (`dismiss: false`, the body as it came),
//! `POST /question/:id/reject` (`dismiss: true`) to the strategy as `Submitted`, unknown ids too, and does
//! what the one `Verdict` says: respond with its status and body, and
//! `Take(answers)` = the person's reply, `Dismiss` = the person's dismissal, `Destroy` = the ask ends as
//! `rejected` (cause: malformed), `Keep` = nothing.
//!
//! **External results.** With `external-result` there is no `/question` and no `/blocker` (404), no
//! `question.*` event and no `mode=soft` (400). An ask has its call's id. It is seen as a running part of the
//! tool `question` whose `state.metadata.externalResultReady` is true, and in `GET /external-result` (a list
//! of `{sessionID, messageID, callID, questions}`, from the pending map). It is answered by
//! `POST /session/:id/tool/respond` with `{messageID, callID, action: "submit", answers: [[…]]}` or
//! `{messageID, callID, action: "dismiss"}`; the persona takes `callID` out of the body (empty if there is none) as
//! `Submitted.id`, `dismiss` from the action, and the session from the path. Texts: a dismissal completes the part with
//! `metadata.dismissed` and [`EXTERNAL_DISMISSED`](rehang_words::attribution::EXTERNAL_DISMISSED); abort and
//! disposal fail it with [`external_text`]. A restarted server rewrites, on read, a stored running part that is
//! `externalResultReady` and has no pending ask: error [`CANCELLED`], metadata `interrupted` and
//! `stale_external_result`.

pub mod clock;
pub mod external;
pub mod ledger;
pub mod recovery;
mod reply;
#[cfg(test)]
mod tests;

use crate::entry::Value;
use crate::{Entry, Param, Seat, Wire};
use rehang_words::Span;
use rehang_words::attribution::QUESTION_DISMISSED;

/// PawWork's strategies in the catalogue.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "ledger@v0",
        seat: Seat::Inside,
        origin: "Astro-Han/pawwork 2837fabbb (#465), 5.1 and 5.2",
        summary: "knows who is asked, so that the silent-stream timeout arms again instead of killing the question",
        speaks: &[Wire::PawworkHttp],
        params: &[SILENT, CONNECT_OFF],
        build: |params| Box::new(ledger::Ledger::new(params.span("silent"), params.span("connect"))),
    },
    Entry {
        name: "recovery@430",
        seat: Seat::Outside,
        origin: "Astro-Han/pawwork 563d689d3 (#430), 5.4; the killer of #756",
        summary: "a question that runs and is on no list for 3 s: looks again, up to 3 retries, then a hard abort",
        speaks: &[Wire::PawworkHttp],
        params: &[],
        build: |_| Box::new(recovery::Recovery::default()),
    },
    Entry {
        name: "external-result",
        seat: Seat::Inside,
        origin: "Astro-Han/pawwork 6ab984202 (#772), 5.5",
        summary: "a question is a call whose result comes by HTTP: what does not fit gets 422 and stays open",
        speaks: &[Wire::PawworkHttp],
        params: &[SILENT, CONNECT_ON],
        build: |params| Box::new(external::ExternalResult::new(params.span("silent"), params.span("connect"))),
    },
];

const SILENT: Param = Param {
    name: "silent",
    default: Value::SpanOr(clock::SILENT),
    doc: "how long a model's stream may be silent (SILENT_STREAM_TIMEOUT_MS; streamTimeoutMs where that is above 0)",
};
const CONNECT_DOC: &str = "how long the first progress may take, 0ms for no limit (CONNECT_STREAM_TIMEOUT_MS, 54c7661d2); 120 s if it reasons";
const CONNECT_OFF: Param = Param { name: "connect", default: Value::Span(Span::ZERO), doc: CONNECT_DOC };
const CONNECT_ON: Param = Param { name: "connect", default: Value::Span(clock::CONNECT), doc: CONNECT_DOC };

/// The variable in `Boot`'s environment that says that the model reasons: `1`.
pub const REASONING: &str = "PAWWORK_REASONING";

/// What the model is told of a question that was cancelled, or lost in a shutdown (2837fabbb).
pub const CANCELLED: &str = "Question cancelled before the user answered it.";

/// The tool's error text for an ask that ended without an answer (2837fabbb).
pub fn ended_text(reason: &str) -> &'static str {
    match reason {
        "cancelled" | "shutdown" => CANCELLED,
        _ => QUESTION_DISMISSED,
    }
}

/// The tool's error text for an external result that will not come: `aborted` or `shutdown` (6ab984202).
pub fn external_text(reason: &str) -> String {
    format!("External result was {reason}.")
}
