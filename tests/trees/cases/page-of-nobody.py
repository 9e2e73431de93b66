# truth: hung
# verdict: HUNG WAITING UNKNOWN
# cause: page|fault|memory|cannot be seen|disk
# needs: gcc root
# about: a process touches a page that only it could provide by its own userfaultfd (userfaultfd(2))
from lib import tree, native
native.show('''int main(void) { struct uffdio_api v = {UFFD_API}; int u = syscall(SYS_userfaultfd, 0); if (u < 0) return 9; ioctl(u, UFFDIO_API, &v);
char *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); struct uffdio_register r = {{(unsigned long)page, 4096}, UFFDIO_REGISTER_MODE_MISSING}; ioctl(u, UFFDIO_REGISTER, &r);
open("touches", O_CREAT, 0600); return *(volatile char *)page; }''', condition=lambda pid: __import__('os').path.exists(f'{tree.D}/touches') and tree.state(pid) in 'SD' and 'userfault' in open(f'/proc/{pid}/wchan').read())
