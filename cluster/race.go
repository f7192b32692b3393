package cluster

import (
	"context"
	"errors"
	"net"
	"time"
)

// headStart is the time after which the next address is also tried.
const headStart = 250 * time.Millisecond

// race tries addresses in their order and returns the first connection. It tries the next address when all earlier ones have
// failed, or a head start has passed. So a wrong address delays the connection by at most headStart, and an address behind a
// working one does not delay it at all.
func race(ctx context.Context, addresses []string, try func(ctx context.Context, i int) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result) // unbuffered, so that no late connection is left open
	tried, failed := 0, 0
	next := func() {
		i := tried
		tried++
		go func() {
			conn, err := try(ctx, i)
			select {
			case results <- result{conn, err}:
			case <-ctx.Done():
				if err == nil {
					_ = conn.Close()
				}
			}
		}()
	}
	var errs []error
	for failed < len(addresses) {
		if tried == failed {
			next()
		}
		head := time.NewTimer(headStart)
		select {
		case r := <-results:
			head.Stop()
			if r.err == nil {
				return r.conn, nil
			}
			errs = append(errs, r.err)
			failed++
		case <-head.C:
			if tried < len(addresses) {
				next()
			}
		case <-ctx.Done():
			head.Stop()
			return nil, errors.Join(append(errs, ctx.Err())...)
		}
	}
	return nil, errors.Join(errs...)
}
