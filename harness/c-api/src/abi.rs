//! The C ABI: pointers are checked, text becomes Rust's, and no panic comes out.
//!
//! Invariant: every function may be called with any pointer that is null, and with any text and number. A pointer that is
//! not null must be what its function's comment says.

use crate::{Error, Guard, json, options, why};
use rehang_strategy::Stream;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Mutex;

/// The version of these functions. It rises if a program that was built for an earlier one would break.
pub const REHANG_ABI: u32 = 1;
/// The call has done what it should.
pub const REHANG_OK: i32 = 0;
/// An argument is wrong: a null pointer, or a number that means nothing.
pub const REHANG_BAD_ARGUMENT: i32 = -1;
/// rehang's own fault. The guard cannot be used any more.
pub const REHANG_INTERNAL: i32 = -2;

/// Guard around one process. All functions may be called from any thread; calls for one guard wait for each other.
pub struct RehangGuard(Mutex<Guard>);

/// The version of the library: `REHANG_ABI` of the header that it was built with.
#[unsafe(no_mangle)]
pub extern "C" fn rehang_abi() -> u32 {
    REHANG_ABI
}

/// Says why a process does not move: a JSON object as `docs/embed.schema.json` describes it, or `{"v":1,"error":{…}}`.
/// Blocks for the time of the look, 1 s by default, and may be called from several threads at once.
///
/// `options` is null or a JSON object: `agents`, `ask`, `window_ms`, `silent_ms`. The text is to be freed by `rehang_free`.
///
/// # Safety
/// `options` is null or a text that ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rehang_why(pid: i32, options: *const c_char) -> *mut c_char {
    // SAFETY: the caller's promise
    let options = unsafe { text(options) };
    answer(|| why(pid, &options::read(options?)?))
}

/// A guard around a process that has just been started; null if there is none, and then `*error`, if `error` is not null, is
/// a JSON object `{"v":1,"error":{…}}`, to be freed by `rehang_free`.
///
/// `options` is null or a JSON object: `strategies`, `stdin`, `one_stream`, `agents`, `ask`. The guard is to be freed by
/// `rehang_guard_free`. It does nothing to the process by itself.
///
/// # Safety
/// `options` is null or a text that ends with NUL; `error` is null or may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rehang_guard_new(
    pid: i32,
    options: *const c_char,
    error: *mut *mut c_char,
) -> *mut RehangGuard {
    // SAFETY: the caller's promise
    let options = unsafe { text(options) };
    match caught(|| Guard::new(pid, &options::read(options?)?)) {
        Ok(guard) => Box::into_raw(Box::new(RehangGuard(Mutex::new(guard)))),
        Err(why) => {
            if !error.is_null() {
                // SAFETY: it is not null, and the caller's promise
                unsafe { *error = answer(|| Err::<(), Error>(why)) };
            }
            null_mut()
        }
    }
}

/// The process has written `length` bytes to its stdout (`stream` 1) or stderr (2); as with read(2), no bytes are the end of
/// the stream. On a terminal all is stdout. Returns `REHANG_OK` or what is wrong.
///
/// # Safety
/// `guard` is null or was returned by `rehang_guard_new` and not freed; `length` bytes can be read at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rehang_guard_output(
    guard: *const RehangGuard,
    stream: i32,
    bytes: *const u8,
    length: usize,
) -> i32 {
    let stream = match stream {
        1 => Stream::Stdout,
        2 => Stream::Stderr,
        _ => return REHANG_BAD_ARGUMENT,
    };
    // SAFETY: the caller's promise
    match unsafe { slice(bytes, length) } {
        // SAFETY: the caller's promise
        Some(bytes) => unsafe { tell(guard, |guard| guard.output(stream, bytes)) },
        None => REHANG_BAD_ARGUMENT,
    }
}

/// The caller has written these bytes to the process's stdin. Returns `REHANG_OK` or what is wrong.
///
/// # Safety
/// `guard` is null or was returned by `rehang_guard_new` and not freed; `length` bytes can be read at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rehang_guard_wrote(guard: *const RehangGuard, bytes: *const u8, length: usize) -> i32 {
    // SAFETY: the caller's promise
    match unsafe { slice(bytes, length) } {
        // SAFETY: the caller's promise
        Some(bytes) => unsafe { tell(guard, |guard| guard.wrote(bytes)) },
        None => REHANG_BAD_ARGUMENT,
    }
}

/// The process has ended: `code` is its exit code, or minus the number of the signal that ended it. Returns `REHANG_OK` or
/// what is wrong.
///
/// # Safety
/// `guard` is null or was returned by `rehang_guard_new` and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rehang_guard_exited(guard: *const RehangGuard, code: i32) -> i32 {
    // SAFETY: the caller's promise
    unsafe { tell(guard, |guard| guard.exited(code)) }
}

/// What the process does, and what the caller is to do now: a JSON object as `docs/embed.schema.json` describes it, or
/// `{"v":1,"error":{…}}`. It does not wait: a look is taken by a thread, and a later call has its result.
///
/// To be called after `next_ms` at the latest, and at best also after each call that feeds it. The text is to be freed by
/// `rehang_free`.
///
/// # Safety
/// `guard` is null or was returned by `rehang_guard_new` and not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rehang_guard_ask(guard: *const RehangGuard) -> *mut c_char {
    // SAFETY: the caller's promise
    let guard = unsafe { guard.as_ref() };
    answer(|| {
        let guard = guard.ok_or_else(|| Error::Usage("the guard is null".to_owned()))?;
        let mut guard =
            guard.0.lock().map_err(|_| Error::Internal("an earlier call of this guard failed".to_owned()))?;
        Ok(guard.ask())
    })
}

/// Frees a guard; null is none. A look that is under way ends by itself.
///
/// # Safety
/// `guard` is null or was returned by `rehang_guard_new`, and is not used after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rehang_guard_free(guard: *mut RehangGuard) {
    if !guard.is_null() {
        // SAFETY: it is not null, and the caller's promise
        let guard = unsafe { Box::from_raw(guard) };
        let _ = catch_unwind(AssertUnwindSafe(|| drop(guard)));
    }
}

/// Frees a text that another function has returned; null is none.
///
/// # Safety
/// `text` is null or was returned by a function of this library, and is not used after this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rehang_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: it is not null, and the caller's promise
        drop(unsafe { CString::from_raw(text) });
    }
}

/// The caller's text; `None` for null.
///
/// # Safety
/// It is null or ends with NUL, and lives as long as the call.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, Error> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: it is not null, and the caller's promise
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| Error::Usage("the options are not UTF-8".to_owned()))
}

/// The caller's bytes; `None` if they cannot be any.
///
/// # Safety
/// `length` bytes can be read there as long as the call lasts.
unsafe fn slice<'a>(bytes: *const u8, length: usize) -> Option<&'a [u8]> {
    match (bytes.is_null(), length) {
        (_, 0) => Some(&[]),
        (true, _) => None,
        (false, _) if isize::try_from(length).is_err() => None,
        // SAFETY: it is not null, the length is one of a slice, and the caller's promise
        (false, _) => Some(unsafe { std::slice::from_raw_parts(bytes, length) }),
    }
}

/// Feeds a guard.
///
/// # Safety
/// It is null or a guard that was not freed.
unsafe fn tell(guard: *const RehangGuard, tell: impl FnOnce(&mut Guard)) -> i32 {
    // SAFETY: the caller's promise
    let Some(guard) = (unsafe { guard.as_ref() }) else { return REHANG_BAD_ARGUMENT };
    let told = catch_unwind(AssertUnwindSafe(|| guard.0.lock().map(|mut guard| tell(&mut guard)).is_ok()));
    if told.unwrap_or(false) { REHANG_OK } else { REHANG_INTERNAL }
}

/// The answer of a call, or its error, as a text of the caller's.
fn answer<T: serde::Serialize>(call: impl FnOnce() -> Result<T, Error>) -> *mut c_char {
    let text = caught(|| Ok(json(call()))).unwrap_or_else(|error| json(Err::<(), Error>(error)));
    // JSON has no NUL: it is escaped in strings
    CString::new(text).map_or(null_mut(), CString::into_raw)
}

/// The result of a call; a panic is an error of rehang's.
fn caught<T>(call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a text");
        Err(Error::Internal(text.to_owned()))
    })
}

#[cfg(test)]
mod tests;
