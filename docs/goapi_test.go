package docs_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the list of exported Go identifiers")

// TestExportedGoAPI holds the packages that compatibility.md makes promises about to a list, so that
// whoever changes what importers see does it on purpose.
func TestExportedGoAPI(t *testing.T) {
	var got bytes.Buffer
	for _, pkg := range []string{"client", "sequence", "snowflake"} {
		got.WriteString("package " + pkg + "\n\n")
		for _, line := range exported(t, "../"+pkg) {
			got.WriteString(line + "\n")
		}
		got.WriteString("\n")
	}
	const path = "testdata/go-api.txt"
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, path); got.String() != want {
		t.Errorf("the exported identifiers differ from docs/%s; if compatibility.md allows it: go test ./docs -update\n%s",
			path, difference(want, got.String()))
	}
}

// exported returns the exported declarations of a package, one per string, sorted.
func exported(t *testing.T, dir string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.FileExports(file) {
			continue
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && !ast.IsExported(receiver(d)) {
					continue // reached through an interface, if at all
				}
				d.Body, d.Doc = nil, nil
				all = append(all, source(t, d))
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.ImportSpec:
						continue
					case *ast.ValueSpec:
						spec.Doc, spec.Comment = nil, nil
						spec.Values = nil // a text may change, and so may how a value is made
					case *ast.TypeSpec:
						spec.Doc, spec.Comment = nil, nil
					}
					all = append(all, source(t, &ast.GenDecl{Tok: d.Tok, Specs: []ast.Spec{spec}}))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// receiver returns the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if generic, ok := t.(*ast.IndexExpr); ok {
		t = generic.X
	}
	name, _ := t.(*ast.Ident)
	return name.Name
}

// source returns the source of a declaration without comments.
func source(t *testing.T, d ast.Decl) string {
	t.Helper()
	ast.Inspect(d, func(n ast.Node) bool {
		if f, ok := n.(*ast.Field); ok {
			f.Doc, f.Comment = nil, nil
		}
		return true
	})
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// difference returns the lines that only one of two texts has.
func difference(before, after string) string {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	var b strings.Builder
	for _, line := range old {
		if !slices.Contains(now, line) {
			b.WriteString("- " + line + "\n")
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			b.WriteString("+ " + line + "\n")
		}
	}
	return b.String()
}
