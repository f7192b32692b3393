//go:build linux

package workload

import (
	"context"
	"math/rand/v2"
	"sync"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"
	"github.com/snowraft/snowraft/snowflake"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// ids requests IDs of the layout "default". One client per member calls only that member.
// Other clients roam between members and request each ID greater than the last.
func ids() Workload {
	return Workload{
		Name:  "ids",
		About: "IDs, one or many per request, from one member or any, with and without a floor",
		Run:   runIDs,
	}
}

const (
	roamers  = 4
	mostOnce = 1000 // usual maximum of IDs per request
	// muchOnce exceeds the IDs that a worker of the layout "default" has for one tick.
	muchOnce = 3 * 4096
)

func runIDs(ctx context.Context, w *World) error {
	out, err := w.IDs(snowflake.Default().Name())
	if err != nil {
		return err
	}
	stubs := make(map[*lab.Member]snowraftv1.IdServiceClient)
	for _, m := range w.Lab.Members {
		conn, err := w.Lab.Connect(m)
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // nothing is in progress
		stubs[m] = snowraftv1.NewIdServiceClient(conn)
	}
	each := w.Rate / float64(len(w.Lab.Members)+roamers)
	var wg sync.WaitGroup
	for _, m := range w.Lab.Members {
		c := idClient{client: w.client("ids"), layout: snowflake.Default().Name(), out: out}
		wg.Go(func() {
			pace(ctx, each, func(ctx context.Context) { c.ask(ctx, m, stubs[m], 0, 0) })
		})
	}
	for range roamers {
		c := idClient{client: w.client("ids"), layout: snowflake.Default().Name(), out: out}
		wg.Go(func() { c.roam(ctx, stubs, each) })
	}
	wg.Wait()
	return nil
}

// idClient requests IDs.
type idClient struct {
	*client
	layout string
	out    *history.Writer
}

// roam calls one member after another and requests each ID greater than the last.
func (c idClient) roam(ctx context.Context, stubs map[*lab.Member]snowraftv1.IdServiceClient, rate float64) {
	session, last := c.w.NextSession(), uint64(0)
	var turn sync.Mutex // held for one request of the session
	pace(ctx, rate, func(ctx context.Context) {
		turn.Lock()
		defer turn.Unlock()
		if ctx.Err() != nil {
			return
		}
		running := c.w.Lab.Running()
		if len(running) == 0 {
			return
		}
		m := running[rand.IntN(len(running))]
		if highest := c.ask(ctx, m, stubs[m], last, session); highest > last {
			last = highest
		}
	})
}

// ask makes one request and returns the greatest ID of the answer, 0 after a failure.
func (c idClient) ask(ctx context.Context, m *lab.Member, stub snowraftv1.IdServiceClient, after uint64, session uint32) uint64 {
	count := uint32(1)
	switch n := rand.IntN(100); {
	case n < 1:
		count = 1 + rand.Uint32N(muchOnce)
	case n < 25:
		count = 1 + rand.Uint32N(mostOnce)
	}
	var highest uint64
	_, issued := c.request(ctx, m, stub, count, after, session)
	for _, i := range issued {
		highest = max(highest, i.Last())
	}
	return highest
}

// request makes one request, and records and returns the issued IDs.
func (c idClient) request(ctx context.Context, m *lab.Member, stub snowraftv1.IdServiceClient, count uint32, after uint64, session uint32) (history.Op, []history.Issued) {
	var ranges []*snowraftv1.IdRange
	op, err := c.call(ctx, m, history.Op{Do: history.DoIDs, Key: c.layout, Count: count, After: after, Session: session},
		func(ctx context.Context, _ *history.Op, opts ...grpc.CallOption) error {
			resp, err := stub.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Layout: c.layout, Count: count, After: int64(after)}, opts...)
			ranges = resp.GetRanges()
			return err
		})
	if err != nil {
		return op, nil
	}
	var issued []history.Issued
	for _, r := range ranges {
		i := history.Issued{
			First: uint64(r.GetFirst()), Step: uint64(r.GetStep()), Count: r.GetCount(),
			Op: op.ID, Call: op.Call, Return: op.Return, Start: op.Start, Session: session, Client: c.number,
		}
		c.out.Add(i)
		issued = append(issued, i)
	}
	return op, issued
}
