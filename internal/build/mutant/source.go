package mutant

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// source is a file of Go, and the changes of bugs.
type source struct {
	text    string
	tree    *ast.File // nil if there is no such file, or it is not Go
	funcs   map[string]*ast.FuncDecl
	imports map[string]string // paths by the names in the file
	frame   string            // all declarations but functions and imports, and the directives

	added change
}

// change adds a bug to a file.
type change struct {
	whole   string            // the file itself, if it is a new one
	imports map[string]string // paths by the names in the file
	calls   map[string]string // statements that begin each function
	funcs   string
}

func newChange() *change {
	return &change{imports: make(map[string]string), calls: make(map[string]string)}
}

func newSource(text string) *source {
	s := &source{text: text, funcs: make(map[string]*ast.FuncDecl), imports: make(map[string]string), added: *newChange()}
	tree, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return s
	}
	s.tree = tree
	for _, i := range tree.Imports {
		name, to := importOf(i)
		s.imports[name] = to
	}
	for _, d := range tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			s.funcs[s.key(f)] = f
		} else if d.(*ast.GenDecl).Tok != token.IMPORT {
			s.frame += s.part(d.Pos(), d.End()) + "\n"
		}
	}
	for _, group := range tree.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:") {
				s.frame += c.Text + "\n"
			}
		}
	}
	return s
}

// importOf returns the name that an import has in its file, and its path.
func importOf(i *ast.ImportSpec) (name, to string) {
	to, _ = strconv.Unquote(i.Path.Value) // valid: the parser accepted it
	if i.Name != nil {
		return i.Name.Name, to
	}
	return path.Base(to), to
}

// part is the text between two positions: those of a set's only file begin at 1.
func (s *source) part(from, to token.Pos) string { return s.text[from-1 : to-1] }

// key names a function in its file. A file may have several functions init.
func (s *source) key(f *ast.FuncDecl) string {
	key := f.Name.Name
	if f.Recv != nil {
		key = s.part(f.Recv.List[0].Type.Pos(), f.Recv.End()) + "." + key
	}
	for s.funcs[key] != nil && s.funcs[key] != f {
		key += "'"
	}
	return key
}

// compare returns what a bug adds, so that the file does as the patched one where the bug of a number is chosen. It
// returns nil if the two differ by more than bodies of functions, imports, and what does nothing until it is used.
func (s *source) compare(patched *source, name string, number int) *change {
	c := newChange()
	switch {
	case patched.tree == nil:
		return nil
	case s.text == "" && s.added.whole == "" && !slices.ContainsFunc(patched.tree.Decls, works):
		c.whole = blame(name, 1) + patched.text
		return c
	case s.tree == nil || s.frame != patched.frame:
		return nil
	}
	for local, to := range patched.imports {
		switch cmp.Or(s.imports[local], s.added.imports[local]) {
		case to:
		case "":
			c.imports[local] = to
		default:
			return nil
		}
	}
	kept := 0
	for _, d := range patched.tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		key := patched.key(f)
		original := s.funcs[key]
		if original == nil {
			if works(f) {
				return nil
			}
			c.funcs += patched.copied(f, name, f.Name.Name)
			continue
		}
		kept++
		if patched.part(f.Pos(), f.End()) == s.part(original.Pos(), original.End()) {
			continue
		}
		if f.Body == nil || original.Body == nil || recovers(f) ||
			patched.part(f.Pos(), f.Body.Pos()) != s.part(original.Pos(), original.Body.Pos()) {
			return nil
		}
		variant := strings.ReplaceAll(name, "-", "_") + "__" + f.Name.Name
		c.funcs += patched.copied(f, name, variant)
		c.calls[key] = fmt.Sprintf(" if planted_.On[%d] && planted_.Ran(%[1]d) { %s };", number, call(original, variant))
	}
	if kept < len(s.funcs) {
		return nil
	}
	return c
}

// works reports whether a declaration has an effect without being used. A variable may be made by calling a function, and
// an exported method may implement an interface.
func works(d ast.Decl) bool {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Name == "init" || d.Recv != nil && d.Name.IsExported()
	case *ast.GenDecl:
		return d.Tok == token.VAR && slices.ContainsFunc(d.Specs, func(s ast.Spec) bool { return s.(*ast.ValueSpec).Values != nil })
	}
	return true
}

// recovers reports whether a function calls recover, which works in a deferred function itself only.
func recovers(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "recover" {
			found = true
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return found
}

// blame makes the compiler name a bug in errors about the lines that follow.
func blame(name string, line int) string { return fmt.Sprintf("\n//line %s.patch:%d\n", name, line) }

// copied is the text of a function with another name.
func (s *source) copied(f *ast.FuncDecl, bug, name string) string {
	line := 1 + strings.Count(s.text[:f.Pos()], "\n")
	return blame(bug, line) + s.part(f.Pos(), f.Name.Pos()) + name + s.part(f.Name.End(), f.End())
}

// call is the statements that call a variant of a function in its place.
func call(f *ast.FuncDecl, variant string) string {
	if f.Recv != nil {
		names, _ := arguments(f.Recv)
		variant = names[0] + "." + variant
	}
	if f.Type.TypeParams != nil {
		names, _ := arguments(f.Type.TypeParams)
		variant += "[" + strings.Join(names, ", ") + "]"
	}
	names, _ := arguments(f.Type.Params)
	args := strings.Join(names, ", ")
	if n := len(f.Type.Params.List); n > 0 {
		if _, ok := f.Type.Params.List[n-1].Type.(*ast.Ellipsis); ok {
			args += "..."
		}
	}
	if f.Type.Results.NumFields() > 0 {
		return fmt.Sprintf("return %s(%s)", variant, args)
	}
	return fmt.Sprintf("%s(%s); return", variant, args)
}

// edit replaces a part of a text.
type edit struct {
	from, to token.Pos
	text     string
}

// arguments returns names of parameters, and the edits that name those without one.
func arguments(fields *ast.FieldList) (names []string, edits []edit) {
	for _, field := range fields.List {
		if field.Names == nil {
			names = append(names, fmt.Sprintf("planted_%d", field.Pos()))
			edits = append(edits, edit{field.Pos(), field.Pos(), names[len(names)-1] + " "})
		}
		for _, id := range field.Names {
			if id.Name != "_" {
				names = append(names, id.Name)
				continue
			}
			names = append(names, fmt.Sprintf("planted_%d", id.Pos()))
			edits = append(edits, edit{id.Pos(), id.End(), names[len(names)-1]})
		}
	}
	return names, edits
}

// add adds a change to those of earlier bugs.
func (s *source) add(c *change) {
	s.added.whole += c.whole
	s.added.funcs += c.funcs
	maps.Copy(s.added.imports, c.imports)
	for key, code := range c.calls {
		s.added.calls[key] += code
	}
}

// combined is the file with all changes.
func (s *source) combined() string {
	if s.added.whole != "" {
		return s.added.whole
	}
	imports := []string{"", chooserImport}
	for _, local := range slices.Sorted(maps.Keys(s.added.imports)) {
		imports = append(imports, fmt.Sprintf("import %s %q", local, s.added.imports[local]))
	}
	edits := []edit{{s.tree.Name.End(), s.tree.Name.End(), strings.Join(imports, "; ")}}
	for key, code := range s.added.calls {
		f := s.funcs[key]
		edits = append(edits, edit{f.Body.Lbrace + 1, f.Body.Lbrace + 1, code})
		for _, fields := range []*ast.FieldList{f.Recv, f.Type.Params} {
			if fields != nil {
				_, naming := arguments(fields)
				edits = append(edits, naming...)
			}
		}
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	at := token.Pos(1)
	for _, e := range edits {
		b.WriteString(s.part(at, e.from) + e.text)
		at = e.to
	}
	return b.String() + s.text[at-1:] + s.added.funcs
}
