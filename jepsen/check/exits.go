package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// exitKilled is the exit status of a process that the harness kills.
	exitKilled = "signal: killed"
	// exitRefused is the exit status of a process that halts with an error.
	exitRefused = "exit status 1"
	// exitRemoved is the exit status of a member that was removed from its cluster.
	exitRemoved = "exit status 10"

	familyDisk = "disk"
	// damageShows is the time after a fault of a disk within which the member may halt because of it.
	damageShows = recovery
)

// stuckTransfer is part of the error of a leader that halts because its Raft is stuck. hashicorp/raft 1.7.3 takes no more
// requests after too many failed transfers of leadership, see errStuckTransfer in package cluster.
const stuckTransfer = "a failed leadership transfer blocks Raft"

// slowShutdown is the beginning of the error of a member that received SIGTERM and did not stop within the limit of real time, of which
// the machine must have kept a member from a processor for at least slowBy.
const (
	slowShutdown  = "the shutdown was not complete after"
	shutdownTakes = int64(10 * time.Second)
	slowBy        = int64(time.Second)
)

// expectedExits are the valid exit statuses: killed, halted with an error, removed, shut down gracefully, and terminated
// before the process handled signals.
var expectedExits = []string{exitKilled, exitRefused, exitRemoved, "exit status 0", "signal: terminated"}

// expectedOfWrappers are further exit statuses of "worker run": the lease ended the command, or SIGKILL or SIGTERM did.
var expectedOfWrappers = []string{"exit status 75", "exit status 137", "exit status 143"}

// Exits fails if a process exited with a panic, a memory fault or another unexpected status. It also fails if a founder
// halted without a fault of its disk: networks, clocks and other members are not valid reasons. The only exceptions are a
// stuck transfer of leadership, see stuckTransfer, and a slow shutdown on a busy machine, see slowShutdown.
func Exits(r *Run) Verdict {
	v := newVerdict("exits")
	ended := int64(0)
	for _, p := range r.Processes {
		if p.Generator && !strings.HasPrefix(p.Exit, "exit ") && !strings.HasPrefix(p.Exit, "signal") {
			continue // generator within the harness's process
		}
		if p.Exit == "" {
			continue
		}
		ended++
		if !slices.Contains(expectedExits, p.Exit) && !(p.Generator && slices.Contains(expectedOfWrappers, p.Exit)) {
			v.fail("%s exited with %q at %s; see its log", r.process(p.Start), p.Exit, r.clock(p.To))
		}
		if p.Exit != exitRefused && p.Exit != exitRemoved || !slices.Contains(r.Header.Members, p.Member) || r.diskFailed(p) {
			continue
		}
		log, err := r.log(p)
		switch says := func(words string) bool { return bytes.Contains(log, []byte(words)) }; {
		case err != nil:
			v.invalid("%s halted at %s for an unknown reason: %v", r.process(p.Start), r.clock(p.To), err)
		case says(stuckTransfer):
			v.Facts["stuck_transfers"]++
		case says(slowShutdown) && r.stalled(p.To-shutdownTakes, p.To) >= slowBy:
			v.Facts["slow_shutdowns"]++
		default:
			v.fail("%s halted at %s without a fault of its disk; see its log", r.process(p.Start), r.clock(p.To))
		}
	}
	v.Facts["ended"] = ended
	v.Summary = fmt.Sprintf("%d processes exited, %d of them for an invalid reason", ended, v.Facts[factFailures])
	return *v
}

// diskFailed reports whether a fault affected the disk of a process at most damageShows before the process exited.
func (r *Run) diskFailed(p ProcessSpan) bool {
	return slices.ContainsFunc(r.Faults, func(f FaultSpan) bool {
		return f.Family == familyDisk && slices.Contains(f.Hosts, p.Member) && f.From <= p.To && p.To-damageShows <= f.To
	})
}

// log returns the log of a member's process.
func (r *Run) log(p ProcessSpan) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.Dir, "logs", fmt.Sprintf("%s.%d.log", p.Member, p.Start)))
}
