package seq

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

func newNext(a *cli.App) *cobra.Command {
	var (
		count     uint64 = 1
		requestID string
	)
	cmd := &cobra.Command{
		Use:   "next NAME",
		Short: "Issue the next numbers of a sequence",
		Long: `Issue the next numbers of a sequence and print them, one per line, in the format of the
sequence. The command splits a large count into calls of at most 1,000,000 numbers, and
prints numbers as they arrive. The numbers of one call are consecutive. Between two
calls, other clients may take numbers.

A lost response loses its numbers, unless --request-id is given: a repetition of the
request within 10 minutes returns the same numbers, from any member.`,
		Example: `  snowraft seq next orders
  snowraft seq next orders -n 1000 -o json
  snowraft seq next invoices --request-id basket-4711`,
	}
	cli.AddFlag(cmd, "", "count", "n", cli.UintValue(&count, 1), "number of numbers")
	cli.AddFlag(cmd, "", "request-id", "", cli.WordsValue(&requestID, "ID"), "name of this request, 1 to 64 bytes; a repeated request returns the same numbers")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if requestID != "" && count > limits.Count {
			return cli.Usagef("--count %d: expected at most %d with --request-id, as that is one call", count, limits.Count)
		}
		req := &snowraftv1.NextNumbersRequest{Sequence: args[0], RequestId: requestID}
		w := cli.NewListWriter(out, "")
		return w.Fill(count, limits.Count, func(n uint32) error {
			req.Count = n
			resp, err := r.Sequences.NextNumbers(ctx, req)
			if err == nil {
				err = cli.Complete(uint64(resp.GetCount()), n, "numbers")
			}
			if err != nil {
				return err
			}
			if w.Opening == "" {
				w.Opening = fmt.Sprintf(`{"sequence":%s,"first":"%d","count":"%d","increment":"%d","values":[`,
					cli.AppendJSON(nil, []byte(resp.GetSequence())), resp.GetFirst(), count, resp.GetIncrement())
			}
			return writeNumbers(w, resp)
		})
	})
}

// writeNumbers writes the numbers of one answer. It fails when the answer cannot be understood.
func writeNumbers(w *cli.ListWriter, resp *snowraftv1.NextNumbersResponse) error {
	text, err := texts(resp)
	if err != nil {
		return err
	}
	var buf []byte
	number := resp.GetFirst()
	for i := range int(resp.GetCount()) {
		buf = text(buf[:0], i, number)
		w.Add(buf)
		number += resp.GetIncrement() // after the last number this may wrap: it is not used then
	}
	return nil
}

// texts returns what appends the i-th number of an answer as it is written. Members
// write up to 1,000 numbers in an answer themselves.
func texts(resp *snowraftv1.NextNumbersResponse) (func(dst []byte, i int, number int64) []byte, error) {
	if resp.GetFormat() == "" {
		return func(dst []byte, _ int, number int64) []byte { return strconv.AppendInt(dst, number, 10) }, nil
	}
	if len(resp.GetTexts()) == int(resp.GetCount()) {
		return func(dst []byte, i int, _ int64) []byte { return append(dst, resp.GetTexts()[i]...) }, nil
	}
	format, err := sequence.ParseFormat(resp.GetFormat())
	if err != nil {
		return nil, fmt.Errorf("numbers were given out that this program can't write, expected one as new as the members: %w", err)
	}
	zone, err := sequence.LoadLocation(resp.GetTimeZone())
	if err != nil {
		return nil, fmt.Errorf("numbers were given out that this program can't write: %w", err)
	}
	at := time.UnixMilli(resp.GetIssuedAtMs()).In(zone)
	return func(dst []byte, _ int, number int64) []byte { return format.Append(dst, number, at) }, nil
}

func newLast(a *cli.App) *cobra.Command {
	return client(a, &cobra.Command{
		Use:   "last NAME",
		Short: "Show the last number that a sequence issued",
		Long: `Show the last number that a sequence issued. For a strict sequence this is the last of
the cluster, linearizably. For a relaxed sequence it is the last of the answering
member, because members issue independently. Before the first number the output is
"none" (null in JSON).`,
		Example: `  snowraft seq last orders
  snowraft seq last orders -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Sequences.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: args[0]})
		if err != nil {
			return err
		}
		doc := struct {
			Sequence string `json:"sequence"`
			Last     *int64 `json:"last,string"`
		}{args[0], resp.Last}
		text := "none"
		if doc.Last != nil {
			text = strconv.FormatInt(*doc.Last, 10)
		}
		return out.Answer(doc, cli.Line("%s", text))
	})
}
