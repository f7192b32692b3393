//go:build linux

package workload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/lab"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Layout records the fields of a layout; an empty name means the default layout.
func (w *World) Layout(ctx context.Context, name string) error {
	var failures []error
	for _, m := range w.Lab.Running() {
		conn, err := w.Lab.Connect(m)
		if err != nil {
			return err
		}
		resp, err := snowraftv1.NewLayoutServiceClient(conn).GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
		_ = conn.Close() // nothing is in progress
		if err == nil {
			w.Journal.Add(history.Line{Layout: layoutLine(resp.GetLayout())})
			return nil
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// CreateLayout creates a layout and records it.
func (w *World) CreateLayout(ctx context.Context, l *snowraftv1.Layout) error {
	s, err := connect(w, snowraftv1.NewLayoutServiceClient)
	if err != nil {
		return err
	}
	defer s.close()
	err = w.insist(ctx, func(ctx context.Context, m *lab.Member) error {
		resp, err := s.of[m].CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: l})
		if err == nil {
			w.Journal.Add(history.Line{Layout: layoutLine(resp.GetLayout())})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("create layout %s: %w", l.GetName(), err)
	}
	return nil
}

func layoutLine(l *snowraftv1.Layout) *history.Layout {
	line := &history.Layout{
		Name: l.GetName(), UnitMillis: l.GetUnitMs(), EpochMillis: l.GetEpochAtMs(), Datacenter: l.GetDatacenter(), Spread: l.GetSpread(), LeaseOnly: l.GetLeaseOnly(), Past: l.GetPast(),
	}
	for _, f := range l.GetFields() {
		kind := strings.ToLower(strings.TrimPrefix(f.GetKind().String(), "FIELD_KIND_"))
		line.Fields = append(line.Fields, history.Field{Kind: kind, Bits: uint(f.GetBits())})
	}
	return line
}
