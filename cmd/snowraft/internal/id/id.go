// Package id has the commands for IDs: id, decode, encode and whois.
package id

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// New returns the command id.
func New(a *cli.App) *cobra.Command {
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
		Long: `Issue IDs and print them, one per line. The command splits a large count into calls
of at most 1,000,000 IDs, and prints IDs as they arrive.

The IDs of one call ascend if the member has one lane. With --after, each ID is
greater than the given one, on any member: the member waits until it can issue such
IDs, or fails.

With --uuid, print each ID as a UUID of version 7 (RFC 9562). The UUIDs are as unique
as the IDs and in the same order, and "snowraft decode" prints the ID in a UUID. Calls
then have at most 100,000 IDs.`,
		Example: `  snowraft id
  snowraft id -n 1000 --encoding base58
  snowraft id --after 132271570944028672
  snowraft id --uuid -n 10
  snowraft id -n 100000000 --addr 10.0.0.1:7700,10.0.0.2:7700 >ids.txt`,
	}
	cli.AddFlag(cmd, "", "count", "n", cli.UintValue(&count, 1), "number of IDs")
	a.AddLayoutFlag(cmd, &layout)
	cli.AddFlag(cmd, "", "encoding", "", cli.EncodingValue(&encoding), "output encoding: "+cli.Either(cli.EncodingNames()))
	cli.AddFlag(cmd, "", "after", "", cli.TextValue(&after, "ID"), "lower bound: issue only greater IDs; in the encoding of --encoding, or a UUID")
	cmd.Flags().BoolVar(&uuid, "uuid", false, "print UUIDs of version 7")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if uuid {
			for _, name := range []string{"encoding", "after"} {
				if cmd.Flags().Changed(name) {
					return cli.Usagef("--%s cannot be combined with --uuid", name)
				}
			}
			return printUUIDs(ctx, r, out, layout, count)
		}
		req := &snowraftv1.GenerateIdsRequest{Layout: layout}
		if after != "" {
			id, _, err := given{encoding: encoding, layout: inCluster(ctx, r, layout)}.id(after)
			if err != nil {
				return fmt.Errorf("--after: %w", err)
			}
			if req.After, err = asked(id); err != nil {
				return cli.Usagef("--after: %s", cli.Plain(err))
			}
		}
		limit := uint64(limits.Count)
		if out.JSON { // the JSON lists each ID
			req.Packed, limit = new(true), limits.Packed
		}
		return cli.InCalls(count, limit, func(n uint32) error {
			req.Count = n
			resp, err := r.IDs.GenerateIds(ctx, req)
			if err == nil {
				err = cli.Complete(issued(resp), n, "IDs")
			}
			switch {
			case err != nil:
				return err
			case !out.JSON:
				return out.Lines(texts(resp.GetRanges(), encoding))
			case encoding == snowflake.Decimal:
				return out.Answer(resp)
			default:
				return out.Answer(newEncodedIDs(resp, encoding))
			}
		})
	})
}

// asked returns an ID in the type that requests use.
func asked(id uint64) (int64, error) {
	if id > math.MaxInt64 {
		return 0, cli.Usagef("ID %d has 64 bits; IDs of a cluster have at most 63", id)
	}
	return int64(id), nil
}

// issued returns the number of IDs in a response.
func issued(resp *snowraftv1.GenerateIdsResponse) uint64 {
	n := uint64(len(resp.GetIds()))
	for _, r := range resp.GetRanges() {
		n += uint64(r.GetCount())
	}
	return n
}

// texts yields the encoded IDs of ranges. Each text is valid until the next one.
func texts(ranges []*snowraftv1.IdRange, encoding snowflake.Encoding) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var text []byte
		for _, r := range ranges {
			id := r.GetFirst()
			for range r.GetCount() {
				text = encoding.Append(text[:0], uint64(id)) //nolint:gosec // never negative
				if !yield(text) {
					return
				}
				id += r.GetStep()
			}
		}
	}
}

// encodedIDs is a GenerateIdsResponse with its IDs in another encoding.
type encodedIDs struct {
	Ranges []struct{} `json:"ranges"` // always empty
	IDs    []string   `json:"ids"`
}

func newEncodedIDs(resp *snowraftv1.GenerateIdsResponse, encoding snowflake.Encoding) encodedIDs {
	return encodedIDs{[]struct{}{}, cli.Map(func(id int64) string {
		return encoding.Encode(uint64(id)) //nolint:gosec // never negative
	}, resp.GetIds())}
}

// printUUIDs requests UUIDs in calls of limited size, and prints the UUIDs of each call.
func printUUIDs(ctx context.Context, r *cli.Remote, out *cli.Printer, layout string, count uint64) error {
	return cli.InCalls(count, limits.Texts, func(n uint32) error {
		resp, err := r.IDs.GenerateUuids(ctx, &snowraftv1.GenerateUuidsRequest{Layout: layout, Count: n})
		if err == nil {
			err = cli.Complete(uint64(len(resp.GetUuids())), n, "UUIDs")
		}
		if err != nil {
			return err
		}
		return out.Answer(resp, cli.Line("%s", strings.Join(resp.GetUuids(), "\n")))
	})
}
