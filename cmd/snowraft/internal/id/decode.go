package id

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/snowflake"
)

// Decoded is a DecodeIdResponse of an ID of up to 64 bits, which may have been written as a UUID.
type Decoded struct {
	UUID       string `json:"uuid,omitempty"`
	ID         uint64 `json:"id,string"`
	Layout     string `json:"layout"`
	TickAtMS   int64  `json:"tickAtMs,string"`
	Tick       int64  `json:"tick,string"`
	Datacenter uint64 `json:"datacenter,string"`
	Worker     uint64 `json:"worker,string"`
	Sequence   uint64 `json:"sequence,string"`

	sinceEpoch int64 // ms
}

// NewDecode returns the command decode.
func NewDecode(a *cli.App) *cobra.Command {
	var (
		layout   string
		own      cli.OwnLayout
		encoding snowflake.Encoding
		ask      bool
	)
	cmd := &cobra.Command{
		Use:   "decode [ID...]",
		Short: "Decode IDs into their fields",
		Long: `Decode IDs, or UUIDs of "snowraft id --uuid", into their times, datacenters, workers
and sequences. Without an ID, or for the ID -, it reads IDs from standard input, one per
line.

The command needs no cluster for the presets:
` + cli.Either(cli.PresetNames()) + `;
nor if --fields and --epoch describe the layout. Otherwise, use --server.`,
		Example: `  snowraft decode 132271570944028672
  snowraft decode 175928847299117063 --layout discord
  snowraft decode Jos2sncHm1 --encoding base58 -o json
  snowraft decode 41771985 --layout orders --server
  snowraft decode 7205759403792793601 --epoch 2015-01-01T00:00:00Z \
    --fields time:41,datacenter:5,worker:5,sequence:12
  snowraft decode 019b76da-a800-701c-8000-3f3a1d4c5b6e
  snowraft decode <ids.txt`,
	}
	a.AddLayoutFlag(cmd, &layout, cli.PresetNames()...)
	cli.AddFlag(cmd, "", "encoding", "", cli.EncodingValue(&encoding), "encoding of the IDs: "+cli.Either(cli.EncodingNames()))
	cmd.Flags().BoolVar(&ask, "server", false, "take the layout from the cluster")
	own.AddFlags(cmd, "A layout of your own", "a layout of your own")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		known := func() (*snowflake.Layout, error) {
			return cli.Preset(layout, "use --server for a layout of the cluster, or describe the layout with --fields and --epoch")
		}
		if ask {
			known = inCluster(ctx, r, layout)
		}
		described, err := own.Layout(cmd.Flags())
		switch {
		case err != nil:
			return err
		case described != nil && ask:
			return cli.Usagef("--fields cannot be combined with --server")
		case described != nil:
			known = func() (*snowflake.Layout, error) { return described, nil }
		}
		g := given{encoding: encoding, layout: known}
		if cmd.Flags().Changed("encoding") {
			g.explicit = "encoding"
		}
		if len(args) == 1 && args[0] != "-" {
			d, err := g.decode(args[0])
			if err != nil {
				return err
			}
			if early(d) {
				a.Warn("ID %d %s", d.ID, predates)
			}
			return out.Answer(d, cli.Record(
				"UUID", d.UUID,
				"ID", d.ID,
				"Layout", d.Layout,
				"Time", cli.Stamp(d.TickAtMS),
				"Datacenter", d.Datacenter,
				"Worker", d.Worker,
				"Sequence", d.Sequence,
			))
		}
		texts, missing := args, error(nil)
		if len(args) == 0 {
			texts, missing = []string{"-"}, cli.Usagef("missing argument ID; decode takes ID..., or IDs on standard input")
		}
		if missing != nil && a.Attended() {
			return missing
		}
		n, soon, err := g.decodeAll(each(texts, a.Stdin), out)
		if soon > 0 {
			a.Warn("%d of the IDs date to the first minute of the layout, so each %s", soon, predates)
		}
		if n == 0 && err == nil {
			return missing
		}
		return err
	})
}

// predates is the warning about an ID that is early.
const predates = "is probably older than the layout: its time is not the time at which it was issued"

// early reports whether an ID dates to the first minute of its layout. Such an ID usually is a plain number that the system
// issued before it had the layout.
func early(d Decoded) bool {
	const minute = 60_000
	return d.sinceEpoch < minute
}

// rowsAtOnce is the number of rows after which decodeAll prints a part of its table.
const rowsAtOnce = 1000

// decodeAll prints one line per ID: JSON immediately, and table rows in parts, so that the input may be long. It stops at the
// first invalid ID, after it has printed the IDs before. It returns the number of IDs that it has read, and of those that are
// early.
func (g given) decodeAll(texts iter.Seq2[string, error], out *cli.Printer) (n, soon int, err error) {
	var rows []Decoded
	printed := false
	table := func() error {
		if len(rows) == 0 {
			return nil
		}
		cells := func(d Decoded) []any {
			return []any{d.ID, d.Layout, cli.Stamp(d.TickAtMS), d.Datacenter, d.Worker, d.Sequence}
		}
		heading := []string{"ID", "LAYOUT", "TIME", "DATACENTER", "WORKER", "SEQUENCE"}
		block := cli.Table(rows, heading, cells)
		if printed {
			block = cli.MoreRows(rows, heading, cells)
		}
		printed = true
		failed := out.Answer(nil, block)
		rows = rows[:0]
		return failed
	}
	for text, failed := range texts {
		var d Decoded
		if err = failed; err == nil {
			n++
			if d, err = g.decode(text); err != nil {
				err = fmt.Errorf("ID %d: %w", n, err)
			} else if early(d) {
				soon++
			}
		}
		switch {
		case err != nil:
		case out.JSON:
			err = out.Answer(d)
		default:
			if rows = append(rows, d); len(rows) == rowsAtOnce {
				err = table()
			}
		}
		if err != nil {
			break
		}
	}
	return n, soon, errors.Join(table(), err)
}

// decode decodes an ID as users write it.
func (g given) decode(text string) (Decoded, error) {
	id, uuid, err := g.id(text)
	if err != nil {
		return Decoded{}, err
	}
	layout, err := g.layout()
	if err != nil {
		return Decoded{}, err
	}
	d, err := DecodeIn(layout, id)
	d.UUID = uuid
	return d, err
}

// DecodeIn decodes an ID of the given layout.
func DecodeIn(layout *snowflake.Layout, id uint64) (Decoded, error) {
	parts, err := layout.Unpack(id)
	if err != nil {
		return Decoded{}, cli.Usagef("%s", cli.Plain(err))
	}
	return Decoded{
		ID: id, Layout: layout.Name(), TickAtMS: layout.MillisAt(parts.Tick), Tick: parts.Tick,
		Datacenter: parts.Datacenter, Worker: parts.Worker, Sequence: parts.Sequence,
		sinceEpoch: layout.MillisAt(parts.Tick) - layout.MillisAt(0),
	}, nil
}
