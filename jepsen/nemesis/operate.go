//go:build linux

package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

const (
	// operateWithin is the time for which an operator retries, see patient.
	operateWithin = time.Minute
	// tryFor is the time limit of one attempt.
	tryFor = 3 * time.Second
)

// operate acts as an operator: it calls do on one running member after another, until a call succeeds or operateWithin
// has passed.
func (w *World) operate(ctx context.Context, do func(ctx context.Context, conn *grpc.ClientConn) error) error {
	ctx, cancel := w.patient(ctx, operateWithin)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("no member is running")
	for {
		for _, m := range w.Lab.Running() {
			if last = w.try(ctx, m, do); last == nil {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("failed for %v: %w", operateWithin, last)
		}
	}
}

func (w *World) try(ctx context.Context, m *lab.Member, do func(ctx context.Context, conn *grpc.ClientConn) error) error {
	conn, err := w.Lab.ConnectAdmin(m)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // nothing is in progress
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	return do(ctx, conn)
}

// replace follows the runbook for a member whose data is lost or damaged: it removes the old member and starts the process
// as a new member with an empty directory.
func (w *World) replace(ctx context.Context, m *lab.Member) error {
	m.Kill()
	if err := disk.Wipe(m.Files()); err != nil {
		return err
	}
	if old := w.Lab.MemberID(m); old != "" {
		remove := func(ctx context.Context, conn *grpc.ClientConn) error {
			_, err := snowraftv1.NewClusterServiceClient(conn).RemoveMember(ctx, &snowraftv1.RemoveMemberRequest{Member: old})
			return err
		}
		if err := w.operate(ctx, remove); err != nil {
			return fmt.Errorf("remove the old member of %s: %w", m.Name, err)
		}
	}
	if err := m.Start(ctx); err != nil {
		return err
	}
	return w.UntilWell(ctx, m)
}

// givesUp is the number of failed starts after which a member counts as beyond recovery.
const givesUp = 3

// recovered waits until a member is healthy. If it does not become healthy, usually because its process halts on damaged
// data, recovered replaces the member.
func (w *World) recovered(ctx context.Context, m *lab.Member) error {
	before := m.Failures()
	err := w.untilWell(ctx, func() error {
		if n := m.Failures() - before; n >= givesUp {
			return fmt.Errorf("%d starts of %s ended in an unexpected exit", n, m.Name)
		}
		return nil
	}, m)
	if err == nil {
		return nil
	}
	w.Lab.Note(m.Name, "replaced", err.Error())
	return w.replace(ctx, m)
}
