# truth: healthy
# then: ends
# needs: pip
# if: python3 -c 'import setuptools, pip'
# about: pip waits for a build backend below it, whose setup takes its time (pip download, --no-build-isolation)
. "${0%/*}/lib/tree.sh"
mkdir one
echo 'import os, time; time.sleep(float(os.environ["SECS"])) if not os.path.exists(os.environ["D"] + "/slept") else None; open(os.environ["D"] + "/slept", "w").close(); import setuptools; setuptools.setup(name="one", version="1")' >one/setup.py
python3 -m pip download -q --no-index --no-build-isolation --no-deps --disable-pip-version-check --no-cache-dir -d out ./one >log 2>&1 &
P=$!
sleeps() { below $P python && in_call "$CHILD" nanosleep select; }
await sleeps
ready $P
wait $P
