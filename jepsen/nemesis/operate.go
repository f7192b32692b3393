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
	// operateWithin is the time that an operator tries.
	operateWithin = 20 * time.Second
	// tryFor is the time that one try may take.
	tryFor = 3 * time.Second
)

// operate does what an operator would: it asks one running member after another until
// one does it.
func (w *World) operate(ctx context.Context, do func(ctx context.Context, conn *grpc.ClientConn) error) error {
	ctx, cancel := context.WithTimeout(ctx, operateWithin)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	last := errors.New("no member runs")
	for {
		for _, m := range w.Lab.Running() {
			if last = w.try(ctx, m, do); last == nil {
				return nil
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %w", operateWithin, last)
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

// replace makes a member that lost its data, or whose data is damaged, a new one, as the
// runbook tells operators to: it removes the old one and starts with an empty directory.
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
			return fmt.Errorf("removing what %s was: %w", m.Name, err)
		}
	}
	if err := m.Start(ctx); err != nil {
		return err
	}
	return w.UntilWell(ctx, m)
}

// givesUp is the number of starts of a process that have to fail before it is held to
// be past help.
const givesUp = 3

// recovered waits until a member is well, or replaces it if its process does not stay:
// then it has found out that something is wrong with its data.
func (w *World) recovered(ctx context.Context, m *lab.Member) error {
	before := m.Failures()
	err := w.untilWell(ctx, func() error {
		if n := m.Failures() - before; n >= givesUp {
			return fmt.Errorf("%d starts of %s ended by themselves", n, m.Name)
		}
		return nil
	}, m)
	if err == nil {
		return nil
	}
	w.Lab.Note(m.Name, "replaced", err.Error())
	return w.replace(ctx, m)
}
