package template

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newGet(a *cli.App) *cobra.Command {
	return client(a, &cobra.Command{
		Use:   "get PATTERN",
		Short: "Show a template",
		Long:  `Show a template and the settings of the sequences that begin with it.`,
		Example: `  snowraft template get 'invoices/*'
  snowraft template get 'invoices/*' -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		resp, err := r.Templates.GetTemplate(ctx, &snowraftv1.GetTemplateRequest{Pattern: args[0]})
		if err != nil {
			return err
		}
		t := resp.GetTemplate()
		s := t.GetSettings()
		return out.Answer(resp, cli.Record(
			"Pattern", t.GetPattern(),
			"Sequences", count(t),
			"Description", s.GetDescription(),
			"Mode", cli.Word(s.GetMode()),
			"Start", s.GetStart(),
			"Increment", s.GetIncrement(),
			"Range", fmt.Sprintf("%d to %d", s.GetMin(), s.GetMax()),
			"Reset", cli.Word(s.GetReset_()),
			"Years start", s.GetYearStarts(),
			"Late", cli.TextIf(s.GetLateMs() != 0, "%s after each period", cli.DayMilliseconds(s.GetLateMs())),
			"Time zone", cmp.Or(s.GetTimeZone(), "UTC"),
			"Format", s.GetFormat(),
			"Blocks", cli.TextIf(s.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED,
				"of %s, %d to %d numbers", cli.Milliseconds(s.GetBlockDurationMs()), s.GetMinBlock(), s.GetMaxBlock()),
			"Reuse", cli.TextIf(s.GetReuse(), "numbers that were never committed"),
			"Created", cli.StampKnown(t.GetCreatedAtMs()),
			"Generation", t.GetGeneration(),
			"Resumed at", cli.TextIf(t.ResumedStart != nil, "start %d", t.GetResumedStart()),
			"Suspended", cli.TextIf(t.GetSuspended(), `yes, by a restore; see "snowraft template resume"`),
		))
	})
}

// count returns the number of sequences of a template, and its quota.
func count(t *snowraftv1.Template) string {
	if t.GetQuota() == 0 {
		return fmt.Sprint(t.GetSequences())
	}
	return fmt.Sprintf("%d of %d", t.GetSequences(), t.GetQuota())
}

func newList(a *cli.App) *cobra.Command {
	var prefix string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the templates",
		Long:  `List the templates of the cluster by pattern: all, or those that begin with --prefix.`,
		Example: `  snowraft template list
  snowraft template list --prefix invoices/ -o json`,
	}
	cli.AddFlag(cmd, "", "prefix", "", cli.WordsValue(&prefix, "TEXT"), "prefix of the patterns to list")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		all, err := cli.List(func(token string) ([]*snowraftv1.Template, string, error) {
			resp, err := r.Templates.ListTemplates(ctx, &snowraftv1.ListTemplatesRequest{PageSize: cli.PageSize, PageToken: token, Prefix: prefix})
			return resp.GetTemplates(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		heading := []string{"PATTERN", "SEQUENCES", "MODE", "RESET", "FORMAT", "SUSPENDED", "DESCRIPTION"}
		return out.Answer(&snowraftv1.ListTemplatesResponse{Templates: all}, cli.Table(all, heading, func(t *snowraftv1.Template) []any {
			s := t.GetSettings()
			return []any{t.GetPattern(), count(t), cli.Word(s.GetMode()), cli.Word(s.GetReset_()), s.GetFormat(), cli.TextIf(t.GetSuspended(), "yes"), s.GetDescription()}
		}))
	})
}
