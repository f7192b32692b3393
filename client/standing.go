package client

import (
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
)

// suspicion is the time for which a member that did not answer in time is asked only if no other is there.
const suspicion = 5 * time.Second

// standing holds the facts about members other than their health, by their addresses.
type standing struct {
	mu       sync.Mutex
	addrs    []string             // to which there are or should be connections
	learned  []string             // those that members advertise; nil: nothing was learned yet
	leader   string               // its address; empty: unknown
	suspects map[string]time.Time // until when
	calls    map[string]int       // in progress
}

func newStanding(seeds []string) *standing {
	return &standing{addrs: seeds, suspects: make(map[string]time.Time), calls: make(map[string]int)}
}

// learn sets the addresses in use, and those of them that members advertise.
func (s *standing) learn(addrs, learned []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addrs, s.learned = addrs, learned
	maps.DeleteFunc(s.suspects, func(a string, _ time.Time) bool { return !slices.Contains(addrs, a) })
}

// led sets the leader's address; empty if unknown.
func (s *standing) led(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leader = addr
}

// leads reports whether an address is the leader's.
func (s *standing) leads(addr string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return addr == s.leader
}

// known are the addresses in use.
func (s *standing) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addrs
}

// suspect says that a member did not answer in time.
func (s *standing) suspect(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspects[addr] = time.Now().Add(suspicion)
}

// suspected reports whether a member did not answer in time lately.
func (s *standing) suspected(addr string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.suspects[addr]
	return ok && time.Now().Before(until)
}

// trust says that a member has answered.
func (s *standing) trust(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.suspects, addr)
}

// take says that a member is going to be asked, and returns what to call when it was. Of one whose suspicion has just ended, this is the
// only call until it answers, so that no more than one has to wait if it still hangs.
func (s *standing) take(addr string) (done func(balancer.DoneInfo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[addr]++
	if _, ok := s.suspects[addr]; ok {
		s.suspects[addr] = time.Now().Add(suspicion)
	}
	return func(balancer.DoneInfo) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls[addr]--; s.calls[addr] == 0 {
			delete(s.calls, addr)
		}
	}
}

// objection is what speaks against a member, and how many calls it has.
func (s *standing) objection(addr string) (objection, calls int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.learned != nil && !slices.Contains(s.learned, addr) {
		objection += unlearned
	}
	if until, ok := s.suspects[addr]; ok && time.Now().Before(until) {
		objection += suspected
	}
	return objection, s.calls[addr]
}
