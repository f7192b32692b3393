package template

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newApply(a *cli.App) *cobra.Command {
	var dryRun, force, forceFormat bool
	cmd := &cobra.Command{
		Use:   "apply PATTERN",
		Short: "Give existing sequences the settings of their template",
		Long: `Give the sequences that began with a template its present settings. Each change obeys the
rules of "snowraft seq update", and a refusal of one does not stop the others. The command
lists the sequences that differ, with the reason of each refusal. With --dry-run, it
changes nothing. After an interruption, run the command again: sequences that have the
settings stay as they are.`,
		Example: `  snowraft template apply 'invoices/*' --dry-run
  snowraft template apply 'invoices/*'`,
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "change nothing and list the outcomes")
	cmd.Flags().BoolVar(&force, "force", false, "change sequences even if numbers repeat")
	cmd.Flags().BoolVar(&forceFormat, "force-format", false, "change formats even if texts repeat")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		all := &snowraftv1.ApplyTemplateResponse{}
		var generation *uint64
		applied, err := cli.List(func(token string) ([]*snowraftv1.AppliedSequence, string, error) {
			resp, err := r.Templates.ApplyTemplate(ctx, &snowraftv1.ApplyTemplateRequest{
				Pattern: args[0], PageSize: cli.PageSize, PageToken: token, DryRun: dryRun, Force: force, ForceFormat: forceFormat, ExpectedGeneration: generation,
			})
			if err == nil {
				generation = new(resp.GetGeneration())
				all.Unchanged += resp.GetUnchanged()
				all.Generation = resp.GetGeneration()
				a.WarnUnreached(resp.GetUnreachedMembers(), unknown)
			}
			return resp.GetSequences(), resp.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		all.Sequences = applied
		done := "changed"
		if dryRun {
			done = "would change"
		}
		return out.Answer(all, cli.Table(applied, []string{"NAME", "FIELDS", "OUTCOME", "ERROR"}, func(s *snowraftv1.AppliedSequence) []any {
			return []any{s.GetName(), strings.Join(s.GetFields(), ", "), cmp.Or(s.GetReason(), done), s.GetError()}
		}))
	})
}
