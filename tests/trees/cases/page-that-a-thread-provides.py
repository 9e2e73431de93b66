# truth: healthy
# then: ends
# needs: gcc root
# about: a thread touches a page that another one provides after a time (userfaultfd(2))
from lib import tree, native
native.show('''static int u; static char *page; static void *serve(void *a) { struct uffd_msg m; static char zero[4096]; read(u, &m, sizeof m); nap();
struct uffdio_copy c = {(unsigned long)page, (unsigned long)zero, 4096}; ioctl(u, UFFDIO_COPY, &c); return 0; }
int main(void) { pthread_t t; struct uffdio_api v = {UFFD_API}; u = syscall(SYS_userfaultfd, 0); if (u < 0) return 9; ioctl(u, UFFDIO_API, &v);
page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); struct uffdio_register r = {{(unsigned long)page, 4096}, UFFDIO_REGISTER_MODE_MISSING}; ioctl(u, UFFDIO_REGISTER, &r);
pthread_create(&t, 0, serve, 0); return *(volatile char *)page; }''', condition=lambda pid: len(tree.threads(pid)) == 2)
