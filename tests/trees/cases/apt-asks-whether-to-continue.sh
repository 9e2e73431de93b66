# truth: hung
# cause: stdin|pipe|input
# culprit: apt
# needs: root node apt-get dpkg
# if: dpkg -s pv
# about: an agent's tool removes a package with a pipe as stdin that it keeps open: "Do you want to continue? [Y/n]" (apt-get(8), -y)
. "${0%/*}/lib/tree.sh"
# even a `yes` would remove nothing: what runs before it fails
tool "apt-get -o Debug::NoLocking=1 -o DPkg::Pre-Invoke::=false remove pv | tee out" pipe &
A=$!
await waits_below $A apt-get read
ready $A
wait $A
