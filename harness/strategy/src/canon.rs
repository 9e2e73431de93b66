//! What several strategies write into a state's canonical encoding ([`rehang_words::Canon`]).
//!
//! Invariant: two values with equal encodings are equal, and no encoding is the beginning of another.

use crate::Settled;
use rehang_words::Canon;
use rehang_words::{Choice, Question};

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

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_words::VTime;

    fn bytes(write: impl FnOnce(&mut Canon)) -> Vec<u8> {
        let mut canon = Canon::new(VTime::ZERO);
        write(&mut canon);
        canon.into_bytes()
    }

    fn all_differ(mut all: Vec<Vec<u8>>) {
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn different_values_have_different_encodings() {
        all_differ(
            [None, Some(0), Some(1)]
                .map(|n| {
                    bytes(|canon| {
                        option(canon, n, |canon, n| {
                            canon.num(n);
                        })
                    })
                })
                .into(),
        );
        let lists: [&[&str]; 5] = [&[], &[""], &["ab"], &["a", "b"], &["b", "a"]];
        all_differ(
            lists
                .map(|list| bytes(|canon| texts(canon, &list.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>())))
                .into(),
        );
        let ends = |text: &str| {
            [
                Settled::Completed(text.to_owned()),
                Settled::Failed(text.to_owned()),
                Settled::Stopped(text.to_owned(), "b".to_owned()),
            ]
        };
        let mut ends = [ends("a"), ends("b")].concat();
        ends.push(Settled::Stopped("a".to_owned(), "a".to_owned()));
        all_differ(ends.iter().map(|end| bytes(|canon| settled(canon, end))).collect());
    }

    #[test]
    fn each_field_of_a_question_counts() {
        let base = || crate::testing::question("q", &[("A", "a"), ("B", "b")]);
        let changes: [fn(&mut Question); 9] = [
            |_| {},
            |q| q.question = "r".to_owned(),
            |q| q.header = "h".to_owned(),
            |q| q.multiple = true,
            |q| q.custom = Some(false),
            |q| q.custom = Some(true),
            |q| q.options[1].label = "C".to_owned(),
            |q| q.options[1].description = "c".to_owned(),
            |q| drop(q.options.pop()),
        ];
        let changed = |change: &fn(&mut Question)| {
            let mut question = base();
            change(&mut question);
            bytes(|canon| questions(canon, &[question]))
        };
        let mut all: Vec<Vec<u8>> = changes.iter().map(changed).collect();
        all.extend([bytes(|canon| questions(canon, &[])), bytes(|canon| questions(canon, &[base(), base()]))]);
        all_differ(all);
    }
}
