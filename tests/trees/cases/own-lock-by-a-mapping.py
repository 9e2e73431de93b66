# truth: hung
# cause: lock
# needs: gcc
# about: flock(2), mmap(2): the program locked the file by a descriptor that it has closed, and its own mapping keeps that lock; the second lock of a new descriptor waits for itself.
from lib import native
native.show(r'''int main(void){ close(open("l",O_CREAT|O_RDWR,0600)); truncate("l",4096); int f=open("l",O_RDWR); flock(f,LOCK_EX); mmap(0,4096,3,MAP_SHARED,f,0); close(f); f=open("l",O_RDWR); return flock(f,LOCK_EX);}''','flock')
