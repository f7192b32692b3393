// Command jepsen runs real cluster members on hosts whose networks, processes, clocks and
// disks fail. It records all requests and responses of clients, and judges the record.
//
//	go run ./jepsen run --workload all --nemesis all --duration 10m --seed 1
//	go run ./jepsen mutants
//
// The program needs Linux and root; see README.md.
package main

import (
	"os"
)

// Exit codes.
const (
	exitPass    = 0
	exitFail    = 1 // violation, found by a checker
	exitInvalid = 2 // no conclusion: a fault had no effect, or too little happened
	exitCannot  = 3 // no run: missing or invalid requirement
)

func main() { os.Exit(execute()) }
