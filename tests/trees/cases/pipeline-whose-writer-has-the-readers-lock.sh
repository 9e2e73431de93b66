# truth: hung
# cause: lock
# about: a pipeline's writer has a lock and waits in the full pipe; its reader waits for that lock before it reads (flock(1); pipe(7), pipe capacity)
. "${0%/*}/lib/tree.sh"
cat >job.sh <<'S'
{ flock 9; touch has; seq 200000; } 9>lock | { until [ -e has ]; do sleep .1; done; flock 9; wc -l; } 9>lock
S
show flock flock bash job.sh
