package id

import (
	"context"
	"strings"
	"sync"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// given reads IDs as users write them: in an encoding, or as the UUIDs of "snowraft id --uuid".
type given struct {
	encoding snowflake.Encoding
	// explicit is the flag that gave the encoding; empty if the user gave none.
	explicit string
	// layout returns the layout of the IDs, which UUIDs do not name.
	layout func() (*snowflake.Layout, error)
}

// id returns the ID in a text, and the UUID if the text is one.
func (g given) id(text string) (id uint64, uuid string, err error) {
	// No encoding of IDs has hyphens, and a negative number is not a UUID.
	if strings.LastIndex(text, "-") < 1 {
		if id, err = g.encoding.Decode(text); err != nil {
			return 0, "", cli.Usagef("%s", cli.Plain(err))
		}
		return id, "", nil
	}
	if g.explicit != "" {
		return 0, "", cli.Usagef("--%s cannot be combined with a UUID", g.explicit)
	}
	u, err := snowflake.ParseUUID(text)
	if err != nil {
		return 0, "", cli.Usagef("%s", cli.Plain(err))
	}
	layout, err := g.layout()
	if err != nil {
		return 0, "", err
	}
	if id, err = layout.FromUUID(u); err != nil {
		return 0, "", cli.Usagef("%s", cli.Plain(err))
	}
	return id, u.String(), nil
}

// inCluster returns a function that fetches a layout from the cluster once. For a preset that the cluster lacks, the function
// returns the preset, as the cluster does when it decodes.
func inCluster(ctx context.Context, r *cli.Remote, name string) func() (*snowflake.Layout, error) {
	return sync.OnceValues(func() (*snowflake.Layout, error) {
		resp, err := r.Layouts.GetLayout(ctx, &snowraftv1.GetLayoutRequest{Name: name})
		if known, ok := snowflake.Preset(name); ok && err != nil && rpc.FromError(err).Reason == rpc.UnknownLayout {
			return known, nil
		}
		if err != nil {
			return nil, err
		}
		return snowflake.New(rpc.Spec(resp.GetLayout()))
	})
}
