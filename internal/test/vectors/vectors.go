// Package vectors checks the test vectors in proto/vectors, which clients in all languages run, against the Go
// implementation that they describe.
package vectors

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("vectors.update", false, "rewrite the test vectors in proto/vectors")

// Check fails the test unless the file of that name in proto/vectors has the JSON of v. root is the path of the module's
// root, relative to the package of the test. With -vectors.update, Check writes the file instead.
func Check(t *testing.T, root, name string, v any) {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	write(&text, raw, "\n")
	text.WriteByte('\n')
	path := filepath.Join(root, "proto", "vectors", name)
	if *update {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil { //nolint:gosec // a file of the sources
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, text.Bytes()) {
		t.Errorf("%s differs from what the Go implementation does; if the change is right, run this test with -vectors.update\nhave:\n%s\nwant:\n%s",
			path, excerpt(have, text.Bytes()), excerpt(text.Bytes(), have))
	}
}

// Read reads the file of that name in proto/vectors into v. updated reports that the caller should write the file again.
func Read(t *testing.T, root, name string, v any) (updated bool) {
	t.Helper()
	if *update {
		return true
	}
	text, err := os.ReadFile(filepath.Join(root, "proto", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return false
}

// write writes compact JSON. It breaks values that are longer than a line into lines that begin with newline.
func write(out *bytes.Buffer, raw []byte, newline string) {
	const line = 150
	if len(raw) <= line || raw[0] != '{' && raw[0] != '[' {
		out.Write(raw)
		return
	}
	parts := json.NewDecoder(bytes.NewReader(raw))
	_, _ = parts.Token() // cannot fail: json.Marshal has written it
	for separator := raw[:1]; parts.More(); separator = []byte(",") {
		out.Write(separator)
		out.WriteString(newline + " ")
		if raw[0] == '{' {
			key, _ := parts.Token()
			fmt.Fprintf(out, "%q: ", key)
		}
		var part json.RawMessage
		_ = parts.Decode(&part)
		write(out, part, newline+" ")
	}
	out.WriteString(newline)
	out.WriteByte(raw[len(raw)-1])
}

// excerpt returns the part of a text around its first difference from another one.
func excerpt(text, other []byte) []byte {
	const around = 300
	first := 0
	for first < len(text) && first < len(other) && text[first] == other[first] {
		first++
	}
	return text[max(0, first-around):min(len(text), first+around)]
}
