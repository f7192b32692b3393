// Package apply has the commands apply, which makes a cluster as a file describes it, and export-config, which writes that file.
package apply

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// options are the flags of apply.
type options struct {
	path, secrets string
	starts        map[string]int64
	dry, prune    bool
}

// New returns the command apply.
func New(a *cli.App) *cobra.Command {
	o := options{starts: map[string]int64{}}
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Make the cluster as a file describes it",
		Long: `Make the cluster as a YAML file describes it: its configuration, layouts, templates,
sequences and API tokens. "snowraft export-config" writes such a file. Sections and, in
config, settings that the file omits stay as they are. Elsewhere, an omitted setting has
its default.

The command lists the differences (+ new, ~ changed, - deleted) and makes the changes, each
by the rules of commands such as "snowraft seq update" without --force. If one is refused
beforehand (!), it does nothing. If members refuse one, it makes the others and exits with
code 1. Run it again after an interruption. With --dry-run, it changes nothing, and exits
with code 4 if there are differences.

A new sequence or template needs a start in the file, unless the file names this cluster.
If it names another one, that cluster may have issued the numbers: then only --start counts.

With --prune, it deletes sequences, templates and tokens that the file lacks, if the file has
their section. It lists them and asks first. It keeps sequences that began with a template.

Scopes and limits of existing tokens change without a new secret. The secret of a new token
goes to a new file of mode 0600 in --secrets-dir.`,
		Example: `  snowraft apply -f cluster.yaml --dry-run
  snowraft apply -f cluster.yaml --secrets-dir ./secrets
  snowraft apply -f cluster.yaml --prune
  snowraft apply -f other.yaml --start orders=2000001`,
	}
	cmd.Flags().SortFlags = false
	file := cli.AddFlag(cmd, "", "file", "f", cli.FileValue(&o.path), "YAML file that describes the cluster; - reads standard input")
	_ = cmd.MarkFlagFilename(file.Name, "yaml", "yml") // the flag exists
	cmd.Flags().BoolVar(&o.dry, "dry-run", false, "list the differences and change nothing")
	cmd.Flags().BoolVar(&o.prune, "prune", false, "delete what sections of the file do not list")
	cli.AddFlag(cmd, "", "start", "", startsValue(o.starts), "first number of a new sequence or template of a file that describes another cluster; repeat the flag for several")
	secrets := cli.AddFlag(cmd, "", "secrets-dir", "", cli.TextValue(&o.secrets, "DIR"), "directory for the secrets of new tokens, each in a new file NAME.token")
	_ = cmd.MarkFlagDirname(secrets.Name)
	ask := a.Confirm(cmd)
	return a.Client(cmd, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		if o.path == "" {
			return cli.Usagef("apply: missing --file; set it to the YAML file that describes the cluster")
		}
		f, err := readFile(a, o.path)
		if err != nil {
			return err
		}
		yes := cmd.Flags().Changed("yes")
		return o.run(ctx, a, r, out, f, func(format string, args ...any) error {
			if !yes && !a.Attended() {
				return cli.Usagef("--prune: no terminal to ask at; look at the output of --dry-run, then add --yes")
			}
			return ask(format, args...)
		})
	})
}

// startsValue returns a value that adds NAME=N to starts.
func startsValue(starts map[string]int64) *cli.Value {
	return &cli.Value{
		Kind: "NAME=N", Expects: "NAME=N, such as orders=2000001", Text: func() string { return "" },
		Parse: func(s string) bool {
			at := strings.LastIndexByte(s, '=')
			if at < 1 {
				return false
			}
			n, err := strconv.ParseInt(s[at+1:], 10, 64)
			starts[s[:at]] = n
			return err == nil
		},
	}
}

// run makes the cluster as the file says.
func (o *options) run(ctx context.Context, a *cli.App, r *cli.Remote, out *cli.Printer, f *file, ask func(string, ...any) error) error {
	p := &planner{file: f, starts: o.starts, prune: o.prune, dry: o.dry, now: a.Now()}
	var err error
	if p.cluster, err = clusterOf(ctx, r); err != nil {
		return err
	}
	if err := p.checkStarts(); err != nil {
		return err
	}
	if p.prune && p.elsewhere() {
		return cli.Usagef("--prune: %s describes the cluster %s, and this one is %s", f.path, f.cluster, p.cluster)
	}
	t := tokens{Remote: r, secrets: &secrets{o.secrets}}
	if own, err := trust.ParseToken(r.Token()); err == nil {
		t.own = own.ID
	}
	if err := p.plan(ctx, r, t); err != nil {
		return err
	}
	done := &result{ClusterID: p.cluster, Changes: append([]*change{}, p.changes...), Unchanged: p.unchanged}
	refusals := done.count("", outcomeRefused)
	if o.dry || refusals > 0 || len(done.Changes) == 0 {
		err := out.Answer(done, done.blocks()...)
		switch {
		case err != nil || len(done.Changes) == 0:
			return err
		case refusals > 0:
			return cli.Exit(cli.ExitFailed, nil)
		default:
			return cli.Exit(cli.ExitDiffers, nil)
		}
	}
	if len(p.deletions) > 0 {
		var list strings.Builder
		for _, c := range p.deletions {
			fmt.Fprintf(&list, "- %s\n", c.title())
		}
		if err := ask("%sDelete these permanently, because %s does not have them?", cli.Visible(list.String()), f.path); err != nil {
			return err
		}
	}
	failed := done.run(ctx, a)
	if err := out.Answer(done, done.blocks()...); err != nil || failed != nil {
		return cmp.Or(failed, err)
	}
	if done.count("", outcomeRefused) > 0 {
		return cli.Exit(cli.ExitFailed, nil)
	}
	return nil
}

// clusterOf returns the ID of the cluster that the members at all addresses belong to.
func clusterOf(ctx context.Context, r *cli.Remote) (string, error) {
	resp, err := r.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
	if err != nil {
		return "", err
	}
	if resp.GetClusterId() == "" {
		return "", fmt.Errorf("member %q has not joined a cluster; see \"snowraft status\"", resp.GetName())
	}
	if len(r.Addresses) > 1 {
		for _, address := range r.Addresses {
			if err := sameCluster(ctx, r, address, resp.GetClusterId()); err != nil {
				return "", err
			}
		}
	}
	return resp.GetClusterId(), nil
}

// sameCluster returns an error if the member at an address answers, and belongs to another cluster.
func sameCluster(ctx context.Context, r *cli.Remote, address, cluster string) error {
	one, err := r.At(address)
	if err != nil {
		return err
	}
	defer one.Close()
	if resp, err := one.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{}); err == nil && resp.GetClusterId() != cluster {
		return cli.Usagef("--addr: %s is of the cluster %q, and another address of %q; name members of the same cluster", address, resp.GetClusterId(), cluster)
	}
	return nil
}
