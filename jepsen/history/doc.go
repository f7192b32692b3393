// Package history is what a run leaves behind for the checkers: a journal of JSON lines,
// in which each operation of each client, each fault and each process stands, and binary
// files with the IDs that were issued.
//
// All times are of one clock, the machine's monotonic one ([Now]), which no fault
// touches. A run is a directory:
//
//	history.jsonl      one [Line] each
//	ids/LAYOUT.N.bin   [Issued] records, of one layout, written by one writer
//	raft/              what was read from the members' logs, see package raftlog
//	logs/              what the processes wrote, one file for each start
//	schedule.jsonl     the faults that were planned
package history
