# truth: healthy
# then: ends 8
# needs: ctest
# about: a test opens a FIFO that nobody writes to; ctest ends it after the test's limit (ctest(1); the property TIMEOUT, default 1500 s)
. "${0%/*}/lib/tree.sh"
mkfifo hold
printf 'add_test(one sh -c "read x <%s/hold")\nset_tests_properties(one PROPERTIES TIMEOUT %s)\n' "$D" "$SECS" >CTestTestfile.cmake
ctest >log 2>&1 &
P=$!
await waits_below $P sh open
ready $P
wait $P
