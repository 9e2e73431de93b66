# truth: healthy
# then: ends
# needs: vim
# about: an ex script runs a command, waits for it and ends the editor (vim, -es and :!)
. "${0%/*}/lib/tree.sh"
printf 'silent !sleep $SECS\nqall!\n' >script.vim
show sleep nanosleep vim -u NONE -es -S script.vim
