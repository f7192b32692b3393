package id

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// printUUIDs asks for UUIDs and prints them as they come.
func printUUIDs(ctx context.Context, r *cli.Remote, out *cli.Printer, layout string, count uint64) error {
	w := cli.NewListWriter(out, `{"uuids":[`)
	for count > 0 {
		n := min(count, limits.Texts)
		resp, err := r.IDs.GenerateUuids(ctx, &snowraftv1.GenerateUuidsRequest{Layout: layout, Count: uint32(n)})
		if err != nil {
			return err
		}
		if got := uint64(len(resp.GetUuids())); got != n {
			return fmt.Errorf("the member answered with %d UUIDs, expected %d", got, n)
		}
		for _, uuid := range resp.GetUuids() {
			w.Add([]byte(uuid))
		}
		if err := w.Flush(); err != nil {
			return err
		}
		count -= n
	}
	return w.Close()
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
