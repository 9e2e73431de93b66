# truth: hung
# verdict: HUNG WAITING
# cause: pipe
# culprit: cat
# needs: perl /usr/share/debconf/frontend
# about: a package's script starts a daemon that keeps the pipe to debconf; debconf waits for the pipe's end (debconf-devel(7), db_stop: for a script that starts a daemon)
. "${0%/*}/lib/tree.sh"
mkfifo never
printf 'Name: config\nDriver: File\nFilename: %s/config.dat\n\nName: templates\nDriver: File\nFilename: %s/templates.dat\n' "$D" "$D" >databases
printf 'Config: config\nTemplates: templates\n\n' | cat - databases >debconf.conf
cat >postinst <<'W'
#!/bin/sh -e
. /usr/share/debconf/confmodule
sh -c 'exec 9<>never; exec cat <&9' &
exit 0
W
chmod +x postinst
export DEBCONF_SYSTEMRC=$D/debconf.conf DEBIAN_FRONTEND=noninteractive
/usr/share/debconf/frontend ./postinst >out 2>&1 &
P=$!
await in_call $P read wait
ready $P
wait $P
