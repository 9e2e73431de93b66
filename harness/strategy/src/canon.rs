//! What several strategies write into a state's canonical encoding ([`rehang_scenario::Canon`]).
//!
//! Invariant: two values with equal encodings are equal, and no encoding is the beginning of another.

use crate::Settled;
use rehang_scenario::Canon;
use rehang_scenario::turns::{Choice, Question};

/// A value that may be missing.
pub fn option<T>(canon: &mut Canon, value: Option<T>, each: impl FnOnce(&mut Canon, T)) {
    canon.flag(value.is_some());
    if let Some(value) = value {
        each(canon, value);
    }
}

/// A list of texts, such as ids.
pub fn texts(canon: &mut Canon, texts: &[String]) {
    canon.list(texts, |canon, text| {
        canon.text(text);
    });
}

/// The questions of an ask.
pub fn questions(canon: &mut Canon, questions: &[Question]) {
    canon.list(questions, |canon, Question { question, header, options, multiple, custom }| {
        canon.text(question).text(header).flag(*multiple);
        canon.list(options, |canon, Choice { label, description }| {
            canon.text(label).text(description);
        });
        option(canon, *custom, |canon, custom| {
            canon.flag(custom);
        });
    });
}

/// How a strategy says that a run ended.
pub fn settled(canon: &mut Canon, settled: &Settled) {
    match settled {
        Settled::Completed(text) => canon.num(0).text(text),
        Settled::Stopped(cause, text) => canon.num(1).text(cause).text(text),
        Settled::Failed(text) => canon.num(2).text(text),
    };
}
