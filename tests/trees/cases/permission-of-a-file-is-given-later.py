# truth: healthy
# then: ends
# needs: gcc root
# if: grep -q CONFIG_FANOTIFY_ACCESS_PERMISSIONS=y /boot/config-$(uname -r) || zgrep -q FANOTIFY_ACCESS_PERMISSIONS=y /proc/config.gz
# about: a process opens a file, which a scanner allows after a time (fanotify(7), FAN_OPEN_PERM)
from lib import tree, native
native.show('''int main(void) { int f = fanotify_init(FAN_CLASS_CONTENT, O_RDONLY), s; close(open("file", O_CREAT | O_RDWR, 0600)); if (f < 0 || fanotify_mark(f, FAN_MARK_ADD, FAN_OPEN_PERM, AT_FDCWD, "file")) { perror("fanotify"); return 9; }
if (fork() == 0) { close(f); open("file", O_RDONLY); _exit(0); } struct fanotify_event_metadata e; read(f, &e, sizeof e); nap(); struct fanotify_response r = {e.fd, FAN_ALLOW}; write(f, &r, sizeof r); wait(&s); return 0; }''',
            condition=lambda pid: tree.child_in_call(pid, 'open') and tree.in_call(pid, 'nanosleep'))
