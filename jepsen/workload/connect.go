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

// stubs are one service of each member, over a connection each.
type stubs[T any] struct {
	of    map[*lab.Member]T
	conns []*grpc.ClientConn
}

// connect makes stubs; nobody is connected to before the first call.
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

// product returns the product's own client of the cluster. Whom it asks is its affair, so
// that operations through it are of no member.
func (w *World) product() (*product.Client, error) {
	return product.New(w.addresses(), append(authorized(w.Lab.Token()), product.WithTimeout(callTimeout),
		product.WithDialOptions(grpc.WithContextDialer(w.Lab.Dial)))...)
}

// authorized is the option of a client with a token, if there is one.
func authorized(token string) []product.Option {
	if token == "" {
		return nil
	}
	return []product.Option{product.WithToken(token)}
}

// addresses are where the founders' API is reached.
func (w *World) addresses() []string {
	var all []string
	for _, m := range w.Lab.Founders() {
		all = append(all, m.Address(lab.PortAPI))
	}
	return all
}

// asked reports whether a member is to be asked at all: a founder always, also when it is
// down, and a spare host while there is a member on it.
func (w *World) asked(m *lab.Member) bool {
	return m.Running() || slices.Contains(w.Lab.Founders(), m)
}

// someone is any member that runs; false if none does.
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

// several is 1, or now and then a number from 2 to most.
func several(most uint32) uint32 {
	if rand.IntN(4) > 0 {
		return 1
	}
	return 2 + rand.Uint32N(most-1)
}
