//go:build linux

package nemesis

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// wellWithin is the time that a member may take to become healthy again without a fault, see patient. It is long because a new member
// becomes a voter only after one leader has seen it healthy for some seconds, and workloads transfer leadership.
const wellWithin = 2 * time.Minute

// UntilWell waits until the members run, are voters, know a leader and report no problem.
func (w *World) UntilWell(ctx context.Context, members ...*lab.Member) error {
	return w.untilWell(ctx, func() error { return nil }, members...)
}

// untilWell does what UntilWell does, and returns early with the error of hope if hope returns one.
func (w *World) untilWell(ctx context.Context, hope func() error, members ...*lab.Member) error {
	ctx, cancel := w.patient(ctx, wellWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		ill := ""
		for _, m := range members {
			if s, ok := w.Lab.Status(m); !ok || s.LeaderID == "" || s.Problem != "" || !s.Voter {
				ill = fmt.Sprintf("%s (answers: %t, leader %q, voter: %t, problem %q)", m.Name, ok, s.LeaderID, s.Voter, s.Problem)
			}
		}
		if ill == "" {
			return nil
		}
		if err := hope(); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not healthy within %v: %s", wellWithin, ill)
		}
	}
}

// untilAnswers waits until a member issues an ID.
func (w *World) untilAnswers(ctx context.Context, m *lab.Member) error {
	ctx, cancel := w.patient(ctx, wellWithin)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := w.try(ctx, m, func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := snowraftv1.NewIdServiceClient(conn).GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{})
			return err
		})
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer within %v: %w", m.Name, wellWithin, err)
		}
	}
}
