package client_test

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/snowraft/snowraft/"

// public lists the packages with a stable API.
var public = []string{module + "client", module + "sequence", module + "snowflake"}

// Programs can name every type of a public package's API. No such type depends on Snowraft's internal packages.
func TestPublicPackagesExposeNoTypesOfOthers(t *testing.T) {
	t.Parallel()
	for _, path := range public {
		pkg := load(t, path)
		s := surface{seen: make(map[types.Type]bool)}
		for _, name := range pkg.Scope().Names() {
			if o := pkg.Scope().Lookup(name); o.Exported() {
				s.walk(o.Type(), path+"."+name)
			}
		}
		if len(s.seen) < 10 {
			t.Errorf("%s: only %d types were examined", path, len(s.seen))
		}
		for _, fault := range s.faults {
			t.Error(fault)
		}
	}
}

// The walk finds the types of internal packages in the API of an internal package.
func TestSurfaceFindsTypesOfOthers(t *testing.T) {
	t.Parallel()
	pkg := load(t, module+"allocator")
	for name, want := range map[string]string{
		"Open":   module + "internal/clock.Watch", // through a field of a parameter
		"Config": module + "allocator.Config",
		"Issuer": module + "allocator.Issuer",
	} {
		s := surface{seen: make(map[types.Type]bool)}
		s.walk(pkg.Scope().Lookup(name).Type(), name)
		if !slices.ContainsFunc(s.faults, func(f string) bool { return strings.Contains(f, want) }) {
			t.Errorf("%s: %v, want %s among them", name, s.faults, want)
		}
	}
}

// Programs with the client contain no HTTP gateway, and nothing of members but the allocator.
func TestClientContainsNoServer(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"client")
	command.Stderr = t.Output()
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(string(out))
	if !slices.Contains(packages, module+"allocator") {
		t.Fatalf("no allocator among %d packages", len(packages))
	}
	for _, path := range packages {
		for _, unwanted := range []string{"/grpc-gateway/", module + "server", module + "cluster", module + "fsm", "/hashicorp/"} {
			if strings.Contains(path, unwanted) {
				t.Errorf("the client depends on %s", path)
			}
		}
	}
}

// load returns the type information of a package, from the compiler's export data.
func load(t *testing.T, path string) *types.Package {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", path)
	command.Stderr = t.Output()
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	for line := range bytes.Lines(out) {
		if at, file, ok := strings.Cut(strings.TrimSpace(string(line)), " "); ok {
			files[at] = file
		}
	}
	pkg, err := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }).Import(path)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// surface walks the types in the API of a package.
type surface struct {
	seen   map[types.Type]bool
	faults []string
}

func (s *surface) walk(t types.Type, where string) {
	if t == nil || s.seen[t] {
		return
	}
	s.seen[t] = true
	switch t := t.(type) {
	case *types.Alias:
		s.named(t.Obj(), where)
		s.walk(t.Rhs(), where)
	case *types.Named:
		if !s.named(t.Obj(), where) {
			return
		}
		for a := range t.TypeArgs().Types() {
			s.walk(a, where)
		}
		for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
			if m.Obj().Exported() {
				s.walk(m.Type(), where+"."+m.Obj().Name())
			}
		}
		s.walk(t.Underlying(), where)
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				s.walk(f.Type(), where+"."+f.Name())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			s.walk(m.Type(), where+"."+m.Name())
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			s.walk(v.Type(), where)
		}
		for v := range t.Results().Variables() {
			s.walk(v.Type(), where)
		}
	case *types.Map:
		s.walk(t.Key(), where)
		s.walk(t.Elem(), where)
	case interface{ Elem() types.Type }: // pointers, slices, arrays, channels
		s.walk(t.Elem(), where)
	}
}

// named records a type of another package of this module, and reports whether to look into the type.
func (s *surface) named(o *types.TypeName, where string) bool {
	if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path()+"/", module) {
		return false // type of the language or of another module
	}
	if !slices.Contains(public, o.Pkg().Path()) {
		s.faults = append(s.faults, fmt.Sprintf("%s mentions %s.%s", where, o.Pkg().Path(), o.Name()))
	}
	return true
}
