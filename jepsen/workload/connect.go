//go:build linux

package workload

import (
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/lab"

	product "github.com/snowraft/snowraft/client"
)

// stubs holds clients of one service, one per member, each with its own connection.
type stubs[T any] struct {
	of    map[*lab.Member]T
	conns []*grpc.ClientConn
}

// connect returns stubs, which connect to a member at the first call.
func connect[T any](w *World, stub func(grpc.ClientConnInterface) T) (*stubs[T], error) {
	s := &stubs[T]{of: make(map[*lab.Member]T)}
	for _, m := range w.Lab.Members {
		conn, err := w.Lab.Connect(m)
		if err != nil {
			s.close()
			return nil, err
		}
		s.conns = append(s.conns, conn)
		s.of[m] = stub(conn)
	}
	return s, nil
}

func (s *stubs[T]) close() {
	for _, conn := range s.conns {
		_ = conn.Close() // nothing is in progress
	}
}

// product returns the product's own client of the cluster. The client chooses the member of
// each request, so its operations name no member.
func (w *World) product() (*product.Client, error) {
	return product.New(w.addresses(), append(authorized(w.Lab.Token()), product.WithTimeout(callTimeout),
		product.WithDialOptions(grpc.WithContextDialer(w.Lab.Dial)))...)
}

// authorized returns the options of a client with the token; none if the token is empty.
func authorized(token string) []product.Option {
	if token == "" {
		return nil
	}
	return []product.Option{product.WithToken(token)}
}

// addresses returns the API addresses of the founders.
func (w *World) addresses() []string {
	var all []string
	for _, m := range w.Lab.Founders() {
		all = append(all, m.Address(lab.PortAPI))
	}
	return all
}

// asked reports whether clients send requests to a member: to a founder always, even while
// it is down; to a spare host while a member runs on it.
func (w *World) asked(m *lab.Member) bool {
	return m.Running() || slices.Contains(w.Lab.Founders(), m)
}

// someone returns a random running member; false if no member runs.
func (w *World) someone() (*lab.Member, bool) {
	running := w.Lab.Running()
	if len(running) == 0 {
		return nil, false
	}
	return running[rand.IntN(len(running))], true
}

// within draws a duration in [least, most).
func within(least, most time.Duration) time.Duration {
	return least + rand.N(most-least)
}

// several returns 1 with probability 3/4, else a random integer from 2 to most.
func several(most uint32) uint32 {
	if rand.IntN(4) > 0 {
		return 1
	}
	return 2 + rand.Uint32N(most-1)
}
