package id

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
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
}

// NewDecode returns the command decode.
func NewDecode(a *cli.App) *cobra.Command {
	var (
		layout   string
		encoding snowflake.Encoding
		ask      bool
	)
	cmd := &cobra.Command{
		Use:   "decode ID",
		Short: "Decode an ID into its fields",
		Long: `Decode an ID, or a UUID of "snowraft id --uuid", into its time, datacenter, worker
and sequence.

The command needs no cluster for the presets:
` + cli.Either(cli.PresetNames()) + `.
For other layouts, or if the cluster's default layout differs from the preset, use
--server.`,
		Example: `  snowraft decode 132271570944028672
  snowraft decode 175928847299117063 --layout discord
  snowraft decode Jos2sncHm1 --encoding base58 -o json
  snowraft decode 41771985 --layout orders --server
  snowraft decode 019b76da-a800-701c-8000-3f3a1d4c5b6e`,
	}
	cli.AddLayoutFlag(cmd, &layout, cli.PresetNames()...)
	cli.AddFlag(cmd, "", "encoding", "", cli.EncodingValue(&encoding), "encoding of the ID: "+cli.Either(cli.EncodingNames()))
	cmd.Flags().BoolVar(&ask, "server", false, "take the layout from the cluster")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if isUUID(args[0]) && cmd.Flags().Changed("encoding") {
			return cli.Usagef("--encoding cannot be combined with a UUID")
		}
		d, err := decodeAny(ctx, r, args[0], encoding, layout, ask)
		if err != nil {
			return err
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
	})
}

// askForLayouts says what to do about a layout that is no preset.
const askForLayouts = "use --server for a layout of the cluster"

// decodeAny takes apart what a user wrote: an ID in an encoding, or a UUID.
func decodeAny(ctx context.Context, r *cli.Remote, text string, encoding snowflake.Encoding, layout string, ask bool) (Decoded, error) {
	if isUUID(text) {
		return decodeUUID(ctx, r, text, layout, ask)
	}
	id, err := encoding.Decode(text)
	if err != nil {
		return Decoded{}, cli.Usagef("%s", cli.Plain(err))
	}
	if ask {
		return decodeAt(ctx, r, id, layout)
	}
	known, err := cli.Preset(layout, askForLayouts)
	if err != nil {
		return Decoded{}, err
	}
	return DecodeIn(known, id)
}

// DecodeIn takes an ID of this layout apart.
func DecodeIn(layout *snowflake.Layout, id uint64) (Decoded, error) {
	parts, err := layout.Unpack(id)
	if err != nil {
		return Decoded{}, cli.Usagef("%s", cli.Plain(err))
	}
	return Decoded{
		ID: id, Layout: layout.Name(), TickAtMS: layout.MillisAt(parts.Tick), Tick: parts.Tick,
		Datacenter: parts.Datacenter, Worker: parts.Worker, Sequence: parts.Sequence,
	}, nil
}

func decodeAt(ctx context.Context, r *cli.Remote, id uint64, layout string) (Decoded, error) {
	signed, err := asked(id)
	if err != nil {
		return Decoded{}, err
	}
	resp, err := r.IDs.DecodeId(ctx, &snowraftv1.DecodeIdRequest{Id: signed, Layout: layout})
	if err != nil {
		return Decoded{}, err
	}
	return Decoded{
		ID: id, Layout: resp.GetLayout(), TickAtMS: resp.GetTickAtMs(), Tick: resp.GetTick(),
		Datacenter: resp.GetDatacenter(), Worker: resp.GetWorker(), Sequence: resp.GetSequence(),
	}, nil
}

// isUUID reports whether what a user wrote is meant to be a UUID: no encoding of IDs has
// hyphens.
func isUUID(s string) bool { return strings.Contains(s, "-") }

// decodeUUID takes the ID in a UUID apart. The API decodes numbers, so of a cluster it asks
// for the layout.
func decodeUUID(ctx context.Context, r *cli.Remote, text, name string, ask bool) (Decoded, error) {
	u, err := snowflake.ParseUUID(text)
	if err != nil {
		return Decoded{}, cli.Usagef("%s", cli.Plain(err))
	}
	var layout *snowflake.Layout
	if ask {
		layout, err = layoutOf(ctx, r, name)
	} else {
		layout, err = cli.Preset(name, askForLayouts)
	}
	if err != nil {
		return Decoded{}, err
	}
	id, err := layout.FromUUID(u)
	if err != nil {
		return Decoded{}, cli.Usagef("%s", cli.Plain(err))
	}
	d, err := DecodeIn(layout, id)
	d.UUID = u.String()
	return d, err
}

// layoutOf fetches a layout of the cluster, or takes the preset, as the cluster does when
// it decodes.
func layoutOf(ctx context.Context, r *cli.Remote, name string) (*snowflake.Layout, error) {
	resp, err := r.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
	if known, ok := snowflake.Preset(name); ok && err != nil && rpc.FromError(err).Reason == rpc.UnknownLayout {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	return snowflake.New(rpc.Spec(resp.GetLayout()))
}
