# truth: healthy
# then: ends
# needs: git
# about: git rebase runs a slow test after each commit (git-rebase(1), --exec)
. "${0%/*}/lib/tree.sh"
S=${SECS%.*}
export HOME=$D
git config --global user.name a; git config --global user.email a@b
git init -q w; for n in 1 2 3; do echo $n >w/f; git -C w add f; git -C w commit -qm $n; done
git -C w rebase -q --exec "touch $D/begun; sleep $((S+2))" HEAD~2 >out 2>&1 </dev/null &
P=$!
await test -e begun
ready $P
wait $P
