package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// configFile holds the settings of a YAML file: a flat mapping of flag names to values.
type configFile map[string]fileEntry

// fileEntry is a setting in a file.
type fileEntry struct {
	text  string
	where string // file, line and key, for errors
}

// readConfigFile reads the file at path. name is the flag or variable that gave the path, for errors. Keys that are not settings
// among flags are an error, or with others are ignored.
func readConfigFile(name, path string, flags *pflag.FlagSet, others bool) (configFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.Usagef("%s %q: cannot be read (%v); choose a readable YAML file", name, path, cli.Innermost(err))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil // only comments
	case err != nil:
		return nil, cli.Usagef("%s: expected YAML: %s", path, cli.OneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, cli.Usagef("%s: expected one YAML document", path)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, cli.Usagef("%s line %d: expected keys and values, such as \"data-dir: /var/lib/snowraft\"", path, root.Line)
	}
	file := configFile{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if err := file.add(path, root.Content[i], root.Content[i+1], flags, others); err != nil {
			return nil, err
		}
	}
	return file, nil
}

func (f configFile) add(path string, key, node *yaml.Node, flags *pflag.FlagSet, others bool) error {
	at := fmt.Sprintf("%s line %d", path, key.Line)
	text, scalar := scalarText(node)
	names := settingNames(flags)
	if !slices.Contains(names, key.Value) {
		if others {
			return nil
		}
		return cli.Usagef("%s: unknown key %q (value %q); expected one of %s", at, key.Value, text, strings.Join(names, ", "))
	}
	flag := flags.Lookup(key.Value)
	if _, twice := f[flag.Name]; twice {
		return cli.Usagef("%s: %s: set twice; remove one of the two", at, flag.Name)
	}
	if v, ok := flag.Value.(*cli.Value); !scalar && !(ok && v.List && node.Kind == yaml.SequenceNode) {
		return cli.Usagef("%s: %s: expected a single value: %s", at, flag.Name, cli.Expected(flag))
	}
	if text == "" {
		return cli.Usagef("%s: %s: missing value; expected %s", at, flag.Name, cli.Expected(flag))
	}
	f[flag.Name] = fileEntry{text: text, where: at + ": " + flag.Name}
	return nil
}

// scalarText returns the text of a value as written, and the values of a list joined by commas.
func scalarText(node *yaml.Node) (text string, scalar bool) {
	switch node.Kind {
	case yaml.AliasNode:
		return scalarText(node.Alias)
	case yaml.ScalarNode:
		if node.Tag == "!!null" {
			return "", true
		}
		return node.Value, true
	default:
		parts := make([]string, len(node.Content))
		for i, item := range node.Content {
			parts[i] = item.Value
		}
		return strings.Join(parts, ","), false
	}
}

func settingNames(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if len(f.Annotations[cli.EnvNote]) > 0 && f.Name != configFlag {
			names = append(names, f.Name)
		}
	})
	return names
}
