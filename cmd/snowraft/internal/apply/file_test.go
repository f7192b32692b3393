package apply

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
)

var program = clitest.Commands{New, NewExport}

// A wrong file is refused with the line, before any call.
func TestWrongFilesNameTheLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "-: empty; expected a mapping with cluster, layouts, sequences, templates, config or tokens",
		"a: b\n---\nc: d":                 "-: expected one YAML document",
		"sequences: [":                    "-: expected YAML: ",
		"[]":                              "- line 1: expected keys and values, or {} for none",
		"sequences:":                      "- line 1: expected keys and values, or {} for none",
		"config:":                         "- line 1: expected keys and values, or {} for none",
		"\nsequence: {}":                  `- line 2: unknown key "sequence"; expected one of cluster, layouts, sequences, templates, config, tokens`,
		"sequences:\n  a: {maximum: 5}":   `- line 2: unknown key "maximum"; expected one of mode, start, `,
		"sequences:\n  b:\n  a: {}\n  b:": `- line 4: "b": given twice; remove one of the two`,
		"sequences:\n  a:\n    max: 5\n    max: 6":       `- line 4: "max": given twice`,
		"sequences:\n  a:\n    max: 5.5":                 `- line 3: sequences.a.max "5.5": expected a whole number from -9223372036854775808 to 9223372036854775807`,
		"sequences: {a: {start: default}}":               `sequences.a.start "default": expected a whole number`,
		"sequences: {a: {max: }}":                        `sequences.a.max "": expected a whole number`,
		"sequences: {a: {format: {seq: 5}}}":             "sequences.a.format (a mapping; quote a text that begins with a brace): expected text",
		"sequences: {a: {mode: fast}}":                   `sequences.a.mode "fast": expected relaxed, strict or gapless`,
		"sequences: {a: {reuse: yes}}":                   `sequences.a.reuse "yes": expected true or false`,
		"sequences: {a: {late: 400d}}":                   `sequences.a.late "400d": expected 0, or a time from 1s to 366d`,
		"sequences: {a: {description: \"a\\nb\"}}":       "sequences.a.description",
		"sequences: {a: 5}":                              "expected keys and values",
		"sequences: {'': }":                              "sequences: expected a name that is not empty",
		"sequences: {[a]: }":                             "expected a key that is text",
		"sequences: {a: &x {max: 5}, b: *x}":             "aliases are not supported",
		"layouts: {a: {epoch: 0}}":                       "layouts.a: missing fields",
		"layouts: {a: {epoch: soon, fields: 'time:41'}}": `layouts.a.epoch "soon": expected a time as RFC 3339`,
		"layouts: {a: {epoch: 0, fields: 'time'}}":       `layouts.a.fields "time": expected fields with their widths`,
		"tokens: {a: }":                                  "tokens.a: missing scopes",
		"tokens: {a: {scopes: 'ids:issue:x'}}":           "tokens.a.scopes \"ids:issue:x\": expected a list of scopes",
		"tokens: {a: {scopes: ['ids:issue']}}":           "tokens.a.scopes (a list): expected a list of scopes",
		"config: {max-window: 10}":                       `config.max-window "10": expected a duration from 1s to 24h`,
		"config: {token-workers-percent: 101}":           `config.token-workers-percent "101": expected a whole number from 1 to 100`,
		"cluster: {}":                                    "cluster: expected a cluster ID",
	} {
		w := clitest.New()
		w.In.WriteString(text)
		code := program.In(t.Context(), w.App("test"), "apply", "-f", "-", "--addr", clitest.DeadAddress)
		if got := w.Err.String(); code != cli.ExitUsage || !strings.Contains(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: exit code %d, %s, want %s", text, code, got, want)
		}
	}
	for line, want := range map[string]string{
		"apply":                           "apply: missing --file",
		"apply -f /nonexistent":           `--file "/nonexistent": cannot be read (no such file or directory)`,
		"apply -f x --start orders":       `--start "orders": expected NAME=N, such as orders=2000001`,
		"apply -f x --start orders=first": `--start "orders=first": expected NAME=N`,
		"apply -f x --start =5":           `--start "=5": expected NAME=N`,
	} {
		if _, got, code := program.Run(t, strings.Fields(line)...); code != cli.ExitUsage || !strings.Contains(got, want) {
			t.Errorf("%s: exit code %d, %s, want %s", line, code, got, want)
		}
	}
	w := clitest.New()
	w.In.WriteString(strings.Repeat("#", fileBytes+1))
	if code := program.In(t.Context(), w.App("test"), "apply", "-f", "-"); code != cli.ExitUsage || !strings.Contains(w.Err.String(), "split the file") {
		t.Errorf("a large file: exit code %d, %s", code, w.Err.String())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(everything))
	f.Add([]byte(tokenFile))
	f.Fuzz(func(t *testing.T, data []byte) {
		if made, err := parse("file", data); err == nil {
			for _, s := range sections {
				for _, o := range made.objects[s.key] {
					_ = s.node(o)
				}
			}
		}
	})
}

// The schema of editors has exactly the keys that the program reads.
func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	clitest.GoldenAt(t, "../../../../docs/cluster.schema.json", string(want))
	var root map[string]any
	if err := json.Unmarshal(want, &root); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../../docs/apply.md")
	if err != nil {
		t.Fatal(err)
	}
	files := []string{everything, tokenFile}
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		files = append(files, text)
	}
	if len(files) < 4 {
		t.Errorf("the page has %d files", len(files)-2)
	}
	for _, text := range files {
		if _, err := parse("file", []byte(text)); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
		if why := misfit(root, document(t, text)); why != "" {
			t.Errorf("%s in\n%s", why, text)
		}
	}
	for _, text := range []string{"a: 5", "sequences: {a: {b: 5}}", "sequences: {a: {max: x}}", "sequences: {a: {mode: fast}}", "tokens: {a: {}}", "tokens: {a: {scopes: 5}}", "tokens: {a: {scopes: [5]}}", "layouts: {a: }"} {
		if misfit(root, document(t, text)) == "" {
			t.Errorf("the schema accepts %s", text)
		}
	}
}

// document returns the content of a file as an editor sees it: times are texts.
func document(t *testing.T, text string) any {
	t.Helper()
	var read func(n *yaml.Node) any
	read = func(n *yaml.Node) any {
		switch n.Kind {
		case yaml.DocumentNode:
			return read(n.Content[0])
		case yaml.MappingNode:
			all := map[string]any{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				all[n.Content[i].Value] = read(n.Content[i+1])
			}
			return all
		case yaml.SequenceNode:
			all := []any{}
			for _, item := range n.Content {
				all = append(all, read(item))
			}
			return all
		}
		return n
	}
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	return read(&root)
}

// misfit says why a value does not fit a schema; empty if it fits. It knows the words of JSON schema that the schema uses.
func misfit(schema map[string]any, value any) string {
	var types []any
	switch of := schema["type"].(type) {
	case string:
		types = []any{of}
	case []any:
		types = of
	}
	is, text := "", ""
	switch v := value.(type) {
	case map[string]any:
		is = "object"
	case []any:
		is = "array"
	case *yaml.Node:
		is = map[string]string{"!!int": "integer", "!!bool": "boolean", "!!null": "null"}[v.ShortTag()]
		if is, text = cmp.Or(is, "string"), v.Value; is == "null" && slices.Contains(types, any("null")) {
			return ""
		}
	}
	if !slices.Contains(types, any(is)) {
		return fmt.Sprintf("%v is a %s, want %v", value, is, types)
	}
	if words, ok := schema["enum"].([]any); ok && !slices.Contains(words, any(text)) {
		return text + " is not among the words"
	}
	for i, item := range asList(value) {
		if why := misfit(schema["items"].(map[string]any), item); why != "" {
			return fmt.Sprint(i, ": ", why)
		}
	}
	object, ok := value.(map[string]any)
	if !ok {
		return ""
	}
	required, _ := schema["required"].([]any)
	for _, key := range required {
		if _, ok := object[key.(string)]; !ok {
			return fmt.Sprint(key, " is missing")
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for key, inner := range object {
		of, ok := properties[key].(map[string]any)
		if !ok {
			of, ok = schema["additionalProperties"].(map[string]any)
		}
		if !ok {
			return key + " is unknown"
		}
		if why := misfit(of, inner); why != "" {
			return key + ": " + why
		}
	}
	return ""
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}
