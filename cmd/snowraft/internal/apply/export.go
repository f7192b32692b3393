package apply

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// schemaURL is the address of the schema, which editors find in the first line of a file.
const schemaURL = "https://raw.githubusercontent.com/snowraft/snowraft/main/docs/cluster.schema.json"

// NewExport returns the command export-config.
func NewExport(a *cli.App) *cobra.Command {
	return a.Client(&cobra.Command{
		Use:   "export-config",
		Short: "Write the file that describes the cluster",
		Long: `Write the YAML file that describes the cluster, for "snowraft apply": its ID, configuration,
layouts, templates, sequences and API tokens. It has no secret and no number that was issued.
Sequences that began with a template are left out, and so are settings that have their
defaults, except those of the configuration. Without the right tokens:admin, the file has no
tokens.

The output is the same until a setting changes, so it can be kept under version control.`,
		Example: `  snowraft export-config >cluster.yaml
  snowraft export-config -o json`,
	}, func(ctx context.Context, r *cli.Remote, out *cli.Printer, _ []string) error {
		root, err := export(ctx, a, r)
		if err != nil {
			return err
		}
		if out.JSON {
			var document any
			if err := root.Decode(&document); err != nil {
				return err
			}
			line, err := json.Marshal(document)
			if err != nil {
				return err
			}
			return out.Raw(func(w io.Writer) error {
				_, err := w.Write(append(line, '\n'))
				return err
			})
		}
		return out.Raw(func(w io.Writer) error {
			encoder := yaml.NewEncoder(w)
			encoder.SetIndent(2)
			if err := encoder.Encode(root); err != nil {
				return err
			}
			return encoder.Close()
		})
	})
}

// export returns the description of the cluster.
func export(ctx context.Context, a *cli.App, r *cli.Remote) (*yaml.Node, error) {
	cluster, err := clusterOf(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := r.Cluster.GetConfig(ctx, &snowraftv1.GetConfigRequest{})
	if err != nil {
		return nil, err
	}
	config := object{given: map[string]string{}}
	for _, s := range configSettings {
		config.given[s.key] = s.value(resp.GetConfig()).Text()
	}
	root := &yaml.Node{Kind: yaml.MappingNode, HeadComment: "yaml-language-server: $schema=" + schemaURL}
	put(root, clusterKey, isText.node(cluster))
	put(root, configSection.key, configSection.node(config))
	for _, of := range []func() error{
		func() error { return exportAll(ctx, root, layouts{r}) },
		func() error { return exportAll(ctx, root, templates{r}) },
		func() error { return exportAll(ctx, root, sequences{r}) },
		func() error { return exportAll(ctx, root, tokens{Remote: r}) },
	} {
		err := of()
		if rpc.FromError(err).Code == codes.PermissionDenied && len(root.Content) > 0 {
			a.Warn("left out: %v", err)
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return root, nil
}

// exportAll adds the section of a kind to the description. A section without an object is left out, because --prune would take it
// for a complete list.
func exportAll[M any](ctx context.Context, root *yaml.Node, k kind[M]) error {
	all, err := k.list(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b M) int { return strings.Compare(k.name(a), k.name(b)) })
	s := k.section()
	list := &yaml.Node{Kind: yaml.MappingNode}
	for _, m := range all {
		if k.omitted(m) {
			continue
		}
		o, err := given(k, m)
		if err != nil {
			return err
		}
		put(list, o.name, s.node(o))
	}
	if len(list.Content) > 0 {
		put(root, s.key, list)
	}
	return nil
}

// node returns an object as the file has it.
func (s section) node(o object) *yaml.Node {
	made := &yaml.Node{Kind: yaml.MappingNode}
	for _, k := range s.keys {
		if text, ok := o.given[k.name]; ok {
			put(made, k.name, k.form.node(text))
		}
	}
	return made
}

// put adds a key and its value to a mapping.
func put(mapping *yaml.Node, key string, value *yaml.Node) {
	mapping.Content = append(mapping.Content, isText.node(key), value)
}
