// Package vectors checks the test vectors in proto/vectors, which clients in all languages run, against the Go
// implementation that they describe.
package vectors

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("vectors.update", false, "rewrite the test vectors in proto/vectors")

// Check fails the test unless the file of that name in proto/vectors has the JSON of v. root is the path of the module's
// root, relative to the package of the test. With -vectors.update, Check writes the file instead.
func Check(t *testing.T, root, name string, v any) {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
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

// Read reads the file of that name in proto/vectors into v. updated reports that the caller should write the file anew.
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

// excerpt returns the part of a text around its first difference from another one.
func excerpt(text, other []byte) []byte {
	const around = 300
	first := 0
	for first < len(text) && first < len(other) && text[first] == other[first] {
		first++
	}
	return text[max(0, first-around):min(len(text), first+around)]
}
