# truth: healthy
# then: ends 1
# needs: mvn java python3
# about: Maven waits for a repository that says nothing; its transport has a time limit for reads (Maven Wagon, maven.wagon.rto, default 1800000 ms)
. "${0%/*}/lib/tree.sh"
server silent
cat >settings.xml <<W
<settings><localRepository>$D/repo</localRepository><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>http://127.0.0.1:$PORT/</url></mirror></mirrors></settings>
W
cat >pom.xml <<'W'
<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version></project>
W
mvn -q -B -s settings.xml -Dmaven.wagon.rto="${SECS%.*}000" -Dmaven.wagon.http.retryHandler.count=0 compile >out 2>&1 &
P=$!
PORTHEX=$(printf %04X "$PORT")
await sh -c "grep -i '0100007F:[0-9A-F]* [0-9A-F]*0100007F:$PORTHEX 01 ' /proc/net/tcp /proc/net/tcp6"
await in_call $P futex wait
ready $P
wait $P
E=$?
kill $SERVER
exit $E
