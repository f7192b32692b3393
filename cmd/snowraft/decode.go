package main

import (
	"context"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// decoded is an ID taken apart.
type decoded struct {
	UUID        string `json:"uuid,omitempty"` // what the ID was written as
	ID          uint64 `json:"id,string"`
	Layout      string `json:"layout"`
	Time        string `json:"time"`
	TimestampMS int64  `json:"timestamp_ms,string"`
	Datacenter  uint64 `json:"datacenter,string"`
	Worker      uint64 `json:"worker,string"`
	Sequence    uint64 `json:"sequence,string"`
}

func (a *app) decodeCommand() *cobra.Command {
	var (
		layout   string
		encoding snowflake.Encoding
		ask      bool
	)
	cmd := &cobra.Command{
		Use:   "decode ID",
		Short: "Take an ID apart",
		Long: `Prints the time, datacenter, worker and sequence in an ID, or in a UUID that
"snowraft id --uuid" printed.

This needs no cluster for the presets:
` + either(presetNames()) + `.
For other layouts, or when the cluster's own default layout is another one, add
--server to ask the cluster.`,
		Example: `  snowraft decode 132271570944028672
  snowraft decode 175928847299117063 --layout discord
  snowraft decode Jos2sncHm1 --encoding base58 -o json
  snowraft decode 41771985 --layout orders --server
  snowraft decode 019b76da-a800-701c-8000-3f3a1d4c5b6e`,
		Args: arguments("ID"),
	}
	addLayoutFlag(cmd, &layout, presetNames()...)
	addFlag(cmd, "", "encoding", "", encodingValue(&encoding), "how the ID is written: "+either(encodingNames()))
	cmd.Flags().BoolVar(&ask, "server", false, "ask the cluster, which knows all of its layouts")
	return a.client(cmd, func(ctx context.Context, r *remote, args []string) error {
		if isUUID(args[0]) && cmd.Flags().Changed("encoding") {
			return usagef("--encoding: expected only with an ID, not with a UUID")
		}
		d, err := decodeAny(ctx, r, args[0], encoding, layout, ask)
		if err != nil {
			return err
		}
		return r.out.answer(d, record(
			pair{"UUID", d.UUID},
			pair{"ID", decimal(d.ID)},
			pair{"Layout", d.Layout},
			pair{"Time", d.Time},
			pair{"Datacenter", decimal(d.Datacenter)},
			pair{"Worker", decimal(d.Worker)},
			pair{"Sequence", decimal(d.Sequence)},
		))
	})
}

// askForLayouts says what to do about a layout that is no preset.
const askForLayouts = "add --server to ask the cluster for its own layouts"

// decodeAny takes apart what a user wrote: an ID in an encoding, or a UUID.
func decodeAny(ctx context.Context, r *remote, text string, encoding snowflake.Encoding, layout string, ask bool) (decoded, error) {
	if isUUID(text) {
		return decodeUUID(ctx, r, text, layout, ask)
	}
	id, err := encoding.Decode(text)
	if err != nil {
		return decoded{}, usagef("%s", plain(err))
	}
	if ask {
		return decodeAt(ctx, r, id, layout)
	}
	known, err := preset(layout, askForLayouts)
	if err != nil {
		return decoded{}, err
	}
	return decodeIn(known, id)
}

func decodeIn(layout *snowflake.Layout, id uint64) (decoded, error) {
	parts, err := layout.Unpack(id)
	if err != nil {
		return decoded{}, usagef("%s", plain(err))
	}
	ms := layout.MillisAt(parts.Tick)
	return decoded{
		ID: id, Layout: layout.Name(), Time: stamp(ms), TimestampMS: ms,
		Datacenter: parts.Datacenter, Worker: parts.Worker, Sequence: parts.Sequence,
	}, nil
}

func decodeAt(ctx context.Context, r *remote, id uint64, layout string) (decoded, error) {
	resp, err := r.ids().DecodeId(ctx, &snowraftv1.DecodeIdRequest{Id: id, Layout: layout})
	if err != nil {
		return decoded{}, err
	}
	return decoded{
		ID: resp.GetId(), Layout: resp.GetLayout(), Time: stamp(resp.GetTimestampMs()), TimestampMS: resp.GetTimestampMs(),
		Datacenter: resp.GetDatacenter(), Worker: resp.GetWorker(), Sequence: resp.GetSequence(),
	}, nil
}

// preset returns the preset of that name; hint says what else the user can do.
func preset(name, hint string) (*snowflake.Layout, error) {
	layout, ok := snowflake.Preset(name)
	if !ok {
		return nil, usagef("--layout %q: expected a preset, %s; %s", name, either(presetNames()), hint)
	}
	return layout, nil
}

func presetNames() []string {
	var names []string
	for _, l := range snowflake.Presets() {
		names = append(names, l.Name())
	}
	return names
}
