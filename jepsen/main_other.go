//go:build !linux

package main

import (
	"fmt"
	"os"
)

func execute() int {
	_, _ = fmt.Fprintln(os.Stderr, "jepsen: Linux is required: hosts are network namespaces")
	return exitCannot
}
