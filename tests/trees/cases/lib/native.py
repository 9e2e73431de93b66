"""Cases whose wait is ended by a process outside of the tree that rehang is asked about: see native.c."""
import os
import subprocess
import sys
from lib import tree

CALLS = {'msg': ['msgrcv'], 'mq': ['mq'], 'semop': ['semop'], 'sem': ['futex'], 'netlink': ['recv'], 'uring': ['uring'],
         'pidfd': ['poll'], 'eventfd': ['read'], 'sigwait': ['sigwait'], 'futex': ['futex'], 'fcntl': ['fcntl'],
         'ofd': ['fcntl'], 'lease': ['open']}


def build():
    """Compiles native.c into the case's folder."""
    program = f'{tree.D}/native'
    subprocess.run(['gcc', '-O1', '-w', '-o', program, f'{tree.LIB}/native.c', '-lrt', '-pthread'], check=True)
    return program


def waiting(kind):
    with open(f'{tree.D}/waiter') as f:
        return tree.in_call(int(f.read()), *CALLS[kind])


def waits_for_other(kind):
    """An agent's command waits; the process that ends the wait is a child of the case, not of the agent."""
    program = build()
    poster = subprocess.Popen([program, kind, 'post', tree.D], start_new_session=True)
    do = {'tools': [[program, kind, 'wait', tree.D]], 'end': True}
    waits(kind, tree.agent('claude', '-p', 'go', do=do, stdin=subprocess.DEVNULL) if tree.has_node() else
          subprocess.Popen(do['tools'][0], stdin=subprocess.DEVNULL), poster)


def waits_alone(kind):
    program = build()
    waits(kind, subprocess.Popen(['sh', '-c', '"$0" "$@"; exit', program, kind, 'wait', tree.D], stdin=subprocess.DEVNULL))


def waits(kind, p, poster=None):
    tree.until(waiting, kind)
    tree.ready(p.pid)
    code = p.wait()
    if poster:
        poster.wait()
    sys.exit(code)


def show(source, *calls, condition=None, **options):
    """A case of one C program: ready when it is in one of these calls, or when the condition of its process holds."""
    includes = ('errno.h fcntl.h poll.h pthread.h semaphore.h signal.h stdio.h stdlib.h string.h time.h unistd.h sys/eventfd.h '
                'sys/epoll.h sys/file.h sys/mman.h sys/resource.h sys/prctl.h sys/signalfd.h sys/socket.h sys/sem.h sys/msg.h '
                'sys/syscall.h sys/time.h sys/timerfd.h sys/wait.h sys/inotify.h sys/ioctl.h sys/fanotify.h '
                'linux/futex.h linux/userfaultfd.h').split()
    lines = ['#define _GNU_SOURCE', *(f'#include <{name}>' for name in includes),
             'static double secs(void) { return atof(getenv("SECS")); }',
             'static void nap(void) { usleep((useconds_t)(secs() * 1e6)); }',
             'static struct itimerspec after(void) { struct itimerspec t = {{0, 0}, {secs(), 1}}; return t; }', source]
    path = tree.write('one.c', '\n'.join(lines))
    subprocess.run(['gcc', '-O1', '-w', '-o', f'{tree.D}/one', path, '-lrt', '-pthread'], check=True)
    tree.show([f'{tree.D}/one'], condition or (lambda pid: tree.in_call(pid, *calls)), **options)
