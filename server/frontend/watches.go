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
	// maxWatches is the most watches of the health in the process, maxWatchesOf those of one connection. Clients have one or
	// two on each; there are six services. All connections of a token have a quarter at most.
	maxWatches   = 60_000
	maxWatchesOf = 6
	// maxStrangeWatches is the most of connections that have shown no valid token or certificate: anyone may watch.
	maxStrangeWatches = 1000
	// greeting bounds the wait for the verdict on a watcher's token.
	greeting = time.Second
)

// watches counts the watches of the health, apart from the streams of callers.
type watches struct {
	mu           sync.Mutex
	all, strange int
}

// begin takes a place for a watch; after nil, end is called once. A nil connection leads into this process.
func (w *watches) begin(c *apiConn, secured bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	stranger := c != nil && secured && !c.isKnown()
	switch {
	case c != nil && c.watches >= maxWatchesOf:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d watches of the health are open on this connection", maxWatchesOf))
	case w.all >= maxWatches:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d watches of the health are open here; try again later, or try another address", maxWatches))
	case stranger && w.strange >= maxStrangeWatches:
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf("%d watches without a token are open here; send one, or try again later", maxStrangeWatches))
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

// known counts the watches of a connection as those of a caller.
func (w *watches) known(c *apiConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.strange -= c.strange
	c.strange = 0
}

// isHealth reports whether a method is of the health protocol, which takes no token.
func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.v1.Health/") }

// watch takes a place for a watch of the health. A caller may show a token, or a certificate, so as not to be a stranger; one
// that is not valid does no harm.
func (s *Server) watch(ctx context.Context) (end func(), err error) {
	c := connOf(ctx)
	if s.auth != nil && c != nil && !c.isKnown() &&
		(connectionOf(ctx).principal != nil || len(metadata.ValueFromIncomingContext(ctx, "authorization")) > 0) {
		greeted, cancel := context.WithTimeout(ctx, greeting)
		defer cancel()
		if met, err := s.authenticate(greeted); err == nil && !trust.PrincipalOf(met).IsAnonymous() {
			_ = speak(met) // else it watches as a stranger does
		}
	}
	if err := s.watches.begin(c, s.auth != nil); err != nil {
		return nil, err
	}
	return func() { s.watches.end(c) }, nil
}
