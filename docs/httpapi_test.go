package docs_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// schema is a type in an OpenAPI document.
type schema struct {
	Ref        string `json:"$ref"`
	Type       string
	Format     string
	Enum       []string
	Items      *schema
	Properties map[string]*schema
}

// operation is a method of a path in an OpenAPI document.
type operation struct {
	Parameters []struct {
		schema
		Name, In, Pattern string
		Required          bool
		Schema            *schema
	}
	Responses map[string]struct{ Schema *schema }
}

// TestHTTPAPI holds the paths, methods, parameters and JSON of /v1 to a list. The document that it is made of is what
// members serve, and a test in server/web sends every operation of it.
func TestHTTPAPI(t *testing.T) {
	t.Parallel()
	var doc struct {
		Paths       map[string]map[string]operation
		Definitions map[string]*schema
	}
	if err := json.Unmarshal([]byte(snowraftv1.OpenAPI), &doc); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			fmt.Fprintf(&got, "%s %s\n", strings.ToUpper(method), path)
			op := doc.Paths[path][method]
			for _, p := range op.Parameters {
				fmt.Fprintf(&got, "  %s %s", p.In, p.Name)
				if p.Required {
					got.WriteString(" (required)")
				}
				fmt.Fprintf(&got, ": %s\n", strings.TrimSpace(cmp.Or(p.Schema, &p.schema).String()+" "+p.Pattern))
			}
			for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
				fmt.Fprintf(&got, "  answer %s: %s\n", status, op.Responses[status].Schema)
			}
		}
	}
	got.WriteString("\n")
	for _, name := range slices.Sorted(maps.Keys(doc.Definitions)) {
		s := doc.Definitions[name]
		fields := s.Properties
		s.Properties = nil
		fmt.Fprintf(&got, "%s: %s\n", name, s)
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			fmt.Fprintf(&got, "  %s: %s\n", field, fields[field])
		}
	}
	if len(doc.Paths) < 20 || len(doc.Definitions) < 20 {
		t.Errorf("%d paths and %d definitions were read", len(doc.Paths), len(doc.Definitions))
	}
	golden(t, "http-api.txt", got.String())
}

// String returns the type in one line.
func (s *schema) String() string {
	switch {
	case s == nil:
		return "nothing"
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/definitions/")
	case s.Items != nil:
		return "[]" + s.Items.String()
	case len(s.Enum) > 0:
		return "one of " + strings.Join(s.Enum, ", ")
	case len(s.Properties) > 0:
		return "object of " + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", ")
	}
	return strings.TrimSpace(s.Type + " " + s.Format)
}
