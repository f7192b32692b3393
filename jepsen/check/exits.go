package check

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// exitKilled is how a process ends that the harness kills.
	exitKilled = "signal: killed"
	// exitRefused is how one ends that refuses to go on, with an error that says why.
	exitRefused = "exit status 1"

	familyDisk = "disk"
	// damageShows is how long after a fault of its disk a member may find out.
	damageShows = recovery
)

// stuckTransfer is what a leader says that ends itself since its Raft is stuck: hashicorp/raft 1.7.3 takes no
// more requests after too many transfers of leadership that failed, see errStuckTransfer in package cluster.
const stuckTransfer = "a failed leadership transfer blocks Raft"

// expectedExits are how processes may end: killed, with an error, gracefully, and asked to end
// before they listened to that.
var expectedExits = []string{exitKilled, exitRefused, "exit status 0", "signal: terminated"}

// Exits fails if a process ended in a way that no program should, whatever happens to it:
// with a panic, or a fault of memory. It also fails if a founder refused to go on though nothing
// had happened to its disk: networks, clocks and other members are no reason. There is one exception,
// see stuckTransfer.
func Exits(r *Run) Verdict {
	v := newVerdict("exits")
	ended := int64(0)
	for _, p := range r.Processes {
		if p.Generator && !strings.HasPrefix(p.Exit, "exit ") && !strings.HasPrefix(p.Exit, "signal") {
			continue // one within the harness's own process
		}
		if p.Exit == "" {
			continue
		}
		ended++
		if !slices.Contains(expectedExits, p.Exit) {
			v.fail("%s ended with %q at %s, see its log", r.process(p.Start), p.Exit, r.clock(p.To))
		}
		if p.Exit != exitRefused || !slices.Contains(r.Header.Members, p.Member) || r.diskFailed(p) {
			continue
		}
		switch stuck, err := r.said(p, stuckTransfer); {
		case err != nil:
			v.invalid("why %s refused to go on at %s is not known: %v", r.process(p.Start), r.clock(p.To), err)
		case stuck:
			v.Facts["stuck_transfers"]++
		default:
			v.fail("%s refused to go on at %s, and no fault had hit its disk, see its log", r.process(p.Start), r.clock(p.To))
		}
	}
	v.Facts["ended"] = ended
	v.Summary = fmt.Sprintf("%d processes ended, %d of them in a way that none should", ended, v.Facts[factFailures])
	return *v
}

// diskFailed reports whether a fault had hit the disk of a process before it ended.
func (r *Run) diskFailed(p ProcessSpan) bool {
	return slices.ContainsFunc(r.Faults, func(f FaultSpan) bool {
		return f.Family == familyDisk && slices.Contains(f.Hosts, p.Member) && f.From <= p.To && p.To-damageShows <= f.To
	})
}

// said reports whether a member's process wrote something into its log.
func (r *Run) said(p ProcessSpan, words string) (bool, error) {
	raw, err := os.ReadFile(filepath.Join(r.Dir, "logs", fmt.Sprintf("%s.%d.log", p.Member, p.Start)))
	return bytes.Contains(raw, []byte(words)), err
}
