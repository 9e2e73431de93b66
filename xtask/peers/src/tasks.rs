//! The work as two tasks and two channels, on a runtime whose clock is virtual: no network is simulated, which rehang's row
//! has to the byte.

use crate::{Log, PERIOD, POLLS, REQUEST, RESPONSE};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// A request, and where its answer goes.
type Asked = oneshot::Sender<&'static str>;

fn note(log: &Mutex<Log>, at: Duration, who: &str, what: &str, text: &str) {
    log.lock().expect("no task panics").event(at, who, what, text);
}

macro_rules! cell {
    ($spawn:path, $sleep:path, $now:expr) => {{
        let log = Arc::new(Mutex::new(Log::default()));
        let began = $now;
        let at = move || $now.duration_since(began);
        let (asks, mut asked) = mpsc::channel::<Asked>(16);
        let of_server = log.clone();
        note(&log, at(), "server", "spawned", "serve");
        let server = $spawn(async move {
            note(&of_server, at(), "server", "asked", "Which database?");
            while let Some(answers) = asked.recv().await {
                note(&of_server, at(), "server", "response", RESPONSE);
                let _ = answers.send(RESPONSE);
            }
        });
        for _ in 0..POLLS {
            $sleep(PERIOD).await;
            note(&log, at(), "client", "request", REQUEST);
            let (answers, answer) = oneshot::channel();
            asks.send(answers).await.expect("the server is there");
            answer.await.expect("it answers");
        }
        note(&log, at(), "client", "ended", "");
        drop(asks);
        server.await.expect("it ends");
        let events = log.lock().expect("no task panics").events();
        events
    }};
}

/// On tokio's own paused clock.
pub fn on_tokio() -> usize {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(async { cell!(tokio::spawn, tokio::time::sleep, tokio::time::Instant::now()) })
}

/// On madsim, whose order of tasks is drawn from a seed.
pub fn on_madsim() -> usize {
    let runtime = madsim::runtime::Runtime::with_seed_and_config(1, madsim::Config::default());
    runtime.block_on(async { cell!(madsim::task::spawn, madsim::time::sleep, madsim::time::Instant::now()) })
}
