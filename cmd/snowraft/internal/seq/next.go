package seq

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newNext(a *cli.App) *cobra.Command {
	var (
		count     uint64 = 1
		requestID string
	)
	cmd := &cobra.Command{
		Use:   "next NAME",
		Short: "Give out the next numbers of a sequence",
		Long: `Asks a member for the next numbers of a sequence and prints them, one a line, in
the sequence's format if it has one. Large numbers are asked for in calls of at
most 1,000,000, and printed as they come. The numbers of one call have no gap;
between two calls, others may have taken numbers.

A lost answer is numbers that are lost, unless --request-id is given: the same
request within 10 minutes gets the same numbers, from whichever member.`,
		Example: `  snowraft seq next orders
  snowraft seq next orders -n 1000 -o json
  snowraft seq next invoices --request-id basket-4711`,
		Args: Args(),
	}
	cli.AddFlag(cmd, "", "count", "n", cli.UintValue(&count, 1), "how many numbers")
	cli.AddFlag(cmd, "", "request-id", "", cli.WordsValue(&requestID, "ID"), "what names this request, 1 to 64 bytes: repeated, it gets the same numbers")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if requestID != "" && count > limits.Count {
			return cli.Usagef("--count %d: expected at most %d with --request-id, as that is one call", count, limits.Count)
		}
		req := &snowraftv1.NextRequest{Sequence: args[0], RequestId: requestID}
		w, total := cli.NewListWriter(out, ""), count
		for count > 0 {
			req.Count = uint32(min(count, limits.Count))
			resp, err := r.Sequences.Next(ctx, req)
			if err != nil {
				return err
			}
			if resp.GetCount() != req.GetCount() {
				return fmt.Errorf("the member answered with %d numbers, expected %d", resp.GetCount(), req.GetCount())
			}
			if count == total {
				w.Opening = fmt.Sprintf(`{"sequence":%s,"first":"%d","count":"%d","increment":"%d","values":[`,
					cli.AppendJSON(nil, []byte(resp.GetSequence())), resp.GetFirst(), total, resp.GetIncrement())
			}
			if err := writeNumbers(w, resp); err != nil {
				return err
			}
			count -= uint64(req.GetCount())
		}
		return w.Close()
	})
}
