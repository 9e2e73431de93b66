# Runs a command in an empty root: the system's programs and libraries, read-only, and what was installed, nothing else.
# Started in a mount and a process namespace of its own.
#
# root.sh ROOT INSTALLED PREFIXES COMMAND: PREFIXES is a list of folders, with a colon after each, that interpreters
# outside of /usr need.
set -eu
root=$1 installed=$2 prefixes=$3 command=$4

mount -t tmpfs none "$root"
cd "$root"
mkdir usr proc dev tmp home work opt etc
mount --rbind /usr usr
mount -o remount,bind,ro usr
for name in bin sbin lib lib64; do
    if [ -L "/$name" ]; then cp -P "/$name" "$name"
    elif [ -d "/$name" ]; then mkdir "$name"; mount --rbind "/$name" "$name"
    fi
done
while [ -n "$prefixes" ]; do
    prefix=${prefixes%%:*} prefixes=${prefixes#*:}
    mkdir -p "$root$prefix"
    mount --rbind "$prefix" "$root$prefix"
done
mount -t proc proc proc
mount --rbind /dev dev
mount --bind "$installed" opt
mount -o remount,bind,ro opt
exec chroot "$root" /usr/bin/env -i HOME=/home "PATH=/opt/bin:$5/usr/bin:/bin" LANG=C.UTF-8 \
    timeout --foreground 300 sh -c "cd /work && $command"
