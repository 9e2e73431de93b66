# truth: healthy
# then: ends
# needs: gcc
# about: setpgid(2), POSIX exit(): when a process's end leaves a process group orphaned with a stopped member, the group gets SIGHUP and SIGCONT. The parent in the same session ends later.
from lib import tree, native
import os, sys, subprocess
tree.write('one.c', r'''
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
int main(void){ setsid(); int q[2]; pipe(q);
 if(!fork()){ /* middle */ pid_t k=fork(); if(!k){ setpgid(0,0); close(q[0]); FILE*f=fopen("pid.new","w"); fprintf(f,"%d",getpid()); fclose(f); rename("pid.new","pid"); raise(SIGSTOP); _exit(0);} close(q[0]); close(q[1]); usleep(atof(getenv("SECS"))*1e6); _exit(0);}
 close(q[1]); char c; read(q[0],&c,1); wait(0); return 0;}''')
subprocess.run(['gcc','-w','-o',tree.D+'/one',tree.D+'/one.c'],check=True)
p = subprocess.Popen([tree.D+'/one'],cwd=tree.D)
tree.until(lambda: tree.state(int(open(tree.D+'/pid').read()))=='T')
tree.ready(p.pid); sys.exit(p.wait())
