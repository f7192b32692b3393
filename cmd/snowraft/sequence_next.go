package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func (a *app) sequenceNextCommand() *cobra.Command {
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
		Args: sequenceArguments(),
	}
	addFlag(cmd, "", "count", "n", uintValue(&count, 1), "how many numbers")
	addFlag(cmd, "", "request-id", "", wordsValue(&requestID, "ID"), "what names this request, 1 to 64 bytes: repeated, it gets the same numbers")
	return a.sequenceClient(cmd, func(ctx context.Context, r *remote, args []string) error {
		if requestID != "" && count > limits.Count {
			return usagef("--count %d: expected at most %d with --request-id, as that is one call", count, limits.Count)
		}
		req := &snowraftv1.NextRequest{Sequence: args[0], RequestId: requestID}
		w := newNumberWriter(r.out, count)
		for count > 0 && w.err == nil {
			req.Count = uint32(min(count, limits.Count))
			resp, err := r.sequences().Next(ctx, req)
			if err != nil {
				return err
			}
			if resp.GetCount() != req.GetCount() {
				return fmt.Errorf("the member answered with %d numbers, expected %d", resp.GetCount(), req.GetCount())
			}
			if err := w.write(resp); err != nil {
				return err
			}
			count -= uint64(req.GetCount())
		}
		return w.close()
	})
}

func (a *app) sequenceLastCommand() *cobra.Command {
	return a.sequenceClient(&cobra.Command{
		Use:   "last NAME",
		Short: "Tell the last number that was given out",
		Long: `Tells the last number of a sequence that was given out: of a strict sequence the
last of all, linearizably; of a relaxed one the last of the member that is asked,
as others number on their own. Before the first number it is "none" (null in JSON).`,
		Example: `  snowraft seq last orders
  snowraft seq last orders -o json`,
		Args: sequenceArguments(),
	}, func(ctx context.Context, r *remote, args []string) error {
		resp, err := r.sequences().GetLast(ctx, &snowraftv1.GetLastRequest{Sequence: args[0]})
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
		return r.out.answer(doc, line("%s", text))
	})
}
