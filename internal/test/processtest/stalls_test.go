//go:build process || browser || prometheus || redisclients || examples || databases || foreign

package processtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/schedstat"
)

// stalls measures for how long the machine keeps a test waiting. A goroutine of the test wakes too late, or the threads of a
// process are ready and get no processor.
type stalls struct {
	t    *testing.T
	over chan struct{}

	mu     sync.Mutex
	last   map[int]schedstat.Times // keyed by process ID
	late   time.Duration           // since the last point
	points []point                 // ascending
}

// point is the total of all stalls until a time.
type point struct {
	at    time.Time
	total time.Duration
}

// watchStalls measures until the end of the test, or until stop.
func watchStalls(t *testing.T) *stalls {
	t.Helper()
	s := &stalls{t: t, over: make(chan struct{}), last: make(map[int]schedstat.Times)}
	s.read() // not yet shared
	go s.watch()
	return s
}

func (s *stalls) stop() { close(s.over) }

// watch adds the time by which it wakes too late.
func (s *stalls) watch() {
	const beat, beatsPerReading = 10 * time.Millisecond, 10
	for beats := 1; ; beats++ {
		slept := time.Now()
		select {
		case <-s.over:
			return
		case <-s.t.Context().Done():
			return
		case <-time.After(beat):
		}
		late := time.Since(slept) - beat
		s.mu.Lock()
		if late > beat {
			s.late += late
		}
		if beats%beatsPerReading == 0 {
			s.read()
		}
		s.mu.Unlock()
	}
}

// read adds a point. It requires s.mu held.
func (s *stalls) read() {
	next := point{at: time.Now()}
	longest := s.late
	var since time.Duration
	if n := len(s.points); n > 0 {
		next.total, since = s.points[n-1].total, next.at.Sub(s.points[n-1].at)
	}
	for _, pid := range processesOf(s.t) {
		now := schedstat.Of(pid)
		longest = max(longest, schedstat.Stalled(s.last[pid], now, since))
		s.last[pid] = now
	}
	next.total += min(longest, since)
	s.late = 0
	s.points = append(s.points, next)
}

// between returns for how long the test was stalled between two times, in any order.
func (s *stalls) between(from, to time.Time) time.Duration {
	if to.Before(from) {
		from, to = to, from
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.points[len(s.points)-1].at.Before(to) {
		s.read()
	}
	at := func(t time.Time, after int) time.Duration {
		i, found := slices.BinarySearchFunc(s.points, t, func(p point, t time.Time) int { return p.at.Compare(t) })
		if !found {
			i += after - 1
		}
		return s.points[min(max(i, 0), len(s.points)-1)].total
	}
	return at(to, 1) - at(from, 0)
}

// heartbeat is the time after which a follower stands for election. A shorter stall than mostStalled causes no election.
const heartbeat, mostStalled = 500 * time.Millisecond, 200 * time.Millisecond

// elects reports whether the machine stalled between two times for so much of a heartbeat that members may have elected a leader,
// or have found out about a lost one by a timeout.
func (s *stalls) elects(from, to time.Time) bool {
	for ; from.Before(to); from = from.Add(heartbeat / 5) {
		if s.between(from, from.Add(heartbeat)) > mostStalled {
			return true
		}
	}
	return false
}

// steady returns a check that the members have the same leader and term as before, unless the machine stalled.
func steady(t *testing.T, members []*member) (check func()) {
	t.Helper()
	s, began := watchStalls(t), time.Now()
	lead := leader(t, members)
	term := lead.status().GetTerm()
	return func() {
		t.Helper()
		defer s.stop()
		now := leader(t, members)
		if nowTerm := now.status().GetTerm(); (nowTerm != term || now != lead) && !s.elects(began, time.Now()) {
			t.Errorf("%s leads in term %d, and before %s in term %d", now.name, nowTerm, lead.name, term)
		}
	}
}

// running holds the processes of all tests: their IDs, and the tests.
var running struct {
	sync.Mutex
	all map[int]*testing.T
}

// enter registers a running process of a test.
func enter(t *testing.T, pid int) {
	running.Lock()
	defer running.Unlock()
	if running.all == nil {
		running.all = make(map[int]*testing.T)
	}
	running.all[pid] = t
}

func leave(pid int) {
	running.Lock()
	defer running.Unlock()
	delete(running.all, pid)
}

// processesOf returns the running processes of a test, its parents and its subtests, and the processes that these started.
func processesOf(t *testing.T) (all []int) {
	running.Lock()
	defer running.Unlock()
	for pid, of := range running.all {
		if a, b := of.Name()+"/", t.Name()+"/"; strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
			all = append(all, pid)
		}
	}
	parents := parentsOfAll()
	for i := 0; i < len(all); i++ { // all grows
		for pid, parent := range parents {
			if parent == all[i] {
				all = append(all, pid)
			}
		}
	}
	return all
}

// parentsOfAll returns the parent of each process of the machine, by process ID.
func parentsOfAll() map[int]int {
	parents := make(map[int]int)
	paths, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is correct
	for _, path := range paths {
		raw, _ := os.ReadFile(path) // empty for a process that has ended
		// PID (NAME) STATE PARENT ...; the name may have spaces and parentheses.
		rest := string(raw[bytes.LastIndexByte(raw, ')')+1:])
		var pid, parent int
		var state string
		_, err := fmt.Sscan(rest, &state, &parent)
		if err == nil {
			_, err = fmt.Sscan(string(raw), &pid)
		}
		if err == nil {
			parents[pid] = parent
		}
	}
	return parents
}

// scheduled returns the times of a process.
func (p *process) scheduled() schedstat.Times { return schedstat.Of(p.cmd.Process.Pid) }

// TestStallsBetween checks that a stall counts for a time that it overlaps, and for no other.
func TestStallsBetween(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	s := &stalls{points: []point{{at(10), 0}, {at(20), 3}, {at(30), 3}, {at(40), 8}}}
	for _, c := range []struct {
		from, to int64
		want     time.Duration
	}{{10, 40, 8}, {40, 10, 8}, {20, 30, 0}, {21, 29, 0}, {12, 13, 3}, {25, 35, 5}, {5, 9, 0}} {
		if got := s.between(at(c.from), at(c.to)); got != c.want {
			t.Errorf("between(%d, %d) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
