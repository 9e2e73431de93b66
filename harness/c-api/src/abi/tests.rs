//! The ABI takes any null pointer, any text and any number; its header is as committed.

use super::*;
use serde_json::Value;
use std::ptr::null;

/// What a call has returned.
fn taken(text: *mut c_char) -> Value {
    assert!(!text.is_null());
    // SAFETY: the library has returned it
    let json = unsafe { CStr::from_ptr(text) }.to_str().map(serde_json::from_str).expect("UTF-8").expect("JSON");
    // SAFETY: the same, once
    unsafe { rehang_free(text) };
    json
}

fn own() -> i32 {
    std::process::id().cast_signed()
}

fn why_with(pid: i32, options: &CStr) -> Value {
    // SAFETY: it ends with NUL
    taken(unsafe { rehang_why(pid, options.as_ptr()) })
}

#[test]
fn what_is_wrong_is_an_error_and_no_crash() {
    let kind = |json: &Value| (json["v"].clone(), json["error"]["kind"].as_str().unwrap_or_default().to_owned());
    let is = |kind: &str| (Value::from(1), kind.to_owned());
    // SAFETY: null is allowed
    assert_eq!(kind(&taken(unsafe { rehang_why(i32::MAX, null()) })), is("no-process"));
    for pid in [0, -1, i32::MIN] {
        assert_eq!(kind(&why_with(pid, c"{}")), is("usage"));
    }
    for options in [c"", c"[]", c"{\"ask\":1}", c"\xff", c"{\"window_ms\":99999999}", c"{\"agents\":[\"\"]}"] {
        assert_eq!(kind(&why_with(own(), options)), is("usage"), "{options:?}");
    }
    // SAFETY: null is allowed everywhere
    unsafe {
        assert_eq!(kind(&taken(rehang_guard_ask(null()))), is("usage"));
        assert_eq!(rehang_guard_output(null(), 1, null(), 0), REHANG_BAD_ARGUMENT);
        assert_eq!(rehang_guard_wrote(null(), null(), 0), REHANG_BAD_ARGUMENT);
        assert_eq!(rehang_guard_exited(null(), 0), REHANG_BAD_ARGUMENT);
        assert!(rehang_guard_new(own(), c"{\"strategies\":[\"gard\"]}".as_ptr(), null_mut()).is_null());
        let mut error = null_mut();
        assert!(rehang_guard_new(i32::MAX, null(), &raw mut error).is_null());
        assert_eq!(kind(&taken(error)), is("no-process"));
        rehang_guard_free(null_mut());
        rehang_free(null_mut());
    }
}

#[test]
fn a_guard_is_fed_and_asked() {
    // SAFETY: null is allowed, and the guard is freed at the end
    unsafe {
        let guard = rehang_guard_new(own(), null(), null_mut());
        let first = taken(rehang_guard_ask(guard));
        assert_eq!(
            (&first["state"], &first["why"], &first["steps"]),
            (&"unknown".into(), &Value::Null, &Value::from([""; 0]))
        );
        assert!(first["next_ms"].as_u64().is_some_and(|ms| ms > 0 && ms <= 10_000), "{first}");
        assert_eq!(rehang_guard_output(guard, 1, b"a line\n".as_ptr(), 7), REHANG_OK);
        assert_eq!(taken(rehang_guard_ask(guard))["state"], "working");
        for (stream, bytes, length) in
            [(0, c"".as_ptr().cast(), 0), (3, null(), 0), (1, null(), 1), (2, b"".as_ptr(), usize::MAX)]
        {
            assert_eq!(rehang_guard_output(guard, stream, bytes, length), REHANG_BAD_ARGUMENT);
        }
        assert_eq!(rehang_guard_wrote(guard, b"y".as_ptr(), 1), REHANG_OK);
        for stream in [1, 2] {
            assert_eq!(rehang_guard_output(guard, stream, null(), 0), REHANG_OK);
        }
        assert_eq!(rehang_guard_exited(guard, 0), REHANG_OK);
        let last = taken(rehang_guard_ask(guard));
        assert_eq!((&last["next_ms"], &last["steps"]), (&Value::Null, &Value::from([""; 0])), "{last}");
        rehang_guard_free(guard);
    }
}

#[test]
fn a_panic_is_an_error() {
    let json = taken(answer(|| -> Result<(), Error> { panic!("said so") }));
    assert_eq!(json["error"]["kind"], "internal");
    assert_eq!(json["error"]["message"], "internal error: said so");
}

/// Writes it anew with `UPDATE_EXPECT=1`.
#[test]
fn the_header_is_that_of_this_file() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("the configuration");
    let made = cbindgen::Builder::new().with_config(config).with_src(folder.join("src/abi.rs")).generate();
    let mut due = Vec::new();
    made.expect("a header").write(&mut due);
    let path = folder.join("include/rehang.h");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &due).expect("it can be written");
    }
    let due = String::from_utf8(due).expect("UTF-8");
    assert!(due == std::fs::read_to_string(&path).unwrap_or_default(), "rehang.h: run this with UPDATE_EXPECT=1");
}
