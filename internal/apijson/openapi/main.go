// Command openapi copies an OpenAPI document from standard input to standard output. It writes the words
// of enum values in place of their names, which protoc-gen-openapiv2 takes from the protos.
package main

import (
	"fmt"
	"io"
	"os"
	"regexp"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/snowraft/snowraft/internal/apijson"
	_ "github.com/snowraft/snowraft/proto/snowraft/v1" // for its descriptors
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
	_, err = w.Write(inWords(document))
	return err
}

// upper matches what may be the name of an enum value.
var upper = regexp.MustCompile(`\b[A-Z][A-Z0-9_]*\b`)

// inWords replaces the names of enum values, in descriptions and examples too.
func inWords(document []byte) []byte {
	return upper.ReplaceAllFunc(document, func(name []byte) []byte {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(apijson.Package + "." + protoreflect.FullName(name))
		if v, ok := d.(protoreflect.EnumValueDescriptor); ok && err == nil {
			return []byte(apijson.WordOf(v))
		}
		return name
	})
}
