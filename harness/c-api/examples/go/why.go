// Says why a process does not move, as JSON: go run why.go PID, with CGO_CFLAGS and CGO_LDFLAGS as docs/embed.md has them.
package main

// #cgo LDFLAGS: -lrehang_c
// #include <rehang.h>
import "C"

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	pid, _ := strconv.Atoi(os.Args[1])
	text := C.rehang_why(C.int32_t(pid), nil)
	defer C.rehang_free(text)
	fmt.Println(C.GoString(text))
}
