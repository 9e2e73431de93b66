# truth: healthy
# then: ends
# needs: supervisord
# about: supervisord in the foreground runs a program, whose end lets a second one stop the supervisor (supervisord(1), nodaemon; autorestart=false)
. "${0%/*}/lib/tree.sh"
cat >c.ini <<S
[supervisord]
nodaemon=true
pidfile=$D/pid
logfile=$D/log
[program:a]
command=bash -c 'sleep $SECS; kill -TERM \$PPID; sleep 1'
autorestart=false
startsecs=0
S
env -u PYTHONHOME supervisord -c c.ini >out 2>&1 &
P=$!
await waits_below $P sleep nanosleep
ready $P
wait $P
