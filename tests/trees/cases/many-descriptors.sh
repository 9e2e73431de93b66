# truth: healthy
# then: ends
# about: ten processes with five thousand descriptors each: a look takes time, and nothing hangs
. "${0%/*}/lib/tree.sh"
bash -c 'for n in $(seq 10); do n=$n python3 -S -c "import os, resource, time; resource.setrlimit(7, (resource.getrlimit(7)[1],) * 2); r, w = os.pipe(); [os.dup(r) for _ in range(5000)]; open(\"full.\" + os.environ[\"n\"], \"w\").close(); time.sleep(float(os.environ[\"SECS\"]))" & done; wait' &
P=$!
all() { for n in $(seq 10); do [ -e "full.$n" ] || return 1; done; }
await all
ready $P
wait $P
