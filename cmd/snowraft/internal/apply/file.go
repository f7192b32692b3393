package apply

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

// fileBytes is the size of the largest file.
const fileBytes = 16 << 20

// file describes a cluster: at most one object of the section config, and objects by name in the other sections.
type file struct {
	path    string
	cluster string // ID of the cluster that the file describes; empty if it does not say
	objects map[string][]object
}

// object is an object of a section as the file gives it, before defaults.
type object struct {
	name  string // empty in the section config
	given map[string]string
}

// section describes the objects of a section of the file.
type section struct {
	key   string
	about string
	keys  []key
	need  []string // keys that each object must have
	named bool     // objects have names
}

// key is a setting of an object. Its value is in the file as a scalar, or a list of scalars.
type key struct {
	name, about string
	form        form
	among       []string // the only values; nil if there are others
	check       func(text string) (expects string, ok bool)
}

// readFile reads the file at a path, or standard input for "-". Its errors are usage errors with the line.
func readFile(a *cli.App, path string) (*file, error) {
	in := a.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, cli.Usagef("--file %q: cannot be read (%v); choose a readable YAML file", path, cli.Innermost(err))
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, fileBytes+1))
	if err != nil {
		return nil, cli.Usagef("--file %q: cannot be read (%v); choose a readable YAML file", path, cli.Innermost(err))
	}
	if len(data) > fileBytes {
		return nil, cli.Usagef("--file %q: more than %d bytes; split the file", path, fileBytes)
	}
	return parse(path, data)
}

// parse reads the text of a file.
func parse(path string, data []byte) (*file, error) {
	f := &file{path: path, objects: map[string][]object{}}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, cli.Usagef("%s: empty; expected a mapping with %s", path, cli.Either(sectionKeys()))
	} else if err != nil {
		return nil, cli.Usagef("%s: expected YAML: %s", path, cli.OneLine(strings.TrimPrefix(err.Error(), "yaml: ")))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, cli.Usagef("%s: expected one YAML document", path)
	}
	return f, f.pairs(document.Content[0], sectionKeys(), func(key string, value *yaml.Node) error {
		if key == clusterKey {
			text, ok := scalar(value)
			if !ok || text == "" {
				return f.wrong(value, "cluster: expected a cluster ID; see \"snowraft status\"")
			}
			f.cluster = text
			return nil
		}
		return f.section(sections[slices.IndexFunc(sections, func(s section) bool { return s.key == key })], value)
	})
}

// clusterKey is the key of the cluster's ID.
const clusterKey = "cluster"

func sectionKeys() []string {
	return append([]string{clusterKey}, cli.Map(func(s section) string { return s.key }, sections)...)
}

// section reads the objects of a section.
func (f *file) section(s section, node *yaml.Node) error {
	f.objects[s.key] = []object{}
	if !s.named {
		return f.object(s, "", node)
	}
	return f.pairs(node, nil, func(name string, value *yaml.Node) error {
		if name == "" {
			return f.wrong(value, s.key+": expected a name that is not empty")
		}
		return f.object(s, name, value)
	})
}

// object reads one object. A name without a value is an object with defaults.
func (f *file) object(s section, name string, node *yaml.Node) error {
	made := object{name: name, given: map[string]string{}}
	path := s.key
	if name != "" {
		path += "." + name
	}
	if null := node.Kind == yaml.ScalarNode && node.Tag == "!!null"; !null || !s.named {
		known := cli.Map(func(k key) string { return k.name }, s.keys)
		err := f.pairs(node, known, func(name string, value *yaml.Node) error {
			k := s.keys[slices.Index(known, name)]
			text, ok := k.form.text(value)
			if expects, valid := k.check(text); !ok || !valid {
				return f.wrong(value, fmt.Sprintf("%s.%s %s: expected %s", path, k.name, shown(value), expects))
			}
			made.given[k.name] = text
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, name := range s.need {
		if _, ok := made.given[name]; !ok {
			return f.wrong(node, fmt.Sprintf("%s: missing %s", path, name))
		}
	}
	f.objects[s.key] = append(f.objects[s.key], made)
	return nil
}

// pairs calls do for each key of a mapping and its value. Each key must be there once and, unless known is nil, be known.
func (f *file) pairs(node *yaml.Node, known []string, do func(key string, value *yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		return f.wrong(node, "expected keys and values, or {} for none")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		at, value := node.Content[i], node.Content[i+1]
		switch {
		case at.Kind != yaml.ScalarNode:
			return f.wrong(at, "expected a key that is text")
		case known != nil && !slices.Contains(known, at.Value):
			return f.wrong(at, fmt.Sprintf("unknown key %q; expected one of %s", at.Value, strings.Join(known, ", ")))
		case seen[at.Value]:
			return f.wrong(at, fmt.Sprintf("%q: given twice; remove one of the two", at.Value))
		case value.Kind == yaml.AliasNode:
			return f.wrong(value, "aliases are not supported; write the value out")
		}
		seen[at.Value] = true
		if err := do(at.Value, value); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) wrong(at *yaml.Node, text string) error {
	return cli.Usagef("%s line %d: %s", f.path, at.Line, text)
}

// scalar returns the text of a scalar as written.
func scalar(node *yaml.Node) (text string, ok bool) {
	return node.Value, node.Kind == yaml.ScalarNode && node.Tag != "!!null"
}

// shown returns a value for an error.
func shown(node *yaml.Node) string {
	switch node.Kind {
	case yaml.ScalarNode:
		return fmt.Sprintf("%.128q", node.Value)
	case yaml.MappingNode:
		return "(a mapping; quote a text that begins with a brace)"
	default:
		return "(a list)"
	}
}
