package main

import (
	"context"
	"iter"
	"time"

	"github.com/snowraft/snowraft/fsm"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// tenantState measures a state with as many tenants as a cluster can have, whose first uses were applied to the state machine alone,
// and a member that is restored from its backup.
func tenantState() section {
	return section{name: "tenants-restored", title: "A million tenants", long: true, measure: func(ctx context.Context, e *env) (*table, error) {
		g := &growth{columns: []string{"tenants of one template"}}
		for _, tenants := range []int{100_000, 999_000} {
			g.columns = append(g.columns, whole(float64(tenants)))
			elapsed := stopwatch()
			if _, _, err := stateOf(wall(), firstUses(tenants)); err != nil {
				return nil, err
			}
			g.add("applying a first use and its block, state machine", float64(elapsed())/float64(tenants), nanoseconds)
			if err := g.addState(firstUses(tenants)); err != nil {
				return nil, err
			}
			if err := e.measureRestored(ctx, g, tenants); err != nil {
				return nil, err
			}
		}
		return g.table("One run. The first uses were applied to the state machine alone, and the member was restored from a backup of that state. Start times are medians of three starts"), nil
	}}
}

func (e *env) measureRestored(ctx context.Context, g *growth, tenants int) (err error) {
	var started closers
	defer started.close(&err)
	restored, err := e.restore(ctx, g, "tenants", firstUses(tenants), &started)
	if err != nil {
		return err
	}
	m, err := dialTemplate(restored, &started)
	if err != nil {
		return err
	}
	for _, command := range [][]string{{"template", "resume", tenantPattern, "--start", "1000"}, {"restore", "acknowledge"}} {
		if err := e.run(ctx, append(command, "--addr", m.api)...); err != nil {
			return err
		}
	}
	if err := m.beginSingly(ctx, g, tenants, tenants+singleUses); err != nil {
		return err
	}
	if err := m.list(ctx, e, g); err != nil {
		return err
	}
	elapsed := stopwatch()
	if err := m.applyAll(ctx, e); err != nil {
		return err
	}
	g.add("`snowraft template apply`, if nothing differs", float64(elapsed()), nanoseconds)
	after, err := m.metrics(ctx)
	g.add("resident memory of the member", after[resident], megabytes)
	return err
}

// restore starts a member from a backup of the state after commands, and adds the times of the restore and of a start.
func (e *env) restore(ctx context.Context, g *growth, name string, commands iter.Seq[*commandv1.Command], started *closers) (*member, error) {
	file, err := e.writeBackup(commands)
	if err != nil {
		return nil, err
	}
	restored, err := e.newMember(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	elapsed := stopwatch()
	ended := backupEnded().UTC().Format(time.RFC3339)
	if err := e.run(ctx, "restore", file, "--data-dir", restored.dataDir(), "--old-ended", ended, "--old-cluster-is-gone", "--clock-checked"); err != nil {
		return nil, err
	}
	g.add("`snowraft restore` of a backup", float64(elapsed()), nanoseconds)
	if err := restored.launch(e, started); err != nil {
		return nil, err
	}
	if err := restored.await(ctx, restored.ready); err != nil {
		return nil, err
	}
	return restored, g.addStart(ctx, e, restored, started)
}

// firstUses yields the commands of first uses, with a block for each sequence.
func firstUses(tenants int) iter.Seq[*commandv1.Command] {
	settings := createSequence("", commandv1.SequenceMode_SEQUENCE_MODE_STRICT).GetCreateSequence().GetSpec()
	settings.Format = tenantFormat
	return func(yield func(*commandv1.Command) bool) {
		const template = 3 // index of the command that creates it
		more := yield(&commandv1.Command{Body: &commandv1.Command_SetConfig{SetConfig: &commandv1.SetConfig{Config: fsm.DefaultConfig()}}}) &&
			yield(&commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: fsm.DocumentVersion}}}) &&
			yield(&commandv1.Command{Body: &commandv1.Command_CreateTemplate{CreateTemplate: &commandv1.CreateTemplate{
				Spec: &commandv1.TemplateSpec{Pattern: tenantPattern, Settings: settings},
			}}})
		for i := 0; more && i < tenants; i++ {
			begun := uint64(template + 2*i + 1)
			more = yield(&commandv1.Command{Body: &commandv1.Command_BeginSequence{BeginSequence: &commandv1.BeginSequence{
				Name: tenantName(i), Template: template,
			}}}) && yield(&commandv1.Command{Body: &commandv1.Command_AllocateBlock{AllocateBlock: &commandv1.AllocateBlock{
				Name: tenantName(i), Generation: begun, Count: 100,
			}}})
		}
	}
}
