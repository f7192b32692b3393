package transport

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Addresses behind a working address do not delay a connection, and a wrong address before it delays the connection only
// shortly.
func TestRaceOfAddresses(t *testing.T) {
	t.Parallel()
	const (
		right = iota
		refused
		silent
	)
	for name, c := range map[string]struct {
		addresses []int
		takes     time.Duration
		tried     int32
	}{
		"right first":         {[]int{right, silent, refused}, 0, 1},
		"refused first":       {[]int{refused, right}, 0, 2},
		"silent first":        {[]int{silent, right}, headStart, 2},
		"two wrong":           {[]int{silent, refused, right}, 2 * headStart, 3},
		"none":                {[]int{refused, refused}, 0, 2},
		"nothing but silence": {[]int{silent, silent}, 5 * time.Second, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			began := time.Now()
			var tried atomic.Int32
			conn, err := dialFirst(ctx, make([]string, len(c.addresses)), func(ctx context.Context, i int) (net.Conn, error) {
				tried.Add(1)
				switch c.addresses[i] {
				case right:
					a, _ := net.Pipe()
					return a, nil
				case silent:
					<-ctx.Done()
				}
				return nil, errors.New("no")
			})
			if (err == nil) != slices.Contains(c.addresses, right) || (conn != nil) != (err == nil) {
				t.Errorf("%s: %v, %v", name, conn, err)
			}
			if took := time.Since(began); took != c.takes || tried.Load() != c.tried {
				t.Errorf("%s: %d addresses were tried in %v, want %d in %v", name, tried.Load(), took, c.tried, c.takes)
			}
		})
	}
}
