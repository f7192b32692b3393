package migrate

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// NewExport returns the command export.
func NewExport(a *cli.App) *cobra.Command {
	group := cli.Group(&cobra.Command{
		Use:   "export",
		Short: "Move sequences to counters of another system",
		Long: `Move sequences to counters of another system. Without --apply, a command changes nothing
and shows its plan.

With --apply, the sequences grant nothing from then on, and requests for their numbers
fail with SEQUENCE_MOVED. After that, the command prints statements for the other system.
They set its counters beyond every number that the cluster granted, remove the fence of
"snowraft import --fence", and never lower a counter. Repeat the command to print them
again.

Processes that hold blocks of a relaxed sequence may issue the numbers in them at any
later time: a block has no end. These numbers are lower than those of the other system,
so no number comes twice, but they come late. Stop these processes and state that with
--holders-stopped.

"snowraft import --fence" moves the sequences back.`,
		Example: `  snowraft export redis 'orders/*' --map 'order:*=orders/*'
  snowraft export redis 'orders/*' --map 'order:*=orders/*' --apply`,
	})
	for _, t := range targets {
		group.AddCommand(newTarget(a, t))
	}
	return group
}

func newTarget(a *cli.App, t target) *cobra.Command {
	cmd := &cobra.Command{Use: t.name + " PATTERN", Short: t.short, Long: t.long, Example: t.example}
	e := exporter{app: a, target: t}
	var maps []string
	cmd.Flags().SortFlags = false
	addMap(cmd, &maps, "mapping of counters to sequences, as for import (default: the name of the sequence)")
	cmd.Flags().BoolVar(&e.holdersStopped, "holders-stopped", false, "state that no process holds blocks of the sequences")
	cmd.Flags().BoolVar(&e.apply, "apply", false, "do what the plan says")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) (err error) {
		e.remote, e.mappings = r, mappingsOf(maps)
		if e.pattern, err = parsePattern(args[0]); err != nil {
			return cli.Usagef("%v", err)
		}
		return e.run(ctx, out)
	})
}

// exporter is one export.
type exporter struct {
	app      *cli.App
	remote   *cli.Remote
	target   target
	pattern  pattern
	mappings []mapping

	holdersStopped, apply bool
}

// exported is the JSON of an export.
type exported struct {
	Sequences []*departure `json:"sequences"`
	Applied   bool         `json:"applied"`
}

func (e *exporter) run(ctx context.Context, out *cli.Printer) error {
	all, err := e.plan(ctx)
	if err != nil {
		return err
	}
	if !e.apply {
		return out.Answer(exported{Sequences: all},
			cli.Table(all, []string{"SEQUENCE", "NEXT", "COUNTER", "ACTION", "NOTE"}, func(d *departure) []any {
				return []any{d.Sequence, d.Next, d.Counter, d.Action, d.Note}
			}),
			cli.Line("Nothing was changed. To move the sequences, add --apply. The next numbers can be higher then."))
	}
	for _, d := range all {
		switch {
		case d.Action == refused:
			return fmt.Errorf("sequence %q: %s; nothing was changed: choose another pattern", d.Sequence, d.Note)
		case d.Action == move && d.relaxed && !e.holdersStopped:
			return cli.Usagef("sequence %q is relaxed, and processes may hold blocks of it: stop them, and add --holders-stopped", d.Sequence)
		}
	}
	for k, d := range all {
		if err := e.move(ctx, d); err != nil {
			return fmt.Errorf("sequence %q: %w; %d of %d sequences have moved: remove the cause and repeat the command, which prints the statements for all", d.Sequence, err, k, len(all))
		}
	}
	return out.Answer(exported{all, true}, e.script(all))
}

// plan returns the matching sequences in ascending order of their names.
func (e *exporter) plan(ctx context.Context) (all []*departure, err error) {
	sequences, err := cli.List(func(token string) ([]*snowraftv1.Sequence, string, error) {
		resp, err := e.remote.Sequences.ListSequences(ctx, &snowraftv1.ListSequencesRequest{PageSize: cli.PageSize, PageToken: token, Prefix: e.pattern.before})
		return resp.GetSequences(), resp.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	for _, s := range sequences {
		if _, ok := e.pattern.match(s.GetName()); ok {
			d := depart(s, e.mappings)
			if d.Action != refused {
				err := e.target.check(d)
				d.refuse(err)
			}
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no sequence matches; nothing was changed")
	}
	return all, nil
}

// move moves a sequence, unless it has moved before, and writes the statements for its counter.
func (e *exporter) move(ctx context.Context, d *departure) error {
	if d.Action == move {
		resp, err := e.remote.Sequences.MoveSequence(ctx, &snowraftv1.MoveSequenceRequest{Sequence: d.Sequence, ExpectedGeneration: &d.generation})
		if err != nil {
			return err
		}
		e.app.WarnUnreached(resp.GetUnreachedMembers(), "until they learn of the move, they may issue numbers of the blocks that they hold, which are lower than those of the other system")
		d.setNext(resp.GetSequence())
	}
	if err := e.target.check(d); err != nil {
		return err
	}
	d.Statements = e.target.write(d)
	return nil
}

// script returns the statements for all counters.
func (e *exporter) script(all []*departure) cli.Block {
	return func(w io.Writer, _ cli.Style) {
		fmt.Fprint(w, e.target.begin)
		for _, d := range all {
			fmt.Fprint(w, d.Statements)
		}
	}
}
