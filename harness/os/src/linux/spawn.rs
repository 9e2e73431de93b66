//! Starts a fake: `posix_spawn` of the fakes' own binary under another name.
//!
//! Invariant: a child has the descriptors 0 to 4 at the most (its streams, the control socket, the lifeline),
//! an empty signal mask, and default actions for all signals but those that its parent ignores.

use super::descriptor::Lifted;
use super::signals;
use crate::exec::ENV_PREFIX;
use crate::lockstep::protocol::{CONTROL_ENV, CONTROL_FD, LIFELINE_FD};
use crate::os::Sig;
use std::ffi::{CString, NulError};
use std::io;
use std::os::fd::RawFd;
use std::ptr;

/// What a child gets as one of its streams.
#[derive(Debug, Clone)]
pub enum Stream {
    /// A duplicate of this descriptor.
    Fd(RawFd),
    /// `/dev/null`.
    Null,
    /// The stream is not open.
    Closed,
    /// This path, opened for reading and writing without blocking: a terminal's slave.
    Open(CString),
}

/// The group and session of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Its parent's group.
    Inherit,
    /// A new group.
    Group,
    /// A new session.
    Session,
}

/// A child to start.
#[derive(Debug)]
pub struct Order<'a> {
    /// The path of the binary.
    pub exe: &'a CString,
    /// Its program name and arguments.
    pub argv: &'a [String],
    /// Its whole environment. What runs before `main` sees none of it: a scenario chooses the names, and one that the
    /// dynamic loader knows would run code of the scenario's.
    pub env: &'a [(String, String)],
    /// Its stdin, stdout and stderr.
    pub streams: [Stream; 3],
    /// Its group or session.
    pub group: Group,
    /// With a new session: the terminal that becomes the controlling one.
    pub terminal: Option<&'a CString>,
    /// Its end of the control socket, and the lifeline.
    pub control: Option<(RawFd, RawFd)>,
    /// Signals that the child ignores from its start.
    pub ignored: &'a [Sig],
}

/// Starts the child, and returns its pid.
///
/// # Errors
/// The kernel's error; arguments with a NUL byte.
pub fn spawn(order: &Order<'_>) -> io::Result<i32> {
    let argv = strings(order.argv.iter().cloned())?;
    let env = strings(variables(order.env, order.control.is_some()))?;
    let mut actions = Actions::new()?;
    // a stream's source must not be a number that is overwritten before it is read
    let mut lifted = Vec::new();
    let mut lift = |fd: RawFd| -> io::Result<RawFd> {
        let copy = Lifted::new(fd)?;
        let number = copy.number();
        lifted.push(copy);
        Ok(number)
    };
    let streams: Vec<Stream> = order
        .streams
        .iter()
        .map(|stream| match stream {
            Stream::Fd(fd) => lift(*fd).map(Stream::Fd),
            other => Ok(other.clone()),
        })
        .collect::<io::Result<_>>()?;
    let control = order.control.map(|(control, lifeline)| Ok::<_, io::Error>((lift(control)?, lift(lifeline)?)));
    let control = control.transpose()?;
    if let Some(path) = order.terminal {
        actions.open(0, path, libc::O_RDWR | libc::O_NONBLOCK)?;
    }
    for (to, stream) in streams.iter().enumerate() {
        let to = to as RawFd;
        match stream {
            Stream::Fd(fd) => actions.dup(*fd, to)?,
            Stream::Null => actions.open(to, c"/dev/null", libc::O_RDWR)?,
            Stream::Open(path) => actions.open(to, path, libc::O_RDWR | libc::O_NONBLOCK)?,
            Stream::Closed => {
                // closing what is not open would fail
                actions.open(to, c"/dev/null", libc::O_RDWR)?;
                actions.close(to)?;
            }
        }
    }
    if let Some((control, lifeline)) = control {
        actions.dup(control, CONTROL_FD)?;
        actions.dup(lifeline, LIFELINE_FD)?;
    }
    let attributes = Attributes::new(order.group, order.ignored)?;
    let pointers = |list: &[CString]| -> Vec<*mut libc::c_char> {
        list.iter().map(|s| s.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
    };
    let (argv_pointers, env_pointers) = (pointers(&argv), pointers(&env));
    let mut pid = 0;
    // SAFETY: every pointer is to a NUL-terminated string or list that outlives the call; `posix_spawn` copies
    // nothing and changes none of them.
    let error = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            order.exe.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            argv_pointers.as_ptr(),
            env_pointers.as_ptr(),
        )
    };
    check(error)?;
    Ok(pid)
}

/// The environment as a process is given it: what runs before `main` sees none of the names that a scenario chose.
pub(super) fn variables(env: &[(String, String)], takes_part: bool) -> Vec<String> {
    let all = env.iter().map(|(key, value)| format!("{ENV_PREFIX}{key}={value}"));
    all.chain(takes_part.then(|| format!("{CONTROL_ENV}={CONTROL_FD}"))).collect()
}

fn strings(list: impl IntoIterator<Item = String>) -> io::Result<Vec<CString>> {
    list.into_iter()
        .map(|s| CString::new(s).map_err(|e: NulError| io::Error::new(io::ErrorKind::InvalidInput, e)))
        .collect()
}

fn check(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

struct Actions(libc::posix_spawn_file_actions_t);

impl Actions {
    fn new() -> io::Result<Actions> {
        // SAFETY: `init` makes the zeroed memory valid, or says that it did not.
        unsafe {
            let mut actions: libc::posix_spawn_file_actions_t = std::mem::zeroed();
            check(libc::posix_spawn_file_actions_init(&raw mut actions))?;
            Ok(Actions(actions))
        }
    }

    fn dup(&mut self, from: RawFd, to: RawFd) -> io::Result<()> {
        // SAFETY: the actions are initialised.
        check(unsafe { libc::posix_spawn_file_actions_adddup2(&raw mut self.0, from, to) })
    }

    fn open(&mut self, to: RawFd, path: &std::ffi::CStr, flags: i32) -> io::Result<()> {
        // SAFETY: the actions are initialised; glibc copies the path.
        check(unsafe { libc::posix_spawn_file_actions_addopen(&raw mut self.0, to, path.as_ptr(), flags, 0) })
    }

    fn close(&mut self, fd: RawFd) -> io::Result<()> {
        // SAFETY: the actions are initialised.
        check(unsafe { libc::posix_spawn_file_actions_addclose(&raw mut self.0, fd) })
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: the actions are initialised and not used again.
        unsafe {
            libc::posix_spawn_file_actions_destroy(&raw mut self.0);
        }
    }
}

struct Attributes(libc::posix_spawnattr_t);

impl Attributes {
    fn new(group: Group, ignored: &[Sig]) -> io::Result<Attributes> {
        let default = Sig::ALL.into_iter().filter(|sig| !matches!(sig, Sig::Kill | Sig::Stop));
        let mut default = signals::set(default.filter(|sig| !ignored.contains(sig)));
        let mask = signals::set([]);
        let place = match group {
            Group::Inherit => 0,
            Group::Group => libc::POSIX_SPAWN_SETPGROUP,
            Group::Session => i32::from(libc::POSIX_SPAWN_SETSID),
        };
        let flags = place | libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
        // SAFETY: `init` makes the zeroed memory valid, or says that it did not; the sets outlive the calls.
        unsafe {
            // Rust's runtime ignores SIGPIPE: the persona did not ask for that
            libc::sigaddset(&raw mut default, libc::SIGPIPE);
            let mut attributes: libc::posix_spawnattr_t = std::mem::zeroed();
            check(libc::posix_spawnattr_init(&raw mut attributes))?;
            let mut attributes = Attributes(attributes);
            check(libc::posix_spawnattr_setflags(&raw mut attributes.0, flags as libc::c_short))?;
            check(libc::posix_spawnattr_setpgroup(&raw mut attributes.0, 0))?;
            check(libc::posix_spawnattr_setsigdefault(&raw mut attributes.0, &raw const default))?;
            check(libc::posix_spawnattr_setsigmask(&raw mut attributes.0, &raw const mask))?;
            Ok(attributes)
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: the attributes are initialised and not used again.
        unsafe {
            libc::posix_spawnattr_destroy(&raw mut self.0);
        }
    }
}
