// Package history writes and reads the record of a run, which the checkers judge. A journal of JSON lines
// lists each operation of each client, each fault and each process. Binary files hold the issued IDs.
// [Journal] writes the journal, and [Writer] the IDs.
//
// All times are from the machine's monotonic clock ([Now]), which no fault affects. A run is a directory:
//
//	history.jsonl      the journal, one [Line] per line
//	ids/LAYOUT.N.bin   [Issued] records of one layout, written by one writer
//	raft/              copies of the members' Raft logs, see package raftlog
//	logs/              output of the processes, one file per start
//	schedule.jsonl     planned faults
package history
