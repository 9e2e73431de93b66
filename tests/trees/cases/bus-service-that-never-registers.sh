# truth: healthy
# then: ends 1
# needs: dbus-daemon dbus-send
# about: dbus-daemon(1): service_start_timeout ends an activation whose program does not take its name; the caller has a reply limit of a day, and gets the error TimedOut from the daemon.
. "${0%/*}/lib/tree.sh"
cat >bus.conf <<C
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=$D/bus</listen><servicedir>$D</servicedir>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
<limit name="service_start_timeout">$(( ${SECS%.*} * 1000 ))</limit></busconfig>
C
printf '[D-BUS Service]\nName=org.slow.One\nExec=/bin/sh -c "sleep 100000"\n' >org.slow.One.service
dbus-daemon --config-file=bus.conf --nofork --nosyslog 2>bus.log &
B=$!
await test -S bus
DBUS_SESSION_BUS_ADDRESS=unix:path=$D/bus dbus-send --session --print-reply --reply-timeout=86400000 --dest=org.slow.One / org.slow.One.Get &
P=$!
await in_call $P poll
ready $P
wait $P; r=$?
kill $B; wait $B; exit $r
