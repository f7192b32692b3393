package frontend

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

const (
	// maxWatches is the largest number of health watches in the process, and maxWatchesOf that of one connection: one for each
	// service of the API, and one for the process as a whole. All connections of one token together have at most a quarter of
	// maxWatches.
	maxWatches   = 90_000
	maxWatchesOf = 9
	// maxStrangeWatches is the largest number of watches on connections without a valid token or certificate: anyone may
	// watch.
	maxStrangeWatches = 1000
	// greeting bounds the time for authenticating a watcher.
	greeting = time.Second
)

// watches counts the health watches, apart from the streams of callers.
type watches struct {
	mu           sync.Mutex
	all, strange int
}

// begin takes a place for a watch. After a nil error, end must be called once. A call inside the process has a nil
// connection.
func (w *watches) begin(c *apiConn, secured bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	stranger := c != nil && secured && !c.isKnown()
	switch {
	case c != nil && c.watches >= maxWatchesOf:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d health watches are open on this connection; end some", maxWatchesOf))
	case w.all >= maxWatches:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d health watches are open here; try again later, or try another address", maxWatches))
	case stranger && w.strange >= maxStrangeWatches:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d health watches without a token are open here; send a token, or try again later", maxStrangeWatches))
	}
	w.all++
	if c != nil {
		c.watches++
	}
	if stranger {
		c.strange++
		w.strange++
	}
	return nil
}

func (w *watches) end(c *apiConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all--
	if c == nil {
		return
	}
	c.watches--
	if c.strange > 0 {
		c.strange--
		w.strange--
	}
}

// known counts the watches of a connection as those of a known caller.
func (w *watches) known(c *apiConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.strange -= c.strange
	c.strange = 0
}

// isHealth reports whether a method belongs to the health protocol, which needs no token.
func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// watch takes a place for a health watch. A caller may present a token or a certificate to be counted as known. An invalid
// token or certificate is ignored.
func (s *Server) watch(ctx context.Context) (end func(), err error) {
	c := connOf(ctx)
	if s.auth != nil && c != nil && !c.isKnown() &&
		(connectionOf(ctx).principal != nil || len(metadata.ValueFromIncomingContext(ctx, "authorization")) > 0) {
		greeted, cancel := context.WithTimeout(ctx, greeting)
		defer cancel()
		if met, err := s.authenticate(greeted); err == nil && !trust.PrincipalOf(met).IsAnonymous() {
			_ = s.speak(met) // otherwise the caller watches as a stranger
		}
	}
	if err := s.watches.begin(c, s.auth != nil); err != nil {
		return nil, err
	}
	return func() { s.watches.end(c) }, nil
}
