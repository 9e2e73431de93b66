/* A process that waits by one of the kernel's means, and the one that ends the wait: `native KIND wait|post FOLDER`. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }
static void must(long result, const char *what) { if (result < 0) { perror(what); exit(97); } }

/* Writes the process's number into a file of the folder. */
static void tell(const char *name) {
  char made[80];
  snprintf(made, sizeof made, "%s.new", name);
  FILE *f = fopen(made, "w");
  fprintf(f, "%d", getpid());
  fclose(f);
  rename(made, name);
}
static int number(const char *name) {
  FILE *f;
  int n = 0;
  while (!(f = fopen(name, "r"))) usleep(20000);
  if (fscanf(f, "%d", &n) != 1) exit(97);
  fclose(f);
  return n;
}
/* What removes an object of the kernel's that outlives its processes, for the runner. */
static void clean(const char *command, const char *of, long id) {
  FILE *f = fopen("cleanup", "w");
  fprintf(f, command, of, id);
  fclose(f);
}
static void sleep_for(void) { usleep((useconds_t)(atof(getenv("SECS")) * 1e6)); }

int main(int count, char **words) {
  (void)count;
  const char *kind = words[1];
  int posts = is(words[2], "post");
  must(chdir(words[3]), "chdir");
  if (posts) tell("poster"); else tell("waiter");
  if (is(kind, "msg")) {
    int queue = msgget(ftok(".", 1), IPC_CREAT | 0600);
    struct { long type; char text[8]; } message = {1, ""};
    must(queue, "msgget");
    clean("ipcrm %s %ld 2>/dev/null", "-q", queue);
    if (posts) { sleep_for(); must(msgsnd(queue, &message, 8, 0), "msgsnd"); }
    else { must(msgrcv(queue, &message, 8, 1, 0), "msgrcv"); msgctl(queue, IPC_RMID, 0); }
  } else if (is(kind, "semop")) {
    int set = semget(ftok(".", 2), 1, IPC_CREAT | 0600);
    struct sembuf change = {0, posts ? 1 : -1, 0};
    must(set, "semget");
    clean("ipcrm %s %ld 2>/dev/null", "-s", set);
    if (posts) sleep_for();
    must(semop(set, &change, 1), "semop");
    if (!posts) semctl(set, 0, IPC_RMID);
  } else if (is(kind, "mq") || is(kind, "sem")) {
    char name[200], text[8192];
    snprintf(name, sizeof name, "/%s", strrchr(words[3], '/') + 1);
    if (is(kind, "mq")) {
      mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600, NULL);
      must(queue, "mq_open");
      clean("python3 -c 'import ctypes; ctypes.CDLL(\"librt.so.1\").mq_unlink(b\"%s\")' #%ld", name, 0);
      if (posts) { sleep_for(); must(mq_send(queue, "x", 1, 0), "mq_send"); mq_unlink(name); }
      else must(mq_receive(queue, text, sizeof text, NULL), "mq_receive");
    } else {
      sem_t *semaphore = sem_open(name, O_CREAT, 0600, 0);
      if (semaphore == SEM_FAILED) must(-1, "sem_open");
      clean("rm -f /dev/shm/sem.%s #%ld", name + 1, 0);
      if (posts) { sleep_for(); sem_post(semaphore); sem_unlink(name); } else must(sem_wait(semaphore), "sem_wait");
    }
  } else if (is(kind, "netlink")) {
    char text[8192];
    int s = socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
    struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
    must(s, "socket");
    must(bind(s, (void *)&address, sizeof address), "bind");
    must(recv(s, text, sizeof text, 0), "recv");
  } else if (is(kind, "uring")) {
    must(mkfifo("queue", 0600) < 0 && errno != EEXIST ? -1 : 0, "mkfifo");
    int fd = open("queue", O_RDWR);
    must(fd, "open");
    if (posts) { sleep_for(); must(write(fd, "x", 1), "write"); usleep(500000); return 0; }
    struct io_uring_params p = {0};
    int ring = syscall(SYS_io_uring_setup, 4, &p);
    must(ring, "io_uring_setup");
    char *sq = mmap(0, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entry = mmap(0, p.sq_entries * sizeof *entry, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    memset(entry, 0, sizeof *entry);
    entry->opcode = IORING_OP_POLL_ADD;
    entry->fd = fd;
    entry->poll32_events = POLLIN;
    ((unsigned *)(sq + p.sq_off.array))[0] = 0;
    ++*(unsigned *)(sq + p.sq_off.tail);
    must(syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0), "io_uring_enter");
  } else if (is(kind, "pidfd")) {
    if (posts) { sleep_for(); return 0; }
    struct pollfd handle = {syscall(SYS_pidfd_open, number("poster"), 0), POLLIN, 0};
    must(handle.fd, "pidfd_open");
    must(poll(&handle, 1, -1), "poll");
  } else if (is(kind, "eventfd")) {
    uint64_t value = 1;
    if (posts) {
      int handle = syscall(SYS_pidfd_open, number("waiter"), 0), theirs = number("descriptor");
      int fd = syscall(SYS_pidfd_getfd, handle, theirs, 0);
      must(fd, "pidfd_getfd");
      tell("got");
      sleep_for();
      must(write(fd, &value, 8), "write");
      return 0;
    }
    int fd = eventfd(0, 0);
    FILE *f = fopen("descriptor.new", "w");
    fprintf(f, "%d", fd);
    fclose(f);
    rename("descriptor.new", "descriptor");
    number("got");
    must(read(fd, &value, 8), "read");
  } else if (is(kind, "sigwait")) {
    sigset_t set;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (posts) { int other = number("blocked"); sleep_for(); must(kill(other, SIGUSR1), "kill"); return 0; }
    sigprocmask(SIG_BLOCK, &set, 0);
    tell("blocked");
    sigwait(&set, &got);
  } else if (is(kind, "futex")) {
    int fd = open("word", O_RDWR | O_CREAT, 0600);
    must(ftruncate(fd, 4096), "ftruncate");
    int *word = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (posts) { sleep_for(); *word = 1; syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0); }
    else while (*(volatile int *)word == 0) syscall(SYS_futex, word, FUTEX_WAIT, 0, 0, 0, 0);
  } else if (is(kind, "fcntl") || is(kind, "ofd")) {
    int fd = open("locked", O_RDWR | O_CREAT, 0600), ofd = is(kind, "ofd");
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};
    if (!posts) number("holds");
    must(fcntl(fd, ofd ? F_OFD_SETLKW : F_SETLKW, &lock), "fcntl");
    if (posts) { tell("holds"); sleep_for(); }
  } else if (is(kind, "lease")) {
    int fd = open("leased", O_RDWR | O_CREAT, 0600), got;
    if (!posts) { close(fd); number("holds"); must(open("leased", O_RDWR), "open"); return 0; }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGIO);
    sigprocmask(SIG_BLOCK, &set, 0);
    must(fcntl(fd, F_SETLEASE, F_WRLCK), "F_SETLEASE");
    tell("holds");
    sigwait(&set, &got);
    sleep_for();
    must(fcntl(fd, F_SETLEASE, F_UNLCK), "F_SETLEASE");
  } else return 2;
  return 0;
}
