package template

import (
	"context"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/seq"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

func newCreate(a *cli.App) *cobra.Command {
	var quota uint64
	var forceFormat bool
	cmd := &cobra.Command{
		Use:   "create PATTERN",
		Short: "Create a template",
		Long: `Create a template. The flags are those of "snowraft seq create", and --format may have
parts of the name: {name:2} is its second part between slashes. Creating an identical
template again succeeds and changes nothing. A pattern that is as specific as another one,
and matches some of the same names, fails.

If the format has parts of the name, it must have each part that the pattern leaves open,
and the texts of two names must always differ. --force-format accepts another format.`,
		Example: `  snowraft template create 'invoices/*' --reset yearly \
    --format 'INV-{name:2}-{date:yyyy}-{seq:05}' --quota 1000
  snowraft template create 'tickets/*' --mode relaxed`,
	}
	f := seq.AddSpecFlags(cmd, false)
	cli.AddFlag(cmd, "", "quota", "", cli.UintValue(&quota, 0), "greatest number of sequences that begin with the template; 0 for no limit")
	cmd.Flags().BoolVar(&forceFormat, "force-format", false, "create the template even if texts repeat")
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		settings, _ := f.Sequence("", cmd.Flags())
		resp, err := r.Templates.CreateTemplate(ctx, &snowraftv1.CreateTemplateRequest{
			Template: &snowraftv1.Template{Pattern: args[0], Settings: settings, Quota: quota}, ForceFormat: forceFormat,
		})
		if err != nil {
			return err
		}
		if resp.GetExisted() {
			return out.Answer(resp, cli.Line("template %q exists, unchanged", args[0]))
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), unknown)
		suspended := ""
		if resp.GetTemplate().GetSuspended() {
			suspended = `; it is suspended until "snowraft template resume"`
		}
		return out.Answer(resp, cli.Line("created template %q%s", args[0], suspended))
	})
}

func newUpdate(a *cli.App) *cobra.Command {
	var quota uint64
	var forceFormat bool
	cmd := &cobra.Command{
		Use:   "update PATTERN",
		Short: "Change a template for new sequences",
		Long: `Change a template, for sequences that begin later. Settings that are not given keep their
values. Sequences that exist stay as they are: see "snowraft template apply".`,
		Example: `  snowraft template update 'invoices/*' --quota 2000
  snowraft template update 'invoices/*' --mode relaxed --if-generation 17`,
	}
	f := seq.AddSpecFlags(cmd, true)
	cli.AddFlag(cmd, "", "quota", "", cli.UintValue(&quota, 0), "greatest number of sequences that begin with the template; 0 for no limit").DefValue = ""
	cmd.Flags().BoolVar(&forceFormat, "force-format", false, "change the format even if texts repeat")
	generation := cli.AddGenerationFlag(cmd, "template")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		settings, fields := f.Sequence("", cmd.Flags())
		mask := cli.Map(func(field string) string { return "settings." + field }, fields)
		if cmd.Flags().Changed("quota") {
			mask = append(mask, "quota")
		}
		if len(mask) == 0 {
			return cli.Usagef("template update: missing setting; set at least one flag such as --format or --quota")
		}
		resp, err := r.Templates.UpdateTemplate(ctx, &snowraftv1.UpdateTemplateRequest{
			Template:   &snowraftv1.Template{Pattern: args[0], Settings: settings, Quota: quota},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: mask}, ExpectedGeneration: generation(), ForceFormat: forceFormat,
		})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), unknown)
		return out.Answer(resp, cli.Line("changed template %q for new sequences", args[0]))
	})
}

func newDelete(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete PATTERN",
		Short: "Delete a template",
		Long: `Delete a template. The sequences that began with it stay. A later template of the same
pattern takes them over.`,
		Example: `  snowraft template delete 'invoices/*'
  snowraft template delete 'invoices/*' --if-generation 17`,
	}
	generation, ask := cli.AddGenerationFlag(cmd, "template"), a.Confirm(cmd)
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if err := ask("Delete the template %q?", args[0]); err != nil {
			return err
		}
		resp, err := r.Templates.DeleteTemplate(ctx, &snowraftv1.DeleteTemplateRequest{Pattern: args[0], ExpectedGeneration: generation()})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), unknown)
		return out.Answer(resp, cli.Line("deleted template %q", args[0]))
	})
}

func newResume(a *cli.App) *cobra.Command {
	var start *int64
	cmd := &cobra.Command{
		Use:   "resume PATTERN",
		Short: "Resume a template that a restore suspended",
		Long: `Resume a template that a restore suspended. The old cluster may have begun sequences that
the backup does not know. --start must lie beyond the numbers of all of them: new sequences
begin there in every period that the old cluster may have begun, and at their usual start
in later ones.`,
		Example: `  snowraft template resume 'invoices/*' --start 100000`,
	}
	cli.AddFlag(cmd, "", "start", "", cli.NumberValue(&start).Only(cli.WholeNumber, func() bool { return start != nil }), "first number of new sequences, beyond those of every lost sequence")
	generation := cli.AddGenerationFlag(cmd, "template")
	return client(a, cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, args []string) error {
		if start == nil {
			return cli.Usagef("template resume: missing --start; set it beyond the numbers of every lost sequence")
		}
		resp, err := r.Templates.ResumeTemplate(ctx, &snowraftv1.ResumeTemplateRequest{Pattern: args[0], Start: *start, ExpectedGeneration: generation()})
		if err != nil {
			return err
		}
		a.WarnUnreached(resp.GetUnreachedMembers(), unknown)
		return out.Answer(resp, cli.Line("resumed template %q; new sequences start at %d", args[0], *start))
	})
}
