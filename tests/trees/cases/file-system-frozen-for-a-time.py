# truth: healthy
# then: ends
# needs: root losetup mkfs.ext4 fsfreeze /dev/loop-control
# if: losetup -f
# about: a command writes to a file system that a backup has frozen for a time, outside of the tree (fsfreeze(8), ioctl FIFREEZE)
import os, subprocess
from lib import tree, more
os.chdir(tree.D)
m = f'{tree.D}/mount'; os.mkdir(m)
run = lambda *words: subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
tree.write('cleanup', f'fsfreeze -u {m} 2>/dev/null; for i in $(seq 50); do mountpoint -q {m} || break; umount -l {m}; sleep .1; done; true\n')
run('truncate', '-s', '16M', 'image'); run('mkfs.ext4', '-q', 'image'); run('mount', '-o', 'loop', 'image', m); run('fsfreeze', '-f', m)
more.foreign("import subprocess, os, time; time.sleep(float(os.environ[\"SECS\"])); subprocess.run([\"fsfreeze\", \"-u\", \"%s\"])" % m)
tree.show(['sh', '-c', f'echo x >{m}/file; exit'], lambda pid: tree.state(pid) == 'D' or any(tree.state(c) == 'D' for c in tree.children(pid)), cwd='/')
