package seq

import (
	"context"
	"fmt"
	"iter"
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
		period    string
		from      *int64
	)
	cmd := &cobra.Command{
		Use:   "next NAME",
		Short: "Issue the next numbers of a sequence",
		Long: `Issue the next numbers of a sequence and print them, one per line, in the format of the
sequence. The command splits a large count into calls of at most 1,000,000 numbers, and
prints numbers as they arrive. The numbers of one call are consecutive. Between two
calls, other clients may take numbers.

If a response is lost, its numbers are lost too, unless --request-id is given. With
--request-id, the same request within 10 minutes returns the same numbers, from any
member.

With --period, the numbers belong to that period: the present one, or an earlier one that is
still open (--late of the sequence). They follow all numbers that were granted in it. If the
cluster does not know how the period ended, state the next number with --from. The statement
must be true, because numbers repeat otherwise, and needs the right seq:admin.`,
		Example: `  snowraft seq next orders
  snowraft seq next orders -n 1000 -o json
  snowraft seq next invoices --request-id basket-4711
  snowraft seq next invoices --period 2026-10
  snowraft seq next invoices --period 2026-09 --from 4712`,
	}
	cli.AddFlag(cmd, "", "count", "n", cli.UintValue(&count, 1), "number of numbers")
	cli.AddFlag(cmd, "", "request-id", "", cli.WordsValue(&requestID, "ID"), "name of this request, 1 to 64 bytes; a repeated request returns the same numbers")
	cli.AddFlag(cmd, "", "period", "", cli.WordsValue(&period, "PERIOD"), "period of the numbers, such as 2026-10, or its first day, such as 2026-10-01")
	cli.AddFlag(cmd, "", "from", "", cli.NumberValue(&from).Only(cli.WholeNumber, func() bool { return from != nil }), "next number of a period of which the cluster does not know the end")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if from != nil && period == "" {
			return cli.Usagef("--from: cannot be used without --period")
		}
		if requestID != "" && count > limits.Count {
			return cli.Usagef("--count \"%d\": expected at most %d with --request-id", count, limits.Count)
		}
		req := &snowraftv1.NextNumbersRequest{Sequence: args[0], RequestId: requestID, Period: period, From: from}
		return cli.InCalls(count, limits.Count, func(n uint32) error {
			req.Count = n
			resp, err := r.Sequences.NextNumbers(ctx, req)
			if err == nil {
				err = cli.Complete(uint64(resp.GetCount()), n, "numbers")
			}
			if err != nil {
				return err
			}
			req.From = nil // known from now on
			return printNumbers(out, resp)
		})
	})
}

// printNumbers prints the numbers of one response. The JSON has them among its texts. It fails if it does not
// understand the response.
func printNumbers(out *cli.Printer, resp *snowraftv1.NextNumbersResponse) error {
	numbers, err := texts(resp)
	if err != nil {
		return err
	}
	if !out.JSON {
		return out.Lines(numbers)
	}
	var all []string
	for text := range numbers {
		all = append(all, string(text))
	}
	resp.Texts = all
	return out.Answer(resp)
}

// texts yields the formatted numbers of a response. Each text is valid until the next one. Members format up to
// 1,000 numbers of a response; texts formats the numbers of larger responses.
func texts(resp *snowraftv1.NextNumbersResponse) (iter.Seq[[]byte], error) {
	write := func(dst []byte, number int64) []byte { return strconv.AppendInt(dst, number, 10) }
	switch {
	case resp.GetFormat() == "":
	case len(resp.GetTexts()) == int(resp.GetCount()):
		return func(yield func([]byte) bool) {
			for _, text := range resp.GetTexts() {
				if !yield([]byte(text)) {
					return
				}
			}
		}, nil
	default:
		starts, err := sequence.ParseYearStart(resp.GetYearStarts())
		if err != nil {
			return nil, fmt.Errorf("issued numbers have a start of years that this program does not know; upgrade this program: %w", err)
		}
		format, err := sequence.Calendar{YearStarts: starts}.ParseFormat(resp.GetFormat())
		if err != nil {
			return nil, fmt.Errorf("issued numbers have a format that this program does not know; upgrade this program: %w", err)
		}
		if format.NeedsKey() {
			return nil, fmt.Errorf("the member returned numbers without the texts of the format %q, which only members can write", resp.GetFormat())
		}
		zone, err := sequence.LoadLocation(resp.GetTimeZone())
		if err != nil {
			return nil, fmt.Errorf("issued numbers have a time zone that this program does not know; upgrade this program: %w", err)
		}
		at := time.UnixMilli(resp.GetIssuedAtMs()).In(zone)
		write = func(dst []byte, number int64) []byte { return format.Append(dst, number, at) }
	}
	return func(yield func([]byte) bool) {
		var text []byte
		number := resp.GetFirst()
		for range resp.GetCount() {
			if text = write(text[:0], number); !yield(text) {
				return
			}
			number += resp.GetIncrement() // may wrap after the last number, when the value is not used
		}
	}, nil
}

func newLast(a *cli.App) *cobra.Command {
	return client(a, &cobra.Command{
		Use:   "last NAME",
		Short: "Show the last number that a sequence issued",
		Long: `Show the last number that a sequence issued. For a strict sequence, this is the last
number of the whole cluster, and the read is linearizable. For a relaxed sequence, this
is the last number of the answering member, because members issue independently. Before
the first number, the output is "none" (null in JSON).`,
		Example: `  snowraft seq last orders
  snowraft seq last orders -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Sequences.GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: args[0]})
		if err != nil {
			return err
		}
		text := "none"
		if resp.Last != nil {
			text = strconv.FormatInt(resp.GetLast(), 10)
		}
		return out.Answer(resp, cli.Line("%s", text))
	})
}
