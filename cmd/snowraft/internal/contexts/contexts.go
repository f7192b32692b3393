// Package contexts has the commands for contexts, below the command that [New] returns.
package contexts

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// New returns the command context.
func New(a *cli.App) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use:   "context",
		Short: "Name clusters, and choose the one to call",
		Long: `Name clusters with their addresses and credentials, and choose the one that commands
call. The contexts are in the file contexts.yaml of the user's configuration, such as
~/.config/snowraft/contexts.yaml. Only the user can read the file, and commands refuse a
file that others can read.

A command uses the context of --context or SNOWRAFT_CONTEXT, otherwise the one of "context
use". Flags and other variables override single settings of a named context. If a
command has --addr or SNOWRAFT_ADDR and no named context, the context in use does not
apply, because its credentials are for another cluster.`,
		Example: `  SNOWRAFT_TOKEN=... snowraft context add prod --addr a.example.net:7700
  snowraft context use prod
  snowraft status --context test`,
	}, newAdd(a), newUse(a), newList(a), newRemove(a))
}

// Document is the JSON document of a context. It contains no token.
type Document struct {
	Name        string `json:"name"`
	Current     bool   `json:"current"`
	Addr        string `json:"addr"`
	Credentials string `json:"credentials"` // token, secret-file or none
	CAFile      string `json:"caFile"`
	SecretFile  string `json:"secretFile"`
}

func document(all *cli.Contexts, name string) Document {
	c := all.All[name]
	d := Document{Name: name, Current: name == all.Current, Addr: c.Addr, Credentials: "none", CAFile: c.CAFile, SecretFile: c.SecretFile}
	switch {
	case c.Token != "":
		d.Credentials = "token"
	case c.SecretFile != "":
		d.Credentials = "secret-file"
	}
	return d
}

func newAdd(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a context",
		Long: `Add a context with the settings of the connection that the flags and the environment
give. The token itself is in the file of the contexts; of a CA and of a secret, only the
path of the file is.`,
		Example: `  SNOWRAFT_TOKEN=... snowraft context add prod --addr a.example.net:7700
  snowraft context add test --addr 10.0.0.1:7700 --secret-file test.secret`,
		Args: cli.Args,
	}
	access := cli.AddContextSettings(cmd)
	return a.Command(cmd, func(_ context.Context, out *cli.Printer, args []string) error {
		name := args[0]
		if !cli.IsContextName(name) {
			return cli.Usagef("NAME %q: expected 1 to 64 letters, digits and the characters . _ -", name)
		}
		c, err := access(cmd.Flags())
		if err != nil {
			return err
		}
		all, err := a.Contexts()
		if err != nil {
			return err
		}
		if _, exists := all.All[name]; exists {
			return cli.Usagef("context %q: exists; choose another name, or remove it with \"snowraft context remove %[1]s\"", name)
		}
		all.All[name] = c
		if err := all.Save(); err != nil {
			return err
		}
		return out.Answer(document(all, name), cli.Line("added context %q; choose it with \"snowraft context use %[1]s\"", name))
	})
}

func newUse(a *cli.App) *cobra.Command {
	return a.Command(&cobra.Command{
		ValidArgsFunction: a.CompleteContexts,

		Use:     "use NAME",
		Short:   "Choose the context that commands use",
		Long:    `Choose the context that commands use if they name none.`,
		Example: `  snowraft context use prod`,
	}, func(_ context.Context, out *cli.Printer, args []string) error {
		all, err := a.Contexts()
		if err != nil {
			return err
		}
		c, err := all.Get(args[0])
		if err != nil {
			return err
		}
		all.Current = args[0]
		if err := all.Save(); err != nil {
			return err
		}
		return out.Answer(document(all, args[0]), cli.Line("using context %q; addresses: %s", args[0], c.Addr))
	})
}

func newList(a *cli.App) *cobra.Command {
	return a.Command(&cobra.Command{
		Use:     "list",
		Short:   "List contexts",
		Long:    `List contexts, without their tokens.`,
		Example: `  snowraft context list`,
	}, func(_ context.Context, out *cli.Printer, _ []string) error {
		all, err := a.Contexts()
		if err != nil {
			return err
		}
		doc := struct {
			Contexts []Document `json:"contexts"`
		}{cli.Map(func(name string) Document { return document(all, name) }, all.Names())}
		return out.Answer(doc, cli.Table(doc.Contexts, []string{"NAME", "ADDRESSES", "CREDENTIALS", "CURRENT"}, func(d Document) []any {
			current := ""
			if d.Current {
				current = "yes"
			}
			return []any{d.Name, d.Addr, d.Credentials, current}
		}))
	})
}

func newRemove(a *cli.App) *cobra.Command {
	return a.Command(&cobra.Command{
		ValidArgsFunction: a.CompleteContexts,

		Use:     "remove NAME",
		Short:   "Remove a context",
		Long:    `Remove a context. If it is in use, commands without a context call the default address.`,
		Example: `  snowraft context remove test`,
	}, func(_ context.Context, out *cli.Printer, args []string) error {
		all, err := a.Contexts()
		if err != nil {
			return err
		}
		if _, err := all.Get(args[0]); err != nil {
			return err
		}
		doc := document(all, args[0])
		delete(all.All, args[0])
		if all.Current == args[0] {
			all.Current = ""
		}
		if err := all.Save(); err != nil {
			return err
		}
		return out.Answer(doc, cli.Line("removed context %q", args[0]))
	})
}
