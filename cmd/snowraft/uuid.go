package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// printUUIDs asks for UUIDs and prints them as they come.
func (r *remote) printUUIDs(ctx context.Context, layout string, count uint64) error {
	w := newUUIDWriter(r.out)
	for count > 0 && w.err == nil {
		n := min(count, limits.Texts)
		resp, err := r.ids().GenerateUuids(ctx, &snowraftv1.GenerateUuidsRequest{Layout: layout, Count: uint32(n)})
		if err != nil {
			return err
		}
		if got := uint64(len(resp.GetUuids())); got != n {
			return fmt.Errorf("the member answered with %d UUIDs, expected %d", got, n)
		}
		w.writeTexts(resp.GetUuids())
		count -= n
	}
	return w.close()
}

// isUUID reports whether what a user wrote is meant to be a UUID: no encoding of IDs has
// hyphens.
func isUUID(s string) bool { return strings.Contains(s, "-") }

// decodeUUID takes the ID in a UUID apart. The API decodes numbers, so of a cluster it asks
// for the layout.
func decodeUUID(ctx context.Context, r *remote, text, name string, ask bool) (decoded, error) {
	u, err := snowflake.ParseUUID(text)
	if err != nil {
		return decoded{}, usagef("%s", plain(err))
	}
	var layout *snowflake.Layout
	if ask {
		layout, err = r.layout(ctx, name)
	} else {
		layout, err = preset(name, askForLayouts)
	}
	if err != nil {
		return decoded{}, err
	}
	id, err := layout.FromUUID(u)
	if err != nil {
		return decoded{}, usagef("%s", plain(err))
	}
	d, err := decodeIn(layout, id)
	d.UUID = u.String()
	return d, err
}

// layout fetches a layout of the cluster, or takes the preset, as the cluster does when
// it decodes.
func (r *remote) layout(ctx context.Context, name string) (*snowflake.Layout, error) {
	resp, err := r.layouts().GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
	if known, ok := snowflake.Preset(name); ok && err != nil && rpc.FromError(err).Reason == rpc.UnknownLayout {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	return snowflake.New(rpc.Spec(resp.GetLayout()))
}
