//! The vDSO's clock functions, replaced by ones that read virtual time from a page of the program's own.
//!
//! The code below is written over the body of `__vdso_clock_gettime`, and the three clock functions begin with a jump
//! into it. The page holds the monotonic time in ns, what to add for the time of day, and how many reads are left at
//! this instant: a program that reads its clock again and again, waiting for it to move, then makes a system call that
//! the tracer sees.
//!
//! Invariant: the code uses no memory of the program but the page and the arguments, and only registers that the C ABI
//! lets a function change.

use std::arch::global_asm;
use std::collections::HashMap;

global_asm!(
    r#"
    .pushsection .rodata
    .balign 16
    .globl rehang_warp_code, rehang_warp_code_end, rehang_warp_page, rehang_warp_map
    .globl rehang_warp_clock_gettime, rehang_warp_gettimeofday, rehang_warp_time
rehang_warp_code:
rehang_warp_page:
    .quad 0
    # run once after exec: mmap, its arguments are in the registers, then a trap for the tracer
rehang_warp_map:
    mov eax, 9
    syscall
    int3
rehang_warp_clock_gettime:
    cmp edi, 11
    ja 9f
    mov ecx, edi
    mov eax, 1
    shl eax, cl
    test eax, 0x40C             # clocks 2 and 3 count processor time, 10 does not exist
    jnz 9f
    mov r8, [rip + rehang_warp_page]
    dec qword ptr [r8 + 16]
    js 9f
    mov r9, [r8]
    test eax, 0x921             # clocks 0, 5, 8 and 11 are times of day
    jz 2f
    add r9, [r8 + 8]
2:  mov rax, r9
    xor edx, edx
    mov ecx, 1000000000
    div rcx
    mov [rsi], rax
    mov [rsi + 8], rdx
    xor eax, eax
    ret
9:  mov eax, 228
    syscall
    ret
rehang_warp_gettimeofday:
    mov r8, [rip + rehang_warp_page]
    dec qword ptr [r8 + 16]
    js 9f
    test rdi, rdi
    jz 3f
    mov rax, [r8]
    add rax, [r8 + 8]
    xor edx, edx
    mov ecx, 1000000000
    div rcx
    mov [rdi], rax
    mov rax, rdx
    xor edx, edx
    mov ecx, 1000
    div rcx
    mov [rdi + 8], rax
3:  test rsi, rsi
    jz 4f
    mov qword ptr [rsi], 0
4:  xor eax, eax
    ret
9:  mov eax, 96
    syscall
    ret
rehang_warp_time:
    mov r8, [rip + rehang_warp_page]
    dec qword ptr [r8 + 16]
    js 9f
    mov rax, [r8]
    add rax, [r8 + 8]
    xor edx, edx
    mov ecx, 1000000000
    div rcx
    test rdi, rdi
    jz 5f
    mov [rdi], rax
5:  ret
9:  mov eax, 201
    syscall
    ret
rehang_warp_code_end:
    nop
    .popsection
"#
);

unsafe extern "C" {
    static rehang_warp_code: u8;
    static rehang_warp_code_end: u8;
    static rehang_warp_page: u8;
    static rehang_warp_map: u8;
    static rehang_warp_clock_gettime: u8;
    static rehang_warp_gettimeofday: u8;
    static rehang_warp_time: u8;
}

/// `mov rax, -ENOSYS; ret`: a program whose `__vdso_getrandom` is this makes a system call instead.
const NOT_IMPLEMENTED: [u8; 8] = [0x48, 0xc7, 0xc0, 0xda, 0xff, 0xff, 0xff, 0xc3];

/// Where what is written into a vDSO. All offsets are from its start.
#[derive(Debug)]
pub struct Plan {
    /// What is written, by offset.
    pub patches: Vec<(u64, Vec<u8>)>,
    /// Written in addition if random numbers come from a seed.
    pub no_random: Option<(u64, Vec<u8>)>,
    /// The word that holds the page's address.
    pub page: u64,
    /// The code that maps the page.
    pub map: u64,
}

/// The plan, from this process's own vDSO: the kernel gives the same one to every process. `None` if there is none or the
/// code does not fit.
pub fn plan() -> Option<Plan> {
    // SAFETY: reads an integer of the auxiliary vector.
    let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
    if base == 0 {
        return None;
    }
    let functions = functions(Image(base as *const u8));
    let start = &raw const rehang_warp_code as u64;
    let length = (&raw const rehang_warp_code_end as u64 - start) as usize;
    // SAFETY: both symbols are the ends of one block of read-only data, above.
    let code = unsafe { std::slice::from_raw_parts(start as *const u8, length) }.to_vec();
    let &(body, size) = functions.get("__vdso_clock_gettime")?;
    // after the jump, at the next address that is a multiple of 16
    let at = (body + 5).next_multiple_of(16);
    if at + length as u64 > body + size {
        return None;
    }
    let within = |symbol: *const u8| at + (symbol as u64 - start);
    let mut patches = vec![(at, code)];
    let jumps = [
        ("__vdso_clock_gettime", &raw const rehang_warp_clock_gettime),
        ("__vdso_gettimeofday", &raw const rehang_warp_gettimeofday),
        ("__vdso_time", &raw const rehang_warp_time),
    ];
    for (name, symbol) in jumps {
        let &(from, _) = functions.get(name)?;
        let distance = (within(symbol) as i64 - (from as i64 + 5)) as i32;
        let mut jump = vec![0xe9];
        jump.extend(distance.to_le_bytes());
        patches.push((from, jump));
    }
    let random = functions.get("__vdso_getrandom").filter(|(_, size)| *size >= NOT_IMPLEMENTED.len() as u64);
    Some(Plan {
        patches,
        no_random: random.map(|(from, _)| (*from, NOT_IMPLEMENTED.to_vec())),
        page: within(&raw const rehang_warp_page),
        map: within(&raw const rehang_warp_map),
    })
}

/// This process's vDSO in memory: an ELF image that the kernel made and that stays mapped.
#[derive(Clone, Copy)]
struct Image(*const u8);

impl Image {
    /// A little-endian number of `count` bytes at an offset.
    fn number(self, at: u64, count: usize) -> u64 {
        let mut bytes = [0; 8];
        // SAFETY: the offsets come from the image's own headers, which the kernel made.
        let from = unsafe { std::slice::from_raw_parts(self.0.add(at as usize), count) };
        bytes[..count].copy_from_slice(from);
        u64::from_le_bytes(bytes)
    }

    /// A string that ends with a zero byte.
    fn text(self, at: u64) -> String {
        let byte = |at| self.number(at, 1) as u8;
        (at..).map(byte).take_while(|byte| *byte != 0).map(char::from).collect()
    }
}

/// The functions of a vDSO by name: offset and size. The numbers are those of the ELF format (`man 5 elf`).
fn functions(image: Image) -> HashMap<String, (u64, u64)> {
    let (headers, count) = (image.number(32, 8), image.number(56, 2));
    let header = (0..count).map(|i| headers + i * 56).find(|at| image.number(*at, 4) == 2);
    let Some(mut entry) = header.map(|at| image.number(at + 8, 8)) else { return HashMap::new() };
    let (mut symbols, mut strings, mut hash) = (0, 0, 0);
    while image.number(entry, 8) != 0 {
        let value = image.number(entry + 8, 8);
        match image.number(entry, 8) {
            4 => hash = value,
            5 => strings = value,
            6 => symbols = value,
            _ => {}
        }
        entry += 16;
    }
    // without DT_HASH: the symbols lie before the strings
    let count = if hash == 0 { (strings.saturating_sub(symbols) / 24).min(64) } else { image.number(hash + 4, 4) };
    let symbol = |i: u64| {
        let at = symbols + i * 24;
        (image.text(strings + image.number(at, 4)), (image.number(at + 8, 8), image.number(at + 16, 8)))
    };
    (0..count).map(symbol).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_fits_into_this_kernel_s_vdso() {
        let plan = plan().expect("a plan");
        assert_eq!(plan.patches.len(), 4);
        assert_eq!(plan.patches[0].0, plan.page);
    }
}
