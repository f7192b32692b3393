// Jepsen runs real cluster members on hosts that fail in every way that networks,
// processes, clocks and disks do, writes down all that clients saw, and judges it.
//
//	go run ./jepsen run --workload all --nemesis all --duration 10m --seed 1
//	go run ./jepsen mutants
//
// It needs Linux and root; see README.md.
package main

import (
	"os"
)

// The exit codes.
const (
	exitPass    = 0
	exitFail    = 1 // a checker found a violation
	exitInvalid = 2 // the run shows nothing
	exitCannot  = 3 // no run: something is missing or wrong
)

func main() { os.Exit(execute()) }
