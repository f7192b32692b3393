package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func (a *app) sequenceListCommand() *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the sequences",
		Long: `Lists the sequences of the cluster in the order of their names: all of them, or
those whose names begin with --prefix. NEXT is the first number that was not
granted and REMAINING how many are left in this period.`,
		Example: `  snowraft seq list
  snowraft seq list --prefix shop/ -o json`,
		Args: arguments(),
	}
	flag := addFlag(cmd, "", "prefix", "", wordsValue(&prefix, "TEXT"), "only sequences whose names begin like this")
	cmd = a.client(cmd, func(ctx context.Context, r *remote, _ []string) error {
		doc := struct {
			Sequences []sequenceDoc `json:"sequences"`
		}{Sequences: []sequenceDoc{}}
		err := pages(func(token string) (string, error) {
			resp, err := r.sequences().ListSequences(ctx, &snowraftv1.ListSequencesRequest{PageSize: pageSize, PageToken: token, Prefix: prefix})
			for _, s := range resp.GetSequences() {
				doc.Sequences = append(doc.Sequences, newSequenceDoc(s))
			}
			return resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return r.out.answer(doc, table(doc.Sequences,
			column[sequenceDoc]{"NAME", func(d sequenceDoc) string { return d.Name }},
			column[sequenceDoc]{"MODE", func(d sequenceDoc) string { return d.Mode }},
			column[sequenceDoc]{"NEXT", sequenceDoc.next},
			column[sequenceDoc]{"INCREMENT", func(d sequenceDoc) string { return fmt.Sprint(d.Increment) }},
			column[sequenceDoc]{"REMAINING", func(d sequenceDoc) string { return decimal(d.Remaining) }},
			column[sequenceDoc]{"RESET", func(d sequenceDoc) string { return d.Reset }},
			column[sequenceDoc]{"PERIOD", func(d sequenceDoc) string { return d.Period }},
			column[sequenceDoc]{"FORMAT", func(d sequenceDoc) string { return d.Format }},
			column[sequenceDoc]{"DESCRIPTION", func(d sequenceDoc) string { return d.Description }},
		))
	})
	a.completeWithSequences(cmd, flag.Name)
	return cmd
}
