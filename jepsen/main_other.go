//go:build !linux

package main

import (
	"fmt"
	"os"
)

func execute() int {
	_, _ = fmt.Fprintln(os.Stderr, "jepsen: it needs Linux: its hosts are network namespaces")
	return exitCannot
}
