package frontend

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/internal/places"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// seat is the place of a connection to the API or HTTP port. It implements [places.Idler].
type seat struct {
	place    *places.Place // nil without a limit
	began    time.Time
	requests atomic.Int64 // requests in progress
	last     atomic.Int64 // end of the last request, in ns since began
	noted    atomic.Bool  // the caller of an HTTP connection is in the uses
}

// sit returns the seat of a newly accepted connection.
func sit(c net.Conn) *seat { return &seat{began: time.Now(), place: places.Of(c)} }

// enter begins a request, and leave ends it. Refused requests do not count, so that callers with a revoked token do not keep
// a connection busy. A call inside the process has a nil seat.
func (s *seat) enter() {
	if s != nil {
		s.requests.Add(1)
	}
}

func (s *seat) leave() {
	if s != nil {
		s.last.Store(int64(time.Since(s.began)))
		s.requests.Add(-1)
	}
}

// Idle implements places.Idler.
func (s *seat) Idle() time.Duration {
	if s.requests.Load() > 0 {
		return 0
	}
	return time.Since(s.began) - time.Duration(s.last.Load())
}

// keep keeps the place for an authorized caller. The connections of each token have a limited share of the places. The
// connections of members and administrators never make way.
func (s *seat) keep(p *trust.Principal) error {
	if s == nil || s.place == nil {
		return nil
	}
	var idler places.Idler
	if !p.IsMember() && !p.IsAdmin() {
		idler = s
		if s.requests.Load() == 0 { // otherwise leave sets it
			s.last.Store(int64(time.Since(s.began)))
		}
	}
	if !s.place.Serve(p.TokenID(), idler) {
		return rpc.NewError(rpc.Overloaded, fmt.Sprintf(
			"token %d has a quarter of this port's connections; close some, try another member, or use another token", p.TokenID()))
	}
	return nil
}

type seatKey struct{}

// withSeat returns the context of a connection with its seat, for the connection's HTTP requests.
func withSeat(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, seatKey{}, sit(c))
}

func seatOf(ctx context.Context) *seat {
	s, _ := ctx.Value(seatKey{}).(*seat)
	return s
}

// once begins a request on a connection that has one request at a time, unless the request has already begun.
func (s *seat) once() {
	if s != nil {
		s.requests.Store(1)
	}
}

// seated tracks the requests of connections. In an open cluster, where every caller is authorized, it also begins them; in a
// secured cluster byRequest does.
func (s *Server) seated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := seatOf(r.Context())
		defer func() {
			if at != nil && at.requests.Load() > 0 {
				at.leave()
			}
		}()
		if s.auth == nil {
			at.once()
			_ = at.keep(trust.Open()) // has no share
		}
		next.ServeHTTP(w, r)
	})
}
