package id

import (
	"context"
	"fmt"

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
		Use:   "decode ID...",
		Short: "Decode IDs into their fields",
		Long: `Decode IDs, or UUIDs of "snowraft id --uuid", into their times, datacenters, workers
and sequences.

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
  xargs snowraft decode <ids.txt`,
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
		all, soon := make([]Decoded, len(args)), 0
		for i, text := range args {
			if all[i], err = g.decode(text); err != nil && len(args) > 1 {
				err = fmt.Errorf("ID %d: %w", i+1, err)
			}
			if err != nil {
				return err
			}
			if early(all[i]) {
				soon++
			}
		}
		switch {
		case soon > 0 && len(args) == 1:
			a.Warn("ID %d %s", all[0].ID, predates)
		case soon > 0:
			a.Warn("%d of the IDs date to the first minute of the layout, so each %s", soon, predates)
		}
		return cli.AnswerEach(out, all, func(d Decoded) cli.Block {
			return cli.Record(
				"UUID", d.UUID,
				"ID", d.ID,
				"Layout", d.Layout,
				"Time", cli.Stamp(d.TickAtMS),
				"Datacenter", d.Datacenter,
				"Worker", d.Worker,
				"Sequence", d.Sequence,
			)
		}, []string{"ID", "LAYOUT", "TIME", "DATACENTER", "WORKER", "SEQUENCE"}, func(d Decoded) []any {
			return []any{d.ID, d.Layout, cli.Stamp(d.TickAtMS), d.Datacenter, d.Worker, d.Sequence}
		})
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
