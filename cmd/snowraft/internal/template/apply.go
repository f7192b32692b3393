package template

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newApply(a *cli.App) *cobra.Command {
	req := &snowraftv1.ApplyTemplateRequest{PageSize: cli.PageSize}
	cmd := &cobra.Command{
		Use:   "apply PATTERN",
		Short: "Give existing sequences the settings of their template",
		Long: `Give the sequences that began with a template its present settings. Each change obeys the
rules of "snowraft seq update", and a refusal of one does not stop the others. The command
lists the refusals and exits with code 1 if there are any. With --dry-run, it changes
nothing and lists all sequences that differ.

After an interruption, run the command again: sequences that have the settings stay as they
are.`,
		Example: `  snowraft template apply 'invoices/*' --dry-run
  snowraft template apply 'invoices/*'`,
	}
	cmd.Flags().BoolVar(&req.DryRun, "dry-run", false, "change nothing and list the outcomes")
	cmd.Flags().BoolVar(&req.Force, "force", false, "change sequences even if numbers repeat")
	cmd.Flags().BoolVar(&req.ForceFormat, "force-format", false, "change formats even if texts repeat")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		req.Pattern = args[0]
		p := application{req: req, all: &snowraftv1.ApplyTemplateResponse{}}
		if err := p.run(ctx, a, r); err != nil {
			if p.checked() == 0 {
				return err
			}
			return fmt.Errorf("%w; %s; run the command again for the rest", err, p.summary())
		}
		if err := p.print(out); err != nil {
			return err
		}
		if p.refused > 0 {
			return cli.Exit(cli.ExitFailed, nil)
		}
		return nil
	})
}

// application is a template that is applied page by page, and the outcomes so far.
type application struct {
	req     *snowraftv1.ApplyTemplateRequest
	all     *snowraftv1.ApplyTemplateResponse
	refused int
}

// run applies all pages. All of them must apply the same settings.
func (p *application) run(ctx context.Context, a *cli.App, r *cli.Remote) error {
	of := ""
	if t, err := r.Templates.GetTemplate(ctx, &snowraftv1.GetTemplateRequest{Pattern: p.req.GetPattern()}); err == nil {
		of = fmt.Sprintf(" of %d", t.GetTemplate().GetSequences()) // without the right to read templates, progress has no total
	}
	progress := a.Progress()
	for {
		resp, err := r.Templates.ApplyTemplate(ctx, p.req)
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), unknown)
		p.all.Sequences = append(p.all.Sequences, resp.GetSequences()...)
		p.all.Unchanged += resp.GetUnchanged()
		p.all.Generation = resp.GetGeneration()
		for _, s := range resp.GetSequences() {
			if s.GetReason() != "" {
				p.refused++
			}
		}
		if resp.GetNextPageToken() == "" {
			return nil
		}
		p.req.PageToken, p.req.ExpectedGeneration = resp.GetNextPageToken(), &p.all.Generation
		progress.Show("checked %d%s sequences", p.checked(), of)
	}
}

func (p *application) checked() uint64 {
	return uint64(len(p.all.GetSequences())) + p.all.GetUnchanged()
}

func (p *application) summary() string {
	done := "changed"
	if p.req.GetDryRun() {
		done = "would change"
	}
	return fmt.Sprintf("%s: %d, refused: %d, unchanged: %d", done, len(p.all.GetSequences())-p.refused, p.refused, p.all.GetUnchanged())
}

func (p *application) print(out *cli.Printer) error {
	listed := p.all.GetSequences()
	if !p.req.GetDryRun() {
		listed = slices.DeleteFunc(slices.Clone(listed), func(s *snowraftv1.AppliedSequence) bool { return s.GetReason() == "" })
	}
	var blocks []cli.Block
	if len(listed) > 0 {
		blocks = append(blocks, cli.Table(listed, []string{"NAME", "FIELDS", "REFUSED", "ERROR"}, func(s *snowraftv1.AppliedSequence) []any {
			return []any{s.GetName(), strings.Join(s.GetFields(), ", "), s.GetReason(), s.GetError()}
		}))
	}
	return out.Answer(p.all, append(blocks, cli.Line("%s", p.summary()))...)
}
