//! Random numbers from a seed: `getrandom`, `/dev/urandom`, the bytes that exec gives.
//!
//! Each draw is a function of the seed, the thread's ordinal and how many draws it made before, so that threads that run
//! at once do not disturb each other.

use super::tracer::Tracer;
use super::tree::AtExit;
use super::x86_64::regs::Regs;
use super::{procfs, sys};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};

/// The most bytes of one `getrandom`, as the kernel has it for small requests; larger ones read less than they asked for.
const LONGEST: usize = 1 << 20;
/// How many bytes `/dev/urandom` has.
const DEVICE: usize = 1 << 18;
/// The most bytes of a path that is looked at.
const PATH: usize = 16;

/// SplitMix64, by Steele, Lea and Flood (2014).
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).collect();
        bytes.truncate(count);
        bytes
    }
}

impl Tracer<'_> {
    /// The next random bytes of a thread; `None` without a seed.
    fn draw(&mut self, tid: i32, count: usize) -> Option<Vec<u8>> {
        let seed = self.settings.seed?;
        let thread = self.threads.get_mut(&tid)?;
        thread.draws += 1;
        let mut mixed = Generator(seed);
        let mut mixed = Generator(mixed.next() ^ thread.birth);
        Some(Generator(mixed.next() ^ thread.draws).bytes(count))
    }

    /// `getrandom`.
    pub fn answer_random(&mut self, tid: i32, regs: Regs) {
        let count = usize::try_from(regs.argument(1)).unwrap_or(usize::MAX).min(LONGEST);
        match self.draw(tid, count) {
            Some(bytes) if count == 0 || sys::write(tid, regs.argument(0), &bytes) => {
                self.answer(tid, regs, count as i64);
            }
            // the kernel reports what is wrong with the address
            _ => self.resume(tid, 0),
        }
    }

    /// `open` and `openat`: instead of a device of random numbers a file in memory is made.
    pub fn replace_random_device(&mut self, tid: i32, mut regs: Regs) {
        let index = if regs.call() == libc::SYS_open { 0 } else { 1 };
        let mut path = [0; PATH];
        let end =
            if sys::read(tid, regs.argument(index), &mut path) { path.iter().position(|b| *b == 0) } else { None };
        let is_device = end.is_some_and(|end| [&b"/dev/urandom"[..], b"/dev/random"].contains(&&path[..end]));
        if !is_device {
            return self.resume(tid, 0);
        }
        let before = regs;
        let is_closed_by_exec = regs.argument(index + 1) as i32 & libc::O_CLOEXEC != 0;
        // the path is its name; a path to a file of the tracer's would be another file in the program's namespaces
        regs.set_call(libc::SYS_memfd_create);
        regs.set_argument(0, before.argument(index));
        regs.set_argument(1, if is_closed_by_exec { u64::from(libc::MFD_CLOEXEC) } else { 0 });
        sys::set_registers(tid, &regs);
        self.resume_to_exit(tid, AtExit::RandomFile, before);
    }

    /// The file in memory is made: it gets its bytes.
    pub fn fill_random_file(&mut self, tid: i32, mut regs: Regs) {
        let Some(thread) = self.threads.get(&tid) else { return };
        if let Some(before) = thread.regs {
            (0..2).for_each(|index| regs.set_argument(index, before.argument(index)));
            sys::set_registers(tid, &regs);
        }
        if let Some(file) = sys::copy_descriptor(thread.pid, regs.result() as i32).filter(|_| regs.result() >= 0)
            && let Some(bytes) = self.draw(tid, DEVICE)
        {
            let mut file = File::from(file);
            // fails only without memory; then the program reads an early end
            let _ = file.write_all(&bytes).and_then(|()| file.seek(SeekFrom::Start(0)));
        }
        self.resume(tid, 0);
    }

    /// Replaces the random bytes that a program is started with.
    pub fn replace_start_bytes(&mut self, tid: i32, pid: i32) {
        if self.settings.seed.is_some()
            && let Some(address) = procfs::auxiliary(pid, libc::AT_RANDOM)
            && let Some(bytes) = self.draw(tid, 16)
        {
            sys::write(pid, address, &bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        // the first outputs for the seed 1234567, from the reference implementation's test vectors
        let mut generator = Generator(1_234_567);
        assert_eq!(generator.next(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next(), 3_203_168_211_198_807_973);
        assert_eq!(generator.bytes(3).len(), 3);
    }
}
