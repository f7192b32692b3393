package main

import (
	"context"
	"maps"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The names of figures.
const (
	relaxedRate = "relaxed/s"
	strictRate  = "strict/s"
	firstStart  = "ns to the first ID, new"
	nextStart   = "ns to the first ID, again"
)

// subject is a measured process, with the figures that are measured only once.
type subject struct {
	*member
	name string
	once figures
}

// gateways compares a member, a nonvoter and a gateway from the view of callers.
func gateways() section {
	return section{name: "gateway", title: "Gateways and nonvoters", page: "gateway.md", measure: func(ctx context.Context, e *env) (t *table, err error) {
		var started closers
		defer started.close(&err)
		subjects, err := e.startSubjects(ctx, &started)
		if err != nil {
			return nil, err
		}
		c := comparison{
			heading: "64 callers over gRPC, one ID or number per call",
			columns: []column{
				{"IDs per second", calls, false, amount}, {"rate relative to the member", calls, true, ratio}, {"p50", p50, false, nanoseconds}, {"p99", p99, false, nanoseconds},
				{"relaxed numbers per second", relaxedRate, false, amount}, {"strict numbers per second", strictRate, false, amount},
				{"first start, until the first ID", firstStart, false, nanoseconds}, {"restart, until the first ID", nextStart, false, nanoseconds},
				{"resident memory", memory, false, times(1e-6, with(" MB", whole))},
			},
		}
		for _, f := range subjects {
			turn, err := f.turn(&started)
			if err != nil {
				return nil, err
			}
			next := contender{name: f.name, turn: turn}
			if f != subjects[0] {
				next.against = subjects[0].name
			}
			c.contenders = append(c.contenders, next)
		}
		return c.measure(ctx, e)
	}}
}

// startSubjects starts a cluster of three members, a nonvoter and a gateway,
// and creates the measured sequences.
func (e *env) startSubjects(ctx context.Context, started *closers) ([]*subject, error) {
	members, err := e.startCluster(ctx, 3, started)
	if err != nil {
		return nil, err
	}
	if members, err = leaderFirst(ctx, members); err != nil {
		return nil, err
	}
	for name, mode := range map[string]snowraftv1.SequenceMode{
		relaxedRate: snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED, strictRate: snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT,
	} {
		if err := members[0].sequence(ctx, sequenceNames[name], mode); err != nil {
			return nil, err
		}
	}
	nonvoter, err := e.newMember(ctx, "m4", nil)
	if err != nil {
		return nil, err
	}
	nonvoter.joins(members)
	nonvoter.args = append(nonvoter.args, "--nonvoter")
	gateway, err := e.newGateway(ctx, members)
	if err != nil {
		return nil, err
	}
	subjects := []*subject{
		{member: members[1], name: "a member that does not lead", once: figures{}},
		{member: nonvoter, name: "a nonvoter", once: figures{}},
		{member: gateway, name: "a gateway", once: figures{}},
	}
	for _, f := range subjects {
		if f.child == nil {
			if err := f.firstID(ctx, e, started, firstStart); err != nil {
				return nil, err
			}
		}
		if err := f.stop(); err != nil {
			return nil, err
		}
		if err := f.firstID(ctx, e, started, nextStart); err != nil {
			return nil, err
		}
		if err := f.await(ctx, f.ready); err != nil {
			return nil, err
		}
	}
	return subjects, nil
}

// firstID starts the process and stores the time until the first ID as a figure.
func (f *subject) firstID(ctx context.Context, e *env, started *closers, figure string) error {
	elapsed := stopwatch()
	if err := f.launch(e, started); err != nil {
		return err
	}
	if err := until(ctx, func(ctx context.Context) error {
		return f.with(func(conn *grpc.ClientConn) error {
			_, err := snowraftv1.NewIdServiceClient(conn).GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: 1})
			return err
		})
	}); err != nil {
		return err
	}
	f.once[figure] = float64(elapsed())
	return nil
}

var sequenceNames = map[string]string{relaxedRate: "orders", strictRate: "invoices"}

// turn returns a turn that measures IDs, numbers of a relaxed sequence and numbers of a strict
// sequence in succession.
func (f *subject) turn(started *closers) (turn, error) {
	ids, err := oneByOne(f.api, 64, started)
	if err != nil {
		return nil, err
	}
	numbers := map[string][]load.Caller{}
	for rate, name := range sequenceNames {
		if numbers[rate], err = numbering(f.api, name, 64, started); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, d time.Duration) (figures, error) {
		all, err := f.withMemory(loadTurn(ids))(ctx, d)
		if err != nil {
			return nil, err
		}
		for rate, callers := range numbers {
			of, err := loadTurn(callers)(ctx, d)
			if err != nil {
				return nil, err
			}
			all[rate] = of[calls]
		}
		maps.Copy(all, f.once)
		return all, nil
	}, nil
}
