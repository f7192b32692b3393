package main

import (
	"context"
	"time"
)

// scaleSequences starts members with few and with many sequences.
func scaleSequences() section {
	return section{name: "scale-sequences", title: "Sequences", page: scalePage, long: true, measure: func(ctx context.Context, e *env) (*table, error) {
		g := &growth{columns: []string{"relaxed sequences on one member", "100", "10,000", "999,999"}}
		for _, sequences := range []int{100, 10_000, 999_999} {
			if err := e.measureSequences(ctx, g, sequences); err != nil {
				return nil, err
			}
			if err := g.addState(largeCommands(0, sequences)); err != nil {
				return nil, err
			}
		}
		return g.table("One run. Start times are medians of three starts"), nil
	}}
}

func (e *env) measureSequences(ctx context.Context, g *growth, sequences int) (err error) {
	var started closers
	defer started.close(&err)
	file, err := e.writeBackup(largeCommands(0, sequences))
	if err != nil {
		return err
	}
	m, err := e.newMember(ctx, "many", nil)
	if err != nil {
		return err
	}
	elapsed := stopwatch()
	ended := backupEnded().UTC().Format(time.RFC3339)
	if err := e.run(ctx, "restore", file, "--data-dir", m.dataDir(), "--old-ended", ended, "--old-cluster-is-gone", "--clock-checked"); err != nil {
		return err
	}
	g.add("`snowraft restore` of a backup", float64(elapsed()), nanoseconds)
	if err := m.launch(e, &started); err != nil {
		return err
	}
	if err := m.await(ctx, m.ready); err != nil {
		return err
	}
	if err := g.addStart(ctx, e, m, &started); err != nil {
		return err
	}
	elapsed = stopwatch()
	if err := e.run(ctx, "seq", "list", "--addr", m.api); err != nil {
		return err
	}
	g.add("`snowraft seq list`", float64(elapsed()), nanoseconds)
	after, err := m.metrics(ctx)
	if err != nil {
		return err
	}
	g.add("resident memory of the member", after[resident], megabytes)
	return nil
}
