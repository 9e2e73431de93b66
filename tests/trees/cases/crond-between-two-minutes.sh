# truth: healthy
# then: moves
# needs: busybox root
# if: busybox --list | grep -qx crond
# about: cron sleeps to the next minute of its table (crond, -f)
. "${0%/*}/lib/tree.sh"
mkdir tabs && echo '* * * * * true' >tabs/root
show . nanosleep busybox crond -f -c "$D/tabs" -L log
