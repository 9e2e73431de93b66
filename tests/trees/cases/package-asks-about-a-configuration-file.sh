# truth: waiting
# verdict: WAITING UNKNOWN
# then: types N\n
# needs: dpkg dpkg-deb root
# about: dpkg asks at the terminal what to do with a changed configuration file (dpkg(1), --force-confold and its default; deb-conffiles(5))
. "${0%/*}/lib/tree.sh"
mkdir -p root/var/lib/dpkg/{info,updates}
touch root/var/lib/dpkg/{status,available}
for v in 1 2; do
    mkdir -p p$v/DEBIAN p$v/etc
    printf 'Package: tree-a\nVersion: %s\nArchitecture: all\nMaintainer: T <t@example.com>\nDescription: a\n' $v >p$v/DEBIAN/control
    echo /etc/tree-a.conf >p$v/DEBIAN/conffiles
    echo "version $v" >p$v/etc/tree-a.conf
    dpkg-deb -b p$v a$v.deb >/dev/null
done
dpkg --root="$D/root" --force-script-chrootless --log=/dev/null -i a1.deb >first 2>&1
echo changed >root/etc/tree-a.conf
export TERM=xterm
exec python3 "$LIB/tree.py" pty --call read -- dpkg --root="$D/root" --force-script-chrootless --log=/dev/null -i a2.deb
