# truth: healthy
# then: ends
# needs: emacs
# about: a batch of Emacs waits for the output of its asynchronous process (Emacs Lisp, accept-process-output)
. "${0%/*}/lib/tree.sh"
echo '(let ((p (start-process "p" nil "sh" "-c" "sleep $SECS; echo done"))) (while (process-live-p p) (accept-process-output p)))' >a.el
show sleep nanosleep emacs -Q --batch -l a.el
