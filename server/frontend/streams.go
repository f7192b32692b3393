package frontend

import (
	"fmt"
	"sync"

	"github.com/snowraft/snowraft/internal/rpc"
)

const (
	// maxStreams is the largest number of gRPC streams of the process, without health watches.
	maxStreams = 50_000
	// maxStreamsOf is the largest number of gRPC streams of one token, so that a caller leaves some for other callers.
	maxStreamsOf = maxStreams / 4
)

// streams counts the open streams of callers, without health watches.
type streams struct {
	mu      sync.Mutex
	all     int
	ofToken map[uint64]int
}

// begin takes a place for a stream of a token. Token 0 stands for a caller without a token, which has no share. After a nil
// error, end must be called once.
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
