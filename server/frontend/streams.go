package frontend

import (
	"fmt"
	"math"
	"sync"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

const (
	// maxStreams is the largest number of gRPC streams of the process, without health watches.
	maxStreams = 50_000
	// maxStreamsOf is the largest number of gRPC streams of one token, and of all anonymous callers, so that callers leave some
	// for others.
	maxStreamsOf = maxStreams / 4
)

// anonymousStreams stands for the token that anonymous callers do not have.
const anonymousStreams = math.MaxUint64

// streamsOf returns the token whose share of the streams a caller uses; 0 for members, administrators and callers in an open
// cluster, who have no share.
func streamsOf(p *trust.Principal) uint64 {
	if p.IsAnonymous() {
		return anonymousStreams
	}
	return p.TokenID()
}

// streams counts the open streams of callers, without health watches.
type streams struct {
	mu      sync.Mutex
	all     int
	ofToken map[uint64]int
}

// begin takes a place for a stream of a token, see streamsOf. After a nil error, end must be called once.
func (s *streams) begin(token uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all >= maxStreams:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d streams are open here; try again later, or try another address", maxStreams))
	case token == anonymousStreams && s.ofToken[token] >= maxStreamsOf:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d streams of callers without a token are open here; use a token", maxStreamsOf))
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
