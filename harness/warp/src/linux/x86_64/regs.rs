//! The registers of a stopped thread, in the words of system calls.

use libc::user_regs_struct;

/// `AUDIT_ARCH_X86_64` of <linux/audit.h>.
pub const AUDIT_ARCH: u32 = 0xC000_003E;
/// The bit of the system call numbers of the x32 ABI, `__X32_SYSCALL_BIT` of <asm/unistd.h>.
pub const X32_BIT: u32 = 0x4000_0000;
/// The length of the `syscall` instruction.
const CALL_LENGTH: u64 = 2;

/// The registers of a stopped thread.
#[derive(Clone, Copy)]
pub struct Regs(pub user_regs_struct);

impl Regs {
    /// The number of the system call.
    pub fn call(&self) -> i64 {
        self.0.orig_rax as i64
    }

    /// An argument of the system call, from 0 to 5.
    pub fn argument(&self, index: usize) -> u64 {
        self.arguments()[index]
    }

    /// All arguments of the system call.
    pub fn arguments(&self) -> [u64; 6] {
        [self.0.rdi, self.0.rsi, self.0.rdx, self.0.r10, self.0.r8, self.0.r9]
    }

    /// Changes an argument.
    pub fn set_argument(&mut self, index: usize, value: u64) {
        let register = match index {
            0 => &mut self.0.rdi,
            1 => &mut self.0.rsi,
            2 => &mut self.0.rdx,
            3 => &mut self.0.r10,
            4 => &mut self.0.r8,
            _ => &mut self.0.r9,
        };
        *register = value;
    }

    /// What the system call returned.
    pub fn result(&self) -> i64 {
        self.0.rax as i64
    }

    /// Changes what the system call returns.
    pub fn set_result(&mut self, value: i64) {
        self.0.rax = value as u64;
    }

    /// Makes another system call of it.
    pub fn set_call(&mut self, number: i64) {
        self.0.orig_rax = number as u64;
    }

    /// No system call is made, and the program reads this result.
    pub fn answer(&mut self, value: i64) {
        self.0.orig_rax = u64::MAX;
        self.0.rax = value as u64;
    }

    /// The program makes the system call, which has returned, once more.
    pub fn repeat_call(&mut self) {
        self.0.rax = self.0.orig_rax;
        self.0.rip -= CALL_LENGTH;
    }

    /// The address after the `syscall` instruction.
    pub fn instruction(&self) -> u64 {
        self.0.rip
    }

    /// The stack pointer.
    pub fn stack(&self) -> u64 {
        self.0.rsp
    }
}
