package docs_test

import (
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the lists of what is promised")

// TestExportedGoAPI holds the packages that compatibility.md makes promises about to a list, so that
// whoever changes what importers see does it on purpose.
func TestExportedGoAPI(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	packages := []string{"client", "sequence", "snowflake"}
	imports := compiled(t, packages)
	for _, name := range packages {
		pkg, err := imports.Import("github.com/snowraft/snowraft/" + name)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString("package " + name + "\n\n" + strings.Join(exported(pkg), "\n") + "\n\n")
	}
	golden(t, "go-api.txt", got.String())
}

// golden compares a list with the one of a file in testdata, or writes it there.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := "testdata/" + file
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want := read(t, path); got != want {
		t.Errorf("docs/%s is not current; if compatibility.md allows the change: go test ./docs -update\n%s", path, difference(want, got))
	}
}

// compiled returns an importer of packages of this module and of what they import.
func compiled(t *testing.T, packages []string) types.Importer {
	t.Helper()
	arguments := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}
	for _, name := range packages {
		arguments = append(arguments, "github.com/snowraft/snowraft/"+name)
	}
	list := exec.CommandContext(t.Context(), "go", arguments...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
}

// exported returns the exported objects of a package with their types and the values of constants, and the exported
// fields and methods of types, promoted ones included. Each takes a line.
func exported(pkg *types.Package) (all []string) {
	in := func(p *types.Package) string {
		if p == pkg {
			return ""
		}
		return p.Name()
	}
	for _, name := range pkg.Scope().Names() {
		object := pkg.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			all = append(all, fmt.Sprintf("%s = %s", types.ObjectString(object, in), object.Val().ExactString()))
		case *types.TypeName:
			all = append(all, typeLines(object, in)...)
		default:
			all = append(all, types.ObjectString(object, in))
		}
	}
	for i, line := range all {
		all[i] = unnamed.ReplaceAllString(line, "")
	}
	return all
}

// unnamed matches the compiler's names of results without a name.
var unnamed = regexp.MustCompile(`#rv[0-9]+ `)

func typeLines(object *types.TypeName, in types.Qualifier) (all []string) {
	name := object.Name()
	if object.IsAlias() {
		return []string{types.ObjectString(object, in)}
	}
	line := "type " + types.TypeString(object.Type(), in)
	switch under := object.Type().Underlying().(type) {
	case *types.Struct:
		all = append(all, line+" struct")
		for f := range under.Fields() {
			field := f.Name()
			if f.Embedded() {
				field = "embedded"
			}
			if f.Exported() {
				all = append(all, fmt.Sprintf("%s struct, %s %s", line, field, types.TypeString(f.Type(), in)))
			}
		}
	case *types.Interface:
		all = append(all, line+" interface")
	default:
		all = append(all, line+" "+types.TypeString(under, in))
	}
	// The methods of the pointer include those of the value.
	ofValue, methods := types.NewMethodSet(object.Type()), types.NewMethodSet(types.NewPointer(object.Type()))
	if types.IsInterface(object.Type()) {
		methods = ofValue
	}
	for method := range methods.Methods() {
		f := method.Obj()
		if !f.Exported() {
			continue
		}
		receiver := name
		if ofValue.Lookup(f.Pkg(), f.Name()) == nil {
			receiver = "*" + name
		}
		signature := strings.TrimPrefix(types.TypeString(f.Type(), in), "func")
		all = append(all, fmt.Sprintf("func (%s) %s%s", receiver, f.Name(), signature))
	}
	return all
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
