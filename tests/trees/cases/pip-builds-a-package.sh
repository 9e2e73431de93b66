# truth: healthy
# then: ends
# needs: pip
# if: python3 -c 'import pip'
# about: pip waits for a build backend below it, which takes its time (pip download; PEP 517, in-tree backends)
. "${0%/*}/lib/tree.sh"
mkdir one
printf '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "one"\nversion = "1"\n' >one/pyproject.toml
cat >one/backend.py <<'S'
import os, time
def prepare_metadata_for_build_wheel(folder, settings=None):
    time.sleep(float(os.environ['SECS']))
    os.mkdir(folder + '/one-1.dist-info')
    open(folder + '/one-1.dist-info/METADATA', 'w').write('Metadata-Version: 2.1\nName: one\nVersion: 1\n')
    return 'one-1.dist-info'
def build_wheel(folder, settings=None, metadata=None): raise NotImplementedError
S
python3 -m pip download -q --no-index --no-build-isolation --no-deps --disable-pip-version-check --no-cache-dir -d out ./one >log 2>&1 &
P=$!
sleeps() { below $P python && in_call "$CHILD" nanosleep select; }
await sleeps
ready $P
wait $P
