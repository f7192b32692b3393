//go:build linux

package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	product "github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// strict takes numbers of a few strict sequences, at every member and through the
// product's client. It reads their last numbers and repeats requests under their IDs.
//
// A quarter of the requests have IDs, and each of these is a separate entry of the log. The
// log therefore grows by about 50 entries per second. After a minute or two, members take
// snapshots (every 4096 entries) and truncate their logs, and a member that was long absent
// gets a snapshot instead of entries. Otherwise a run of minutes would have no snapshot.
func strict() Workload {
	return Workload{
		Name:    "strict",
		About:   "numbers of a few strict sequences, reads, and repeated requests with IDs",
		Prepare: prepareStrict,
		Run:     runStrict,
	}
}

// strictKeys lists the sequences. They are few, so that calls of each sequence overlap.
var strictKeys = []string{"strict-1", "strict-2", "strict-3"}

// mostNumbers is the maximum of numbers per request.
const mostNumbers = 50

// mostTries is the maximum of attempts of a request with an ID.
const mostTries = 4

func prepareStrict(ctx context.Context, w *World) error {
	var all []*snowraftv1.Sequence
	for _, key := range strictKeys {
		all = append(all, &snowraftv1.Sequence{Name: key, Mode: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT})
	}
	return w.Create(ctx, all...)
}

func runStrict(ctx context.Context, w *World) error {
	s, err := connect(w, snowraftv1.NewSequenceServiceClient)
	if err != nil {
		return err
	}
	defer s.close()
	own, err := w.product()
	if err != nil {
		return err
	}
	defer own.Close() //nolint:errcheck // nothing is in progress
	var wg sync.WaitGroup
	begin := func(rate float64, f func(ctx context.Context, c numberer)) {
		c := numberer{client: w.client("strict"), of: s.of}
		wg.Go(func() { pace(ctx, rate, func(ctx context.Context) { f(ctx, c) }) })
	}
	for _, m := range w.Lab.Members {
		begin(w.Rate*0.45/float64(len(w.Lab.Members)), func(ctx context.Context, c numberer) {
			if w.asked(m) {
				c.next(ctx, m, anyOf(strictKeys), several(mostNumbers), "")
			}
		})
	}
	begin(w.Rate*0.15, func(ctx context.Context, c numberer) {
		key := anyOf(strictKeys)
		c.take(ctx, own.Sequence(key), key, several(mostNumbers), "")
	})
	begin(w.Rate*0.15, func(ctx context.Context, c numberer) {
		if m, ok := w.someone(); ok {
			c.read(ctx, m, anyOf(strictKeys))
		}
	})
	var requests atomic.Uint64
	begin(w.Rate*0.25, func(ctx context.Context, c numberer) {
		c.once(ctx, own, anyOf(strictKeys), fmt.Sprintf("r-%d", requests.Add(1)))
	})
	wg.Wait()
	return nil
}

// once makes a request with an ID, up to mostTries times until it succeeds, each time at a
// random member or through the product's client. One in ten successful requests is repeated.
func (c numberer) once(ctx context.Context, own *product.Client, key, id string) {
	count := several(5)
	for range mostTries {
		if c.try(ctx, own, key, count, id).Outcome == history.OK {
			if rand.IntN(10) == 0 {
				c.try(ctx, own, key, count, id)
			}
			return
		}
		if !history.Sleep(ctx, within(50*time.Millisecond, 500*time.Millisecond)) {
			return
		}
	}
}

func (c numberer) try(ctx context.Context, own *product.Client, key string, count uint32, id string) history.Op {
	var m *lab.Member
	var ok bool
	if rand.IntN(4) > 0 {
		m, ok = c.w.someone()
	}
	if !ok {
		return c.take(ctx, own.Sequence(key), key, count, id)
	}
	return c.next(ctx, m, key, count, id)
}

// anyOf returns a random element.
func anyOf[T any](of []T) T { return of[rand.IntN(len(of))] }
