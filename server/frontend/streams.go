package frontend

import (
	"fmt"
	"sync"

	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// maxStreams is the most streams of the process over gRPC, without watches of the health.
	maxStreams = 50_000
	// maxStreamsOf is the most of them of one token, so that a caller leaves some for others.
	maxStreamsOf = maxStreams / 4
)

// streams counts the open streams of callers, without watches of the health.
type streams struct {
	mu      sync.Mutex
	all     int
	ofToken map[uint64]int
}

// begin takes a place for a stream of a token's; 0: of a caller without one, who has no share. After nil, end is called once.
func (s *streams) begin(token uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all >= maxStreams:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d streams are open here; try again later, or try another address", maxStreams))
	case token != 0 && s.ofToken[token] >= maxStreamsOf:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d streams with token %d are open here; end some, try another address, or use another token", maxStreamsOf, token))
	}
	s.all++
	if token != 0 {
		if s.ofToken == nil {
			s.ofToken = map[uint64]int{}
		}
		s.ofToken[token]++
	}
	return nil
}

func (s *streams) end(token uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if token == 0 {
		return
	}
	if s.ofToken[token]--; s.ofToken[token] == 0 {
		delete(s.ofToken, token)
	}
}
