package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

func (a *app) idCommand() *cobra.Command {
	var (
		count    uint64 = 1
		layout   string
		encoding snowflake.Encoding
		after    string
		uuid     bool
	)
	cmd := &cobra.Command{
		Use:   "id",
		Short: "Issue IDs",
		Long: `Asks a member for IDs and prints them, one a line. Large numbers are asked for
in calls of at most 1,000,000, and printed as they come.

IDs of one answer ascend when the member has one lane. With --after, each ID is
greater than the one given, on whichever member: the member waits until it can
issue such IDs, or refuses.

With --uuid, prints each ID as a UUID of version 7 (RFC 9562), unique for the same
reason and in the same order; "snowraft decode" gives the ID in it back. A call
then is for at most 100,000.`,
		Example: `  snowraft id
  snowraft id -n 1000 --encoding base58
  snowraft id --after 132271570944028672
  snowraft id --uuid -n 10
  snowraft id -n 100000000 --addr 10.0.0.1:7700,10.0.0.2:7700 >ids.txt`,
		Args: arguments(),
	}
	addFlag(cmd, "", "count", "n", uintValue(&count, 1), "how many IDs")
	addLayoutFlag(cmd, &layout)
	addFlag(cmd, "", "encoding", "", encodingValue(&encoding), "how IDs are written: "+either(encodingNames()))
	addFlag(cmd, "", "after", "", textValue(&after, "ID"), "issue only IDs greater than this one, written as --encoding says")
	cmd.Flags().BoolVar(&uuid, "uuid", false, "print UUIDs of version 7")
	return a.client(cmd, func(ctx context.Context, r *remote, _ []string) error {
		if uuid {
			for _, name := range []string{"encoding", "after"} {
				if cmd.Flags().Changed(name) {
					return usagef("--%s: expected without --uuid", name)
				}
			}
			return r.printUUIDs(ctx, layout, count)
		}
		req := &snowraftv1.GenerateIdsRequest{Layout: layout}
		if after != "" {
			var err error
			if req.After, err = encoding.Decode(after); err != nil {
				return usagef("--after: %s", plain(err))
			}
		}
		w := newIDWriter(r.out, encoding)
		for count > 0 && w.err == nil {
			req.Count = uint32(min(count, limits.Count))
			resp, err := r.ids().GenerateIds(ctx, req)
			if err != nil {
				return err
			}
			got := w.write(resp.GetRanges())
			if got != uint64(req.GetCount()) {
				return fmt.Errorf("the member answered with %d IDs, expected %d", got, req.GetCount())
			}
			count -= got
		}
		return w.close()
	})
}

// addLayoutFlag adds the flag that names a layout; shells offer the suggestions.
func addLayoutFlag(cmd *cobra.Command, layout *string, suggestions ...string) *pflag.Flag {
	*layout = snowflake.Default().Name()
	v := wordsValue(layout, "NAME")
	v.among = suggestions
	return addFlag(cmd, "", "layout", "l", v, "the layout of the ID")
}
