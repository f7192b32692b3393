//go:build process

package processtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/snowraft/snowraft/jepsen/attacks"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The limits of a member's memory during an attack. Without a limit of its own, garbage that a busy machine has not collected yet
// would decide. Resident memory is about 40 MiB at rest. Allocated memory includes untouched pages, and counts beyond the memory
// before the attack.
const (
	ownLimit      = "GOMEMLIMIT=320MiB"
	mostResident  = 400 << 20 // bytes
	mostAllocated = 1 << 30
)

// besieged is a cluster that strangers attack.
type besieged struct {
	members []*member
	known   []attacks.Meta // facts about the members that a stranger knows, in the order of members
	had     []memory       // memory before the attack, in the order of members
}

// besiege starts a cluster with a strict sequence, and collects the facts about its members that strangers can learn.
func besiege(t *testing.T, size int, flags ...string) *besieged {
	t.Helper()
	b := &besieged{members: newCluster(t, size, flags...)}
	b.start(t)
	until(t, "all members gossip", func() bool {
		heard, err := attacks.Overhear(t.Context(), b.members[0].gossip)
		if err != nil {
			return false
		}
		b.known = nil
		for _, m := range b.members {
			for _, h := range heard {
				if h.Name == m.name && h.Cluster != "" {
					b.known = append(b.known, h)
				}
			}
		}
		return len(b.known) == size
	})
	return b
}

// start starts the members, creates the sequence that well uses, and records the memory of the members.
func (b *besieged) start(t *testing.T) {
	t.Helper()
	for _, m := range b.members {
		m.startIn([]string{ownLimit})
	}
	for _, m := range b.members {
		m.untilIssues()
	}
	_, err := leader(t, b.members).numbers.CreateSequence(t.Context(), &snowraftv1.CreateSequenceRequest{Sequence: &snowraftv1.Sequence{Name: "strict"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range b.members {
		b.had = append(b.had, m.memory())
	}
}

// well fails the test unless all members issue IDs and strict numbers, and have used little memory.
func (b *besieged) well(t *testing.T) {
	t.Helper()
	for i, m := range b.members {
		if !m.running() {
			t.Fatalf("%s exited:\n%s", m.name, m.stderr.tail(20))
		}
		if _, err := m.generate("", 1); err != nil {
			t.Errorf("%s issues no IDs: %v", m.name, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
		if _, err := m.numbers.NextNumbers(ctx, &snowraftv1.NextNumbersRequest{Sequence: "strict", Count: 1}); err != nil {
			t.Errorf("%s issues no numbers: %v", m.name, err)
		}
		cancel()
		if has := m.memory(); has.resident > mostResident || has.allocated > b.had[i].allocated+mostAllocated {
			t.Errorf("%s used %d MiB, and allocated %d MiB more", m.name, has.resident>>20, (has.allocated-b.had[i].allocated)>>20)
		}
	}
}

// staysWell calls well repeatedly for d.
func (b *besieged) staysWell(t *testing.T, d time.Duration) {
	t.Helper()
	for began := time.Now(); time.Since(began) < d && !t.Failed(); pass(t, 500*time.Millisecond) {
		b.well(t)
	}
}

// clocksAgree fails the test if a member considers its clock wrong.
func (b *besieged) clocksAgree(t *testing.T) {
	t.Helper()
	for _, m := range b.members {
		if off := m.status().GetClockOffsetMs(); max(off, -off) > time.Minute.Milliseconds() {
			t.Errorf("%s reports its clock as %d ms ahead of the majority's", m.name, off)
		}
	}
}

// made fails the test if an attack could not be made. A member may refuse the attack.
func made(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, attacks.ErrShut) {
		t.Errorf("the attack did not run: %v", err)
	}
}

// memory is the peak memory of a process in bytes; 0 if the system does not report it.
type memory struct{ resident, allocated int }

var (
	peakResident  = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)
	peakAllocated = regexp.MustCompile(`VmPeak:\s+(\d+) kB`)
)

func (m *member) memory() memory {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(m.cmd.Process.Pid), "status"))
	if err != nil {
		return memory{}
	}
	find := func(what *regexp.Regexp) int {
		found := what.FindSubmatch(raw)
		if found == nil {
			return 0
		}
		kilobytes, _ := strconv.Atoi(string(found[1])) // digits
		return kilobytes << 10
	}
	return memory{resident: find(peakResident), allocated: find(peakAllocated)}
}
