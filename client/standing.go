package client

import (
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
)

// suspicion is the time for which a member that did not answer in time is called only if no other member is available.
const suspicion = 5 * time.Second

// standing holds the client's knowledge of members, except their health, by address.
type standing struct {
	mu       sync.Mutex
	addrs    []string             // addresses in use
	learned  []string             // addresses that members advertise; nil: not known yet
	leader   string               // address; empty if unknown
	suspects map[string]time.Time // end of the suspicion
	calls    map[string]int       // calls in progress
}

func newStanding(seeds []string) *standing {
	return &standing{addrs: seeds, suspects: make(map[string]time.Time), calls: make(map[string]int)}
}

// learn sets the addresses in use, and the advertised ones among them.
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

// known returns the addresses in use.
func (s *standing) known() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addrs
}

// suspect notes that a member did not answer in time.
func (s *standing) suspect(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspects[addr] = time.Now().Add(suspicion)
}

// suspected reports whether a member has recently not answered in time.
func (s *standing) suspected(addr string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	until, ok := s.suspects[addr]
	return ok && time.Now().Before(until)
}

// trust notes that a member has answered.
func (s *standing) trust(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.suspects, addr)
}

// countCall counts a call to a member, and returns the function to run after the call. If the member is suspected, or was and
// has not answered since, the suspicion starts again: no more than one call has to wait if the member still hangs.
func (s *standing) countCall(addr string) (done func(balancer.DoneInfo)) {
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

// objection returns the sum of the objections to a member, and its number of calls in progress.
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
