package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
)

// configFile holds the settings of a YAML file, a flat mapping of the names of
// flags to their values. A nil configFile has none.
type configFile struct {
	entries map[string]fileEntry
}

// fileEntry is a setting as it stands in a file.
type fileEntry struct {
	text  string
	where string // file, line and key: what an error names
}

func (f *configFile) entry(name string) (fileEntry, bool) {
	if f == nil {
		return fileEntry{}, false
	}
	e, ok := f.entries[name]
	return e, ok
}

// readConfigFile reads the file at path, which the flag or variable of that name
// gave. Every key must be a setting among flags.
func readConfigFile(name, path string, flags *pflag.FlagSet) (*configFile, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("%s %q: expected a YAML file that can be read: %v", name, path, innermost(err))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return nil, nil // nothing but comments
	case err != nil:
		return nil, usagef("%s: expected YAML: %s", path, oneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, usagef("%s: expected one YAML document", path)
	}
	root := document.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, usagef("%s line %d: expected keys and values, such as \"data-dir: /var/lib/snowraft\"", path, root.Line)
	}
	file := &configFile{entries: map[string]fileEntry{}}
	for i := 0; i+1 < len(root.Content); i += 2 {
		if err := file.add(path, root.Content[i], root.Content[i+1], flags); err != nil {
			return nil, err
		}
	}
	return file, nil
}

func (f *configFile) add(path string, key, node *yaml.Node, flags *pflag.FlagSet) error {
	at := fmt.Sprintf("%s line %d", path, key.Line)
	text, scalar := scalarText(node)
	names := settingNames(flags)
	if !slices.Contains(names, key.Value) {
		return usagef("%s: unknown key %q (value %q), expected one of %s", at, key.Value, text, strings.Join(names, ", "))
	}
	flag := flags.Lookup(key.Value)
	if _, twice := f.entries[flag.Name]; twice {
		return usagef("%s: %s is given twice, expected it once", at, flag.Name)
	}
	if v, ok := flag.Value.(*value); !scalar && !(ok && v.list && node.Kind == yaml.SequenceNode) {
		return usagef("%s: %s: expected a single value: %s", at, flag.Name, expected(flag))
	}
	if text == "" {
		return usagef("%s: %s has no value, expected %s", at, flag.Name, expected(flag))
	}
	f.entries[flag.Name] = fileEntry{text: text, where: at + ": " + flag.Name}
	return nil
}

// scalarText returns the text of a value as it was written, that of a list joined by commas.
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
		if len(f.Annotations[envNote]) > 0 && f.Name != configFlag {
			names = append(names, f.Name)
		}
	})
	return names
}

// innermost returns the cause at the bottom of err: "permission denied" without path and call.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
