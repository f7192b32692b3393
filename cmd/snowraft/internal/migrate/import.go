// Package migrate has the command import, which moves the counters of other systems to sequences.
package migrate

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/apijson"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// passwordVariable is the environment variable with the password of the other system.
const passwordVariable = "SNOWRAFT_SOURCE_PASSWORD"

// connectLimit is the longest time until the other system answers.
const connectLimit = 15 * time.Second

// NewImport returns the command import.
func NewImport(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "import",
		Short: "Create sequences from the counters of another system",
		Long: `Create sequences that continue the counters of another system. Without --apply, a command
changes nothing and shows its plan.

While programs still draw numbers from the other system, every number that is read there
is out of date at once. So --apply needs one of two flags. --fence makes the other
system refuse to issue numbers, and reads each last number after that. With
--writers-stopped, you state that programs no longer draw numbers there.

An import may be repeated. It never lowers the next number of a sequence. A sequence that
"snowraft export" moved to the other system moves back.

Other users see command lines. Give a password in ` + passwordVariable + ` instead of
the address.`,
		Example: `  snowraft import redis redis://old:6379/0 --match 'order:*'
  snowraft import redis redis://old:6379/0 --match 'order:*' --fence --apply`,
	},
		newSource(a, sourceCommand{
			use: "redis URL", short: "Import keys that INCR raises",
			long: `Import keys that INCR raises. Give a --match that matches counters only. --fence replaces
each number by a text that contains it and that INCR refuses. It removes the key's time
to live.`,
			example: `  snowraft import redis redis://old:6379/0 --match 'order:*'
  snowraft import redis rediss://app@old:6379/0 --match 'order:*' \
    --map 'order:*=orders/*' --fence --apply`,
			open: openRedis,
		}),
		newSource(a, sourceCommand{
			use: "postgres URL", short: "Import sequences of PostgreSQL",
			long: `Import sequences of a PostgreSQL database, with those of serial and identity columns.
--fence makes the present number of each the last one, so that nextval fails. It needs
the owner of the sequences.`,
			example: `  snowraft import postgres postgres://app@old/shop --match 'orders_*'
  snowraft import postgres postgres://app@old/shop --fence --apply`,
			open: openPostgres,
		}),
		newSource(a, sourceCommand{
			use: "mysql URL", short: "Import AUTO_INCREMENT columns of MySQL or MariaDB",
			long: `Import the AUTO_INCREMENT columns of a database of MySQL or MariaDB. Each table is a
counter. --fence creates a trigger on each table, which refuses rows without an ID. Rows
with an ID pass.`,
			example: `  snowraft import mysql mysql://app@old:3306/shop --match orders
  snowraft import mysql mysql://app@old:3306/shop --map '*=shop/*' \
    --fence --apply`,
			open: openColumns,
		}),
		newSource(a, sourceCommand{
			use: "leaf URL", short: "Import the table leaf_alloc of Leaf",
			long: `Import the table leaf_alloc of Leaf's segment mode. --fence renames the keys of its rows,
so that Leaf's servers issue the rest of their segments and then fail.`,
			example: `  snowraft import leaf mysql://leaf@old:3306/leaf
  snowraft import leaf mysql://leaf@old:3306/leaf --fence --apply`,
			open: openLeaf, relaxed: true,
		}),
		newSource(a, sourceCommand{
			use: "tinyid URL", short: "Import the table tiny_id_info of tinyid",
			long: `Import the table tiny_id_info of tinyid, with its deltas and remainders. --fence renames
the keys of its rows, so that tinyid's servers and clients issue the rest of their
segments and then fail.`,
			example: `  snowraft import tinyid mysql://tinyid@old:3306/tinyid
  snowraft import tinyid mysql://tinyid@old:3306/tinyid --fence --apply`,
			open: openTinyid, relaxed: true,
		}),
		newSource(a, sourceCommand{
			use: "csv FILE", short: "Import a list of counters",
			long: `Import a list of counters from a file, or from standard input if FILE is -. Its first line
is name,last or name,last,increment.`,
			example: `  snowraft import csv counters.csv
  snowraft import csv counters.csv --writers-stopped --apply`,
			open: func(_ context.Context, path, _ string) (source, error) { return openCSV(a.Stdin, path) },
		}))
}

func openCSV(stdin io.Reader, path string) (source, error) {
	if path == "-" {
		return readCSV(stdin)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readCSV(f)
}

// sourceCommand describes the command for one kind of source.
type sourceCommand struct {
	use, short, long, example string
	open                      func(ctx context.Context, address, password string) (source, error)
	relaxed                   bool // the default mode of its sequences
}

// options are the flags of an import.
type options struct {
	match                        string
	maps                         []string
	mode                         string
	apply, fence, writersStopped bool
}

func newSource(a *cli.App, d sourceCommand) *cobra.Command {
	cmd := &cobra.Command{Use: d.use, Short: d.short, Long: d.long, Example: d.example}
	o := options{match: "*", mode: "strict"}
	if d.relaxed {
		o.mode = "relaxed"
	}
	cmd.Flags().SortFlags = false
	cli.AddFlag(cmd, "", "match", "", cli.TextValue(&o.match, "PATTERN"), "counters to import, with at most one *")
	addMap(cmd, &o.maps, "names of sequences, the first match counts (default: the name of the counter)")
	cli.AddFlag(cmd, "", "mode", "", cli.ChoiceValue(&o.mode, apijson.Words[snowraftv1.SequenceMode]()...), "mode of new sequences")
	cmd.Flags().BoolVar(&o.fence, "fence", false, "make the other system refuse to issue numbers")
	cmd.Flags().BoolVar(&o.writersStopped, "writers-stopped", false, "state that programs no longer draw numbers there")
	cmd.Flags().BoolVar(&o.apply, "apply", false, "do what the plan says")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if o.apply && o.fence == o.writersStopped {
			return cli.Usagef("%s: --apply needs one of --fence and --writers-stopped", cli.Below(cmd))
		}
		opening, cancel := context.WithTimeout(ctx, connectLimit)
		s, err := d.open(opening, args[0], a.Env(passwordVariable))
		cancel()
		if err != nil {
			return err
		}
		defer s.close()
		i := importer{app: a, source: s, options: o, plan: plan{remote: r}}
		i.plan.mode, _ = apijson.Parse[snowraftv1.SequenceMode](o.mode)
		return i.run(ctx, out)
	})
}

// addMap adds the flag --map.
func addMap(cmd *cobra.Command, to *[]string, help string) {
	cli.AddFlag(cmd, "", "map", "", cli.RepeatedValue(to, "PATTERN=NAME", "PATTERN=NAME, such as 'order:*=orders/*'", func(s string) bool {
		_, err := parseMapping(s)
		return err == nil
	}), help)
}

// importer is one import.
type importer struct {
	app     *cli.App
	source  source
	plan    plan
	options options
}

// document is the JSON of an import.
type document struct {
	Counters []step `json:"counters"`
	Applied  bool   `json:"applied"`
}

func (i *importer) run(ctx context.Context, out *cli.Printer) error {
	pattern, err := parsePattern(i.options.match)
	if err != nil {
		return cli.Usagef("--match: %v", err)
	}
	counters, err := i.source.counters(ctx, func(name string) bool {
		_, ok := pattern.match(name)
		return ok
	})
	if err == nil && len(counters) == 0 {
		err = fmt.Errorf("no counter matches %q; nothing was changed", i.options.match)
	}
	if err != nil {
		return err
	}
	steps, err := i.plan.steps(ctx, counters, mappingsOf(i.options.maps))
	if err != nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	if !i.options.apply {
		return i.show(out, document{Counters: steps})
	}
	return i.apply(ctx, out, steps)
}

func (i *importer) show(out *cli.Printer, d document) error {
	table := cli.Table(d.Counters, []string{"COUNTER", "LAST", "FENCED", "SEQUENCE", "NEXT", "ACTION", "NOTE"}, func(s step) []any {
		return []any{s.Source, s.Last, cli.TextIf(s.Fenced, "yes"), s.Sequence, s.Next, s.Action, s.Note}
	})
	if d.Applied {
		return out.Answer(d, table)
	}
	return out.Answer(d, table, cli.Line("Nothing was changed. To do this, add --apply, and --fence or --writers-stopped."))
}

// apply fences the source, or checks that its numbers stand still, before it changes the cluster.
func (i *importer) apply(ctx context.Context, out *cli.Printer, steps []step) error {
	last := i.source.fence
	if i.options.writersStopped {
		again, err := i.reread(ctx, steps)
		if err != nil {
			return fmt.Errorf("%w; no sequence was changed", err)
		}
		last = func(_ context.Context, name string) (counter, error) { return again[name], nil }
	}
	for k, s := range steps {
		now, err := last(ctx, s.Source)
		if err != nil {
			return fmt.Errorf("counter %q: %w; no sequence was changed", s.Source, err)
		}
		if steps[k], err = i.plan.step(ctx, now, s.Sequence); err != nil {
			return fmt.Errorf("%w; no sequence was changed", err)
		}
	}
	if err := i.source.settle(ctx); err != nil {
		return fmt.Errorf("%w; no sequence was changed", err)
	}
	for k, s := range steps {
		unreached, err := i.plan.do(ctx, s)
		if err != nil {
			return fmt.Errorf("%w; %d of %d counters were imported: remove the cause and repeat the command", err, k, len(steps))
		}
		i.app.WarnUnreached(unreached, "until they learn of the change, they may issue numbers of the blocks that they hold")
	}
	return i.show(out, document{Counters: steps, Applied: true})
}

// reread returns the counters of all steps by name. It fails if one of them has moved: then a program draws numbers.
func (i *importer) reread(ctx context.Context, steps []step) (map[string]counter, error) {
	before := make(map[string]counter, len(steps))
	for _, s := range steps {
		before[s.Source] = s.counter
	}
	again, err := i.source.counters(ctx, func(name string) bool { _, ok := before[name]; return ok })
	if err != nil {
		return nil, err
	}
	now := make(map[string]counter, len(again))
	for _, c := range again {
		now[c.name] = c
	}
	for name, was := range before {
		c, ok := now[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("counter %q is gone", name)
		case c.last != was.last:
			return nil, fmt.Errorf("counter %q: a program draws numbers: it was at %d and is at %d now; stop all programs, or use --fence", name, was.last, c.last)
		}
	}
	return now, nil
}
