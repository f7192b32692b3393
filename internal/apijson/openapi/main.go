// Command openapi copies an OpenAPI document from standard input to standard output. It writes the words
// of enum values in place of their names, which protoc-gen-openapiv2 takes from the protos, adds the right that each
// operation requires, and sorts the services.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	_ "github.com/snowraft/snowraft/proto/snowraft/v1" // registers the descriptors
)

func main() {
	if err := rewrite(os.Stdout, os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func rewrite(w io.Writer, r io.Reader) error {
	document, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if document, err = inOrder(document); err != nil {
		return err
	}
	_, err = w.Write(withRights(inWords(document)))
	return err
}

// services lists the services in the order in which readers need them. The generator sorts them by the names of their files.
var services = []string{
	"IdService", "SequenceService", "ReservationService", "TemplateService", "LayoutService", "TokenService", "ViewService", "ClusterService", "OperationsService", "WorkerService", "BackfillService",
}

type service struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// tags matches the list of services, and its indented text.
var tags = regexp.MustCompile(`(?ms)^  "tags": (\[\n.*?^  \])`)

// inOrder sorts the list of services by the order of services.
func inOrder(document []byte) ([]byte, error) {
	place := tags.FindSubmatchIndex(document)
	if place == nil {
		return document, nil
	}
	var listed []service
	if err := json.Unmarshal(document[place[2]:place[3]], &listed); err != nil {
		return nil, err
	}
	for _, tag := range listed {
		if !slices.Contains(services, tag.Name) {
			return nil, fmt.Errorf("service %s has no place in the order of services", tag.Name)
		}
	}
	slices.SortFunc(listed, func(a, b service) int { return slices.Index(services, a.Name) - slices.Index(services, b.Name) })
	sorted, err := json.MarshalIndent(listed, "  ", "  ")
	if err != nil {
		return nil, err
	}
	return slices.Replace(slices.Clone(document), place[2], place[3], sorted...), nil
}

// upper matches words that may be names of enum values.
var upper = regexp.MustCompile(`\b[A-Z][A-Z0-9_]*\b`)

// inWords replaces the names of enum values with their words, in descriptions and examples too.
func inWords(document []byte) []byte {
	return upper.ReplaceAllFunc(document, func(name []byte) []byte {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(apijson.Package + "." + protoreflect.FullName(name))
		if v, ok := d.(protoreflect.EnumValueDescriptor); ok && err == nil {
			return []byte(apijson.WordOf(v))
		}
		return name
	})
}

// operationID matches the line with the ID of an operation. The ID names the method.
var operationID = regexp.MustCompile(`(?m)^( +)"operationId": "(\w+)_(\w+)",\n`)

// withRights adds to each operation the right that the rule of its method requires.
func withRights(document []byte) []byte {
	return operationID.ReplaceAllFunc(document, func(line []byte) []byte {
		m := operationID.FindSubmatch(line)
		rule := rpc.RuleOf(fmt.Sprintf("/%s.%s/%s", apijson.Package, m[2], m[3]))
		if rule == nil {
			return line
		}
		security := fmt.Sprintf("%[1]s\"security\": [\n%[1]s  {\n%[1]s    \"bearer\": []\n%[1]s  }\n%[1]s],\n%[1]s\"x-right\": %[2]q,\n", m[1], rule.GetRight())
		return append(slices.Clip(line), security...)
	})
}
