//! What one process can be given as arguments and environment, in bytes.
//!
//! Invariant: [`fits`] alone decides, on every stage and before the kernel is asked, so that no stage starts a process
//! that another cannot. Linux accepts what it lets pass, with the usual limit of the stack; if the kernel still
//! refuses, that is an internal error with its remedy, never a scenario's `spawn failed`.

use rehang_scenario::limits;

/// The prefix of a fake's variables if a fake or a scheduler has started it.
pub const ENV_PREFIX: &str = "REHANG_ENV_";

/// Whether a process can be given these arguments and this environment: each string is at most
/// [`limits::EXEC_STRING_BYTES`] long, and all of them, with a NUL and a pointer each, at most [`limits::EXEC_BYTES`].
pub fn fits(argv: &[String], env: &[(String, String)]) -> bool {
    let variables = env.iter().map(|(name, value)| ENV_PREFIX.len() + name.len() + "=".len() + value.len());
    let mut sum = 0;
    argv.iter().map(String::len).chain(variables).all(|bytes| {
        sum += bytes + 1 + size_of::<usize>();
        bytes <= limits::EXEC_STRING_BYTES && sum <= limits::EXEC_BYTES
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> String {
        "x".repeat(bytes)
    }

    #[test]
    fn a_string_has_a_limit() {
        assert!(fits(&[text(131_071)], &[]));
        assert!(!fits(&[text(131_072)], &[]));
        let variable = |bytes: usize| [("TOKEN".to_owned(), text(bytes - "REHANG_ENV_TOKEN=".len()))];
        assert!(fits(&[], &variable(131_071)));
        assert!(!fits(&[], &variable(131_072)));
    }

    #[test]
    fn so_has_their_sum() {
        // twelve strings that are 131,072 bytes long with their pointers and NULs: 1,536 KiB
        let mut argv = vec![text(131_072 - 9); 12];
        assert!(fits(&argv, &[]));
        argv[0].push('x');
        assert!(!fits(&argv, &[]));
    }
}
