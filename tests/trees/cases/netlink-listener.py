# truth: waiting
# verdict: UNKNOWN WAITING
# then: run kill $(cat $D/waiter)
# needs: gcc
# about: a command waits for the kernel's next event of a device (netlink(7), NETLINK_KOBJECT_UEVENT)
from lib import tree, native
native.waits_alone('netlink')
