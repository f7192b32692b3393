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
	// narrow is a layout for eight workers. Except for the worker, its fields have the widths of the other system's
	// default.
	narrow        = "narrow"
	narrowWorkers = 8
	narrowEpoch   = 1735689600000 // 2025-01-01, in Unix milliseconds
	narrowUnit    = time.Second
	// overStarts is the number of starts of generators. It exceeds the number of workers.
	overStarts = 16
	// narrowWindow is the length of the windows of generators.
	narrowWindow = 6 * time.Second
	// narrowOff is the maximum difference between the time in an ID and the time of its request.
	narrowOff = 3 * time.Second
)

// workerOverflow starts more processes than a layout has workers: members, and generators that acquire another worker at
// each start.
func workerOverflow() Scenario {
	return Scenario{
		Name: "uid-generator-52", Source: "baidu/uid-generator#52", Bugs: []string{"worker-out-of-range"},
		Other:     "Baidu's uid-generator: a worker number that was too large for its field overflowed into the bits of the time",
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

// overflow counts the grants, the refusals and the issued IDs.
type overflow struct {
	s                          *stage
	granted, exhausted, starts int
	members, refused, ids      int
	workers                    map[uint64]bool // workers in IDs of members
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
	// All workers are taken: a member that starts gets none until a window has ended.
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
	s.see("%d starts of generators and %d of members for %d workers: %d generators acquired one, %d starts and %d requests for IDs "+
		"were refused (WORKERS_EXHAUSTED); members issued IDs with %d workers",
		o.starts, 3+o.members, narrowWorkers, o.granted, o.exhausted, o.refused, len(o.workers))
	return nil
}

// passed waits until only running members hold workers: the windows of generators and of killed members have ended.
func (o *overflow) passed() error {
	members := len(o.s.Lab.Founders())
	return o.s.until("the end of windows without a holder", func(ctx context.Context) bool {
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

// start acquires a worker as a generator that starts: with a new nonce, and without a release of its earlier worker.
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

// ask requests IDs of a member until it issues some. If mayRefuse, a refusal with WORKERS_EXHAUSTED also suffices.
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

// check decodes an ID without package snowflake: all bits above the worker are the time.
func (o *overflow) check(op history.Op, i history.Issued) {
	o.ids++
	o.workers[i.First>>13&(narrowWorkers-1)] = true
	at := int64(narrowEpoch) + int64(i.First>>16)*narrowUnit.Milliseconds()
	if off := time.Duration(history.Wall()/int64(time.Millisecond)-at) * time.Millisecond; off.Abs() > narrowOff {
		o.s.violation("%s issued %d, with a time that is off by %v", op.Member, i.First, off)
	}
}

// reason returns the reason of a refusal, or an empty text.
func reason(err error) string {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
