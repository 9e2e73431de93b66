# truth: waiting
# verdict: WAITING UNKNOWN
# then: run echo "$D" >/dev/kmsg
# needs: root
# if: python3 -c 'import os; os.open("/dev/kmsg", os.O_RDWR)'
# about: grep reads the kernel's log until a line comes (proc(5), Documentation/ABI/testing/dev-kmsg: a read waits for the next record)
. "${0%/*}/lib/tree.sh"
show . read grep -a -m1 -o -F "$D" /dev/kmsg
