//go:build linux

package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// narrow is a layout with room for eight workers: as many bits for each field as the other
	// system's default except for the worker's.
	narrow        = "narrow"
	narrowWorkers = 8
	narrowEpoch   = 1735689600000 // 2025-01-01, in Unix milliseconds
	narrowUnit    = time.Second
	// overStarts is the number of times that generators start, more often than there are workers.
	overStarts = 16
	// narrowWindow is how long the windows of generators are.
	narrowWindow = 6 * time.Second
	// narrowOff is how far the time of an ID may be from that of its request.
	narrowOff = 3 * time.Second
)

// workerOverflow lets more processes start than a layout has workers: members, and
// generators each of whose starts takes another worker.
func workerOverflow() Scenario {
	return Scenario{
		Name: "uid-generator-52", Source: "baidu/uid-generator#52", Bug: "worker-out-of-range",
		Other:     "Baidu's uid-generator: the number of a start beyond the worker field went into the bits of the time",
		Loads:     []string{"ids", "strict"},
		MaxWindow: narrowWindow,
		script: func(s *stage) error {
			err := s.CreateLayout(s.ctx, &snowraftv1.Layout{
				Name: narrow, UnitMs: narrowUnit.Milliseconds(), EpochAtMs: narrowEpoch,
				Fields: []*snowraftv1.Field{
					{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 28},
					{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 3},
					{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 13},
				},
			})
			if err != nil {
				return err
			}
			o := &overflow{s: s, workers: make(map[uint64]bool)}
			return o.script()
		},
	}
}

// overflow is what was granted and issued.
type overflow struct {
	s                          *stage
	granted, exhausted, starts int
	members, refused, ids      int
	workers                    map[uint64]bool // in IDs of members
}

func (o *overflow) script() error {
	for _, m := range o.s.Lab.Founders() {
		if err := o.ask(m, false); err != nil {
			return err
		}
	}
	for start := range overStarts {
		if err := o.start(start); err != nil {
			return err
		}
	}
	// All are taken: a member that starts gets none, until windows have passed.
	for _, m := range o.s.Lab.Founders()[:2] {
		begin := o.s.kill(m)
		if err := begin(); err != nil {
			return err
		}
		o.members++
		if err := o.ask(m, true); err != nil {
			return err
		}
	}
	for _, m := range o.s.Lab.Founders() {
		if err := o.ask(m, false); err != nil {
			return err
		}
	}
	s := o.s
	if err := o.passed(); err != nil {
		return err
	}
	s.need("starts that were refused with WORKERS_EXHAUSTED", o.exhausted, overStarts-narrowWorkers)
	s.need("starts that were granted a worker", o.granted, 1)
	s.need("requests for IDs that were refused with WORKERS_EXHAUSTED", o.refused, 1)
	s.see("%d starts of generators and %d of members for %d workers: %d were granted one, %d refused (WORKERS_EXHAUSTED), as were %d requests for IDs; members issued under %d workers",
		o.starts, 3+o.members, narrowWorkers, o.granted, o.exhausted, o.refused, len(o.workers))
	return nil
}

// passed waits until only members hold workers: the generators' windows, and those of members
// that were killed, have passed.
func (o *overflow) passed() error {
	members := len(o.s.Lab.Founders())
	return o.s.until("the end of windows that nobody extends", func(ctx context.Context) bool {
		conn, err := o.s.conn(o.s.any())
		if err != nil {
			return false
		}
		ctx, cancel := context.WithTimeout(ctx, statusWithin)
		defer cancel()
		resp, err := snowraftv1.NewWorkerServiceClient(conn).ListWorkers(ctx, &snowraftv1.ListWorkersRequest{Layout: narrow})
		held := 0
		for _, w := range resp.GetWorkers() {
			if w.GetState() == snowraftv1.WorkerState_WORKER_STATE_HELD {
				held++
			}
		}
		return err == nil && held <= members
	})
}

// start is a generator's start: a new nonce, and no release of what it had before.
func (o *overflow) start(number int) error {
	nonce := make([]byte, 16)
	for i := range nonce {
		nonce[i] = byte(rand.Uint32())
	}
	o.starts++
	m := o.s.any()
	conn, err := o.s.conn(m)
	if err != nil {
		return err
	}
	return o.s.until(fmt.Sprintf("an answer to start %d", number), func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, statusWithin)
		defer cancel()
		resp, err := snowraftv1.NewWorkerServiceClient(conn).AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{
			Layout: narrow, Holder: fmt.Sprintf("uid-%d", number%4), Nonce: nonce,
			ClockAtMs: history.Wall() / int64(time.Millisecond), WindowMs: narrowWindow.Milliseconds(),
		})
		if err != nil {
			if reason(err) == "WORKERS_EXHAUSTED" {
				o.exhausted++
				return true
			}
			return false
		}
		o.granted++
		if w := resp.GetGrant().GetWorker(); w >= narrowWorkers {
			o.s.violation("start %d was granted worker %d of a layout with %d workers", number, w, narrowWorkers)
		}
		return true
	})
}

// ask asks a member for IDs until it issues, or refuses since all workers are taken if that is
// to be expected.
func (o *overflow) ask(m *lab.Member, mayRefuse bool) error {
	return o.s.until("IDs of "+m.Name, func(ctx context.Context) bool {
		op, issued := o.s.client.IDs(ctx, m, narrow, 10, 0)
		for _, i := range issued {
			o.check(op, i)
		}
		if op.Reason == "WORKERS_EXHAUSTED" {
			o.refused++
			return mayRefuse
		}
		return op.Outcome == history.OK
	})
}

// check splits an ID by hand: the time is all above the worker.
func (o *overflow) check(op history.Op, i history.Issued) {
	o.ids++
	o.workers[i.First>>13&(narrowWorkers-1)] = true
	at := int64(narrowEpoch) + int64(i.First>>16)*narrowUnit.Milliseconds()
	if off := time.Duration(history.Wall()/int64(time.Millisecond)-at) * time.Millisecond; off.Abs() > narrowOff {
		o.s.violation("%s issued %d, whose time is off by %v", op.Member, i.First, off)
	}
}

// reason is why a member refused.
func reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
