//! The canonical encoding of a state, compared to prove a lasso.
//!
//! Invariant: two states with equal encodings behave alike for ever. So deadlines are encoded as the time that is left,
//! stored instants as their age, saturated just above the largest constant that they are compared with, and what no
//! transition reads is not encoded at all.

use crate::time::{Span, VTime};
use serde_json::Value;
use std::hash::{Hash, Hasher};

/// Writes one state. Every field is written with its length or with a fixed width, so no two states collide.
#[derive(Debug, Clone)]
pub struct Canon {
    now: VTime,
    sink: Sink,
}

/// Where an encoding goes.
#[derive(Debug, Clone)]
enum Sink {
    /// It is kept.
    Bytes(Vec<u8>),
    /// It is compared with one that was kept: how much of that came, or `None` once they differ.
    Compared(Vec<u8>, Option<usize>),
}

/// What has a canonical encoding.
pub trait Canonical {
    /// Writes everything that a later transition can read.
    fn canon(&self, canon: &mut Canon);
}

impl Canon {
    /// An empty encoding of a state at `now`.
    pub fn new(now: VTime) -> Canon {
        Canon { now, sink: Sink::Bytes(Vec::new()) }
    }

    /// An encoding of a state at `now` that is only compared with another one, and not kept.
    pub fn against(now: VTime, kept: Vec<u8>) -> Canon {
        Canon { now, sink: Sink::Compared(kept, Some(0)) }
    }

    /// The encoding; of one that is compared, the other.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.sink {
            Sink::Bytes(bytes) | Sink::Compared(bytes, _) => bytes,
        }
    }

    /// Whether this is compared with another encoding, and what was written so far differs from it. The rest decides
    /// nothing then, and need not be written.
    pub fn differs(&self) -> bool {
        matches!(self.sink, Sink::Compared(_, None))
    }

    /// Whether this was compared with another encoding, and is the same.
    pub fn is_same(&self) -> bool {
        matches!(&self.sink, Sink::Compared(kept, Some(at)) if *at == kept.len())
    }

    fn put(&mut self, more: &[u8]) {
        match &mut self.sink {
            Sink::Bytes(bytes) => bytes.extend_from_slice(more),
            Sink::Compared(kept, at) => {
                *at = at.filter(|at| kept[*at..].starts_with(more)).map(|at| at + more.len());
            }
        }
    }

    /// The instant at which the state is looked at.
    pub fn now(&self) -> VTime {
        self.now
    }

    /// A number, a count, a flag, an enum's discriminant.
    pub fn num(&mut self, n: u64) -> &mut Canon {
        self.put(&n.to_le_bytes());
        self
    }

    /// A counter that is only compared with constants up to `cap`.
    pub fn capped(&mut self, n: u64, cap: u64) -> &mut Canon {
        self.num(n.min(cap.saturating_add(1)))
    }

    /// A flag.
    pub fn flag(&mut self, b: bool) -> &mut Canon {
        self.num(u64::from(b))
    }

    /// Text or bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Canon {
        self.num(bytes.len() as u64);
        self.put(bytes);
        self
    }

    /// Text.
    pub fn text(&mut self, text: &str) -> &mut Canon {
        self.bytes(text.as_bytes())
    }

    /// Any value, by what its `Hash` writes: that names each variant and each length, so two values of one type with the
    /// same bytes are equal. (That of `serde_json::Value` does not write the order of members, nor what kind a number is:
    /// what holds one writes it with [`json`].)
    pub fn value<T: Hash + ?Sized>(&mut self, value: &T) -> &mut Canon {
        value.hash(&mut Hashed(self));
        self
    }

    /// A deadline: what is left until then.
    pub fn deadline(&mut self, at: Option<VTime>) -> &mut Canon {
        match at {
            None => self.num(0),
            Some(at) => {
                let left = at.since(self.now).as_ms();
                self.num(1).num(left)
            }
        }
    }

    /// A stored instant: its age, saturated just above `cap`, the largest span that it is compared with.
    pub fn age(&mut self, at: VTime, cap: Span) -> &mut Canon {
        let age = self.now.since(at).as_ms();
        self.capped(age, cap.as_ms())
    }

    /// A list: its length, then each element.
    pub fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut Canon, &T)) -> &mut Canon {
        self.num(items.len() as u64);
        for item in items {
            if self.differs() {
                break;
            }
            each(self, item);
        }
        self
    }
}

/// Hashes all that a JSON value is.
pub fn json(value: &Value, state: &mut impl Hasher) {
    value.to_string().hash(state);
}

/// Hashes all that these JSON values are.
pub fn jsons(values: &[Value], state: &mut impl Hasher) {
    state.write_usize(values.len());
    values.iter().for_each(|value| json(value, state));
}

/// Takes what a `Hash` writes into an encoding.
struct Hashed<'a>(&'a mut Canon);

impl Hasher for Hashed<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }

    // A derived `Hash` only writes: nobody asks for the number.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_a_width_or_a_length_of_its_own() {
        let at = |ms| VTime::ZERO + Span::ms(ms);
        let of = |write: &dyn Fn(&mut Canon)| {
            let mut canon = Canon::new(at(1_000));
            write(&mut canon);
            canon.into_bytes()
        };
        let words = |all: &[u64]| all.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(Canon::new(at(1_000)).now(), at(1_000));
        assert_eq!(of(&|c| _ = c.num(7).flag(true).flag(false)), words(&[7, 1, 0]));
        let capped = |n, cap| of(&|c| _ = c.capped(n, cap));
        assert_eq!([capped(4, 5), capped(5, 5), capped(6, 5), capped(7, 5)], [4, 5, 6, 6].map(|n| words(&[n])));
        assert_eq!(capped(u64::MAX, u64::MAX), words(&[u64::MAX]));
        assert_eq!(of(&|c| _ = c.text("ab")), [words(&[2]), b"ab".to_vec()].concat());
        assert_eq!(of(&|c| _ = c.bytes(&[])), words(&[0]));
        let deadline = |at| of(&|c| _ = c.deadline(at));
        assert_eq!(
            [deadline(None), deadline(Some(at(1_300))), deadline(Some(at(900)))],
            [words(&[0]), words(&[1, 300]), words(&[1, 0])]
        );
        let age = |since| of(&|c| _ = c.age(at(since), Span::ms(100)));
        assert_eq!([1_000, 900, 899, 0, 2_000].map(age), [0, 100, 101, 101, 0].map(|age| words(&[age])));
        assert_eq!(of(&|c| _ = c.list(&[3, 4], |c, n| _ = c.num(*n))), words(&[2, 3, 4]));
    }

    #[test]
    fn two_values_have_the_same_bytes_only_if_they_are_equal() {
        #[derive(Hash)]
        enum Kind {
            Named(String),
            Called(String),
            Listed(Vec<String>),
        }
        fn of<T: Hash + ?Sized>(value: &T) -> Vec<u8> {
            let mut canon = Canon::new(VTime::ZERO);
            canon.value(value);
            canon.into_bytes()
        }
        let a = || "a".to_owned();
        assert_ne!(of(&("ab", "c")), of(&("a", "bc")));
        assert_ne!(of(&(vec!["a"], vec!["b", "c"])), of(&(vec!["a", "b"], vec!["c"])));
        assert_ne!(of(&(1_u8, [2_u8].as_slice())), of(&(2_u8, [1_u8].as_slice())));
        let kinds = [Kind::Named(a()), Kind::Called(a()), Kind::Listed(vec![a()]), Kind::Listed(vec![])];
        let kinds: Vec<_> = kinds.iter().map(of).collect();
        assert!((1..kinds.len()).all(|at| !kinds[..at].contains(&kinds[at])), "{kinds:?}");
        let lists = [None, Some(vec![]), Some(vec![""]), Some(vec!["", ""])].map(|list| of(&list));
        assert!((1..lists.len()).all(|at| !lists[..at].contains(&lists[at])), "{lists:?}");
        struct Holder(Value);
        impl Hash for Holder {
            fn hash<H: Hasher>(&self, hasher: &mut H) {
                json(&self.0, hasher);
            }
        }
        let texts = [r#"{"a":0,"b":[]}"#, r#"{"b":[],"a":0}"#, r#"{"a":0.0,"b":[]}"#, r#"{"a":"0","b":[]}"#, "null"];
        let values = texts.map(|text| of(&Holder(serde_json::from_str(text).unwrap())));
        assert!((1..values.len()).all(|at| !values[..at].contains(&values[at])), "{values:?}");
        assert_eq!(of(&Kind::Named(a())), kinds[0]);
        assert_eq!(of(&(Some("ab"), 7, "c")), of(&(Some("ab".to_owned()), 7, "c".to_owned())));
    }

    /// The rest of an encoding that differs is left out, so it must never count as the same.
    #[test]
    fn an_encoding_is_the_same_only_if_all_of_it_is() {
        let kept = |list: &[u64]| {
            let mut canon = Canon::new(VTime::ZERO);
            canon.list(list, |canon, n| _ = canon.num(*n)).text("end");
            canon.into_bytes()
        };
        let compared = |list: &[u64], end: &str| {
            let (mut canon, mut written) = (Canon::against(VTime::ZERO, kept(&[1, 2, 3])), 0);
            canon.list(list, |canon, n| {
                written += 1;
                canon.num(*n);
            });
            canon.text(end);
            assert_eq!((canon.differs() && canon.is_same(), canon.clone().into_bytes()), (false, kept(&[1, 2, 3])));
            (canon.is_same(), written)
        };
        assert_eq!(compared(&[1, 2, 3], "end"), (true, 3));
        assert_eq!(compared(&[1, 7, 3], "end"), (false, 2), "what follows a difference is left out");
        assert_eq!(compared(&[1, 2], "end"), (false, 0), "another length");
        assert_eq!([compared(&[1, 2, 3], "en"), compared(&[1, 2, 3], "ends")], [(false, 3); 2]);
        let mut short = Canon::against(VTime::ZERO, kept(&[]));
        assert!(!short.num(0).is_same() && !short.differs(), "a part of it is not the whole");
        assert!(short.text("end").is_same() && !Canon::new(VTime::ZERO).is_same());
        assert!(!short.num(0).is_same(), "more than it is not it either");
    }
}
