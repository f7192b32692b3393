// Package template has the commands for templates of sequences, below the command that [New] returns.
package template

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// New returns the command template.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:        "template",
		SuggestFor: []string{"templates", "pattern"},
		Short:      "Begin sequences by their first use",
		Long: `Begin sequences by their first use. A template has a pattern and the settings of
sequences. A request for numbers of a name that does not exist, and that the pattern
matches, creates the sequence with a copy of the settings. In a pattern, * stands for one
or more characters except a slash. If several patterns match, the most specific one counts.
Reads create nothing, and a deleted name does not begin again.`,
		Example: `  snowraft template create 'invoices/*' --reset yearly \
    --format 'INV-{name:2}-{date:yyyy}-{seq:05}'
  snowraft seq next invoices/acme
  snowraft template apply 'invoices/*' --dry-run`,
	}, newCreate(a), newGet(a), newList(a), newUpdate(a), newDelete(a), newApply(a), newResume(a))
}

// client makes cmd a client command whose argument is the pattern of a template. Shells offer the existing patterns.
func client(a *cli.App, cmd *cobra.Command, work func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = cli.Args, a.CompleteFirst(patterns)
	return a.Client(cmd, work)
}

func patterns(ctx context.Context, r *cli.Remote, begin string) ([]cobra.Completion, error) {
	resp, err := r.Templates.ListTemplates(ctx, &snowraftv1.ListTemplatesRequest{PageSize: cli.MostCompletions, Prefix: begin})
	return cli.Map(func(t *snowraftv1.Template) cobra.Completion {
		return cobra.CompletionWithDesc(t.GetPattern(), cli.OneLine(t.GetSettings().GetDescription()))
	}, resp.GetTemplates()), err
}

// unknown is the consequence of a change for members that were not reached.
const unknown = "until they learn of the change, they may begin sequences by the old template, or none"
