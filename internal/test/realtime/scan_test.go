package realtime

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestElapsedRealTimeIsNoVerdict finds functions of ordinary tests that compare an elapsed time with an upper or an exact bound,
// outside of the synthetic time of testing/synctest. A busy machine breaks such a bound. The test follows names, and not types.
func TestElapsedRealTimeIsNoVerdict(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, funcs := range functions(t) {
		bubbles := newBubbles(funcs)
		for where, f := range funcs {
			name := f.Name.Name
			if bubbles.only[name] || strings.HasPrefix(name, "Benchmark") || !bubbles.bounds(f) {
				continue
			}
			if listed[where] = true; mayMeasure[where] == "" {
				t.Errorf("%s limits an elapsed real time; use testing/synctest, count, or wait for the event", where)
			}
		}
	}
	for where := range mayMeasure {
		if !listed[where] {
			t.Errorf("%s limits no elapsed real time; remove it from the list", where)
		}
	}
}

// functions returns the functions of ordinary tests, keyed by directory and by FILE:FUNCTION.
func functions(t *testing.T) map[string]map[string]*ast.FuncDecl {
	t.Helper()
	all, root := map[string]map[string]*ast.FuncDecl{}, os.DirFS("../../..")
	err := fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case file == "bench", file == "shared", d.IsDir() && len(file) > 1 && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || !ordinary(parsed) {
			return err
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				dir := path.Dir(file)
				if all[dir] == nil {
					all[dir] = map[string]*ast.FuncDecl{}
				}
				all[dir][file+":"+f.Name.Name] = f
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ordinary reports whether a file needs no build tag of a slower part.
func ordinary(file *ast.File) bool {
	for _, comment := range file.Comments {
		if tags, err := constraint.Parse(comment.List[0].Text); err == nil && comment.Pos() < file.Package {
			return tags.Eval(func(tag string) bool { return slices.Contains([]string{"linux", "unix", "amd64"}, tag) })
		}
	}
	return true
}

// bubbles is the use of synthetic time in a package.
type bubbles struct {
	enter map[string]bool // functions that run a function in a bubble
	only  map[string]bool // helpers that run in bubbles only
}

func newBubbles(funcs map[string]*ast.FuncDecl) bubbles {
	b := bubbles{map[string]bool{"synctest.Test": true, "bubble.Test": true}, map[string]bool{}}
	for range 3 { // a function that runs another one in a bubble may be run by a third one
		for _, f := range funcs {
			takes := slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool { _, is := p.Type.(*ast.FuncType); return is })
			if takes && contains(f.Body, func(n ast.Node) bool { return b.enter[called(n)] }) {
				b.enter[f.Name.Name] = true
			}
		}
	}
	for _, f := range funcs {
		b.only[f.Name.Name] = !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz")
	}
	for changed := true; changed; {
		changed = false
		for _, f := range funcs {
			if !b.only[f.Name.Name] {
				b.outside(f.Body, func(n ast.Node) {
					if b.only[called(n)] {
						b.only[called(n)], changed = false, true
					}
				})
			}
		}
	}
	return b
}

// outside visits the parts of a node that run in real time.
func (b bubbles) outside(n ast.Node, visit func(ast.Node)) {
	ast.Inspect(n, func(n ast.Node) bool {
		if n == nil || b.enter[called(n)] {
			return false
		}
		visit(n)
		return true
	})
}

// bounds reports whether a function limits an elapsed real time. "elapsed < x" is a lower bound, or the condition of a loop.
func (b bubbles) bounds(f *ast.FuncDecl) (found bool) {
	vars, nows := map[string]bool{}, map[string]bool{} // variables set from an elapsed time, and from the present time
	elapsed := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			return vars[n.Name]
		case *ast.CallExpr:
			return called(n) == "time.Since" || called(n) == "Sub" && contains(n, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				return called(n) == "time.Now" || ok && nows[id.Name]
			})
		}
		return false
	}
	b.outside(f.Body, func(n ast.Node) {
		switch s := n.(type) {
		case *ast.AssignStmt:
			for i, value := range s.Rhs {
				if id, ok := s.Lhs[i].(*ast.Ident); ok {
					vars[id.Name] = vars[id.Name] || contains(value, elapsed)
					nows[id.Name] = nows[id.Name] || called(value) == "time.Now"
				}
			}
		case *ast.BinaryExpr:
			compares := s.Op.Precedence() == token.EQL.Precedence() && s.X != nil
			found = found || compares && (contains(s.Y, elapsed) || s.Op != token.LSS && contains(s.X, elapsed))
		}
	})
	return found
}

// called returns the name of the function that a call calls: with its package, if that is time or synctest.
func called(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, ok := f.X.(*ast.Ident); ok && (x.Name == "time" || x.Name == "synctest" || x.Name == "bubble") {
			return x.Name + "." + f.Sel.Name
		}
		return f.Sel.Name
	}
	return ""
}

// contains reports whether a node or a part of it has a property.
func contains(n ast.Node, is func(ast.Node) bool) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		found = found || n != nil && is(n)
		return !found
	})
	return found
}
