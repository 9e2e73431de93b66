//! Lists that only grow, in their compared form: messages, the attempts at one message, sessions.
//!
//! A client that asks for such a list gets all of it, so all of it is compared. A loop that says the same again and
//! again would never return to an earlier state; so a repeated block is written twice and no more.
//!
//! Invariant: two lists with one encoding have the same elements in the same order, except for how often beyond twice a
//! block of them is repeated in place.

use rehang_scenario::Canon;

/// The longest block whose repetition is recognised, in elements: what one turn of a loop may add.
const BLOCK_MAX: usize = 16;

/// Writes a list, each element by `write`; of equal neighbouring blocks only the first two are written.
pub(super) fn write<T>(canon: &mut Canon, items: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Canon, T)) {
    if canon.differs() {
        return;
    }
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for item in items {
        let mut of = Canon::new(canon.now());
        write(&mut of, item);
        kept.push(of.into_bytes());
        let repeats = |block: &usize| {
            let (last, all) = (kept.len() - block, kept.len());
            last >= 2 * block
                && kept[last..all] == kept[last - block..last]
                && kept[last..all] == kept[last - 2 * block..last - block]
        };
        if let Some(block) = (1..=BLOCK_MAX.min(kept.len() / 3)).find(repeats) {
            kept.truncate(kept.len() - block);
        }
    }
    canon.list(&kept, |canon, item| {
        canon.bytes(item);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::VTime;

    fn encoded(list: &str) -> Vec<u8> {
        let mut canon = Canon::new(VTime::ZERO);
        write(&mut canon, list.bytes(), |canon, byte| {
            canon.num(byte.into());
        });
        canon.into_bytes()
    }

    #[test]
    fn what_comes_again_and_again_is_written_twice() {
        for (grown, once, twice) in [("xaaaaaaaa", "xa", "xaa"), ("xabcabcabcabc", "xabc", "xabcabc")] {
            assert_eq!(encoded(grown), encoded(twice), "{grown}");
            assert_ne!(encoded(once), encoded(twice), "{once}");
        }
    }

    #[test]
    fn all_else_tells_lists_apart() {
        let lists = ["", "a", "aa", "ab", "ba", "aab", "abb", "aaba", "aabaa", "abab", "aabb", "ababb"];
        for (at, one) in lists.iter().enumerate() {
            for other in &lists[at + 1..] {
                assert_ne!(encoded(one), encoded(other), "{one} {other}");
            }
        }
    }
}
