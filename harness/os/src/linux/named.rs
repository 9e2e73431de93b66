//! What `/proc` shows as this process's arguments and environment, after a fork as after an `exec`.
//!
//! Invariant: who reads `/proc/PID/cmdline` and `environ` of a participant sees what it was started with, however it was
//! started. A kernel that does not let a process say so (it needs `CONFIG_CHECKPOINT_RESTORE`) has no process forked.

use super::spawn::variables;
use std::sync::OnceLock;

/// `PR_SET_MM` and its `PR_SET_MM_MAP` of Linux's `prctl.h`, which needs no privilege.
const PR_SET_MM: i32 = 35;
const PR_SET_MM_MAP: libc::c_ulong = 14;

/// `struct prctl_mm_map` of Linux's `prctl.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Map {
    start_code: u64,
    end_code: u64,
    start_data: u64,
    end_data: u64,
    start_brk: u64,
    brk: u64,
    start_stack: u64,
    arg_start: u64,
    arg_end: u64,
    env_start: u64,
    env_end: u64,
    /// 0: stays as it is.
    auxv: u64,
    auxv_size: u32,
    exe_fd: u32,
}

/// Where the program is in memory: the same in every process that is forked from this one.
static MAP: OnceLock<Map> = OnceLock::new();

/// Whether this process can be forked into others that show what they are; true in those that were forked from it, too.
pub fn can_fork() -> bool {
    MAP.get().is_some()
}

/// Makes this process one that can be forked, if the kernel lets it.
pub fn prepare(argv: &[String]) {
    if let Some(map) = own_map()
        && show(map, argv, &[])
    {
        let _ = MAP.set(map);
    }
}

/// Shows these arguments and this environment, control variable included.
pub fn name(argv: &[String], env: &[(String, String)]) {
    if let Some(map) = MAP.get() {
        show(*map, argv, env);
    }
}

fn show(map: Map, argv: &[String], env: &[(String, String)]) -> bool {
    let strings = |list: &mut dyn Iterator<Item = String>| list.flat_map(|text| (text + "\0").into_bytes()).collect();
    let args: Vec<u8> = strings(&mut argv.iter().cloned());
    let variables: Vec<u8> = strings(&mut variables(env, true).into_iter());
    let ends = args.len();
    // the kernel reads it there as long as the process lives
    let text = [args, variables].concat().leak();
    let at = |offset: usize| text.as_ptr() as u64 + offset as u64;
    // SAFETY: asks for the end of the heap, and does not move it.
    let brk = unsafe { libc::sbrk(0) } as u64;
    let (arg, env) = ((at(0), at(ends)), (at(ends), at(text.len())));
    let map = Map { brk, arg_start: arg.0, arg_end: arg.1, env_start: env.0, env_end: env.1, ..map };
    // SAFETY: the kernel copies the structure; all but the places of the strings, which are never freed, is as it was.
    unsafe { libc::prctl(PR_SET_MM, PR_SET_MM_MAP, &raw const map, size_of::<Map>(), 0) == 0 }
}

/// The map as it is, but for the end of the heap (`proc_pid_stat(5)`: fields 26 to 28 and 45 to 51).
fn own_map() -> Option<Map> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // the first of them is the third
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Map {
        start_code: field(26)?,
        end_code: field(27)?,
        start_stack: field(28)?,
        start_data: field(45)?,
        end_data: field(46)?,
        start_brk: field(47)?,
        exe_fd: u32::MAX,
        ..Map::default()
    })
}
