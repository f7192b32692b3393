package rpc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	commandv1 "github.com/snowraft/snowraft/proto/command/v1"

	"google.golang.org/grpc/codes"
)

func TestReasonsAreWellFormed(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range Reasons() {
		switch {
		case seen[r.Name]:
			t.Errorf("%s: two rows", r.Name)
		case !regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`).MatchString(r.Name), r.Code == codes.OK:
			t.Errorf("%q with the code %v", r.Name, r.Code)
		case !strings.HasSuffix(r.Meaning, ".") || !strings.HasSuffix(r.Action, ".") || strings.ContainsAny(r.Meaning+r.Action, "|\n"):
			t.Errorf("%s: %q and %q are not cells of a table", r.Name, r.Meaning, r.Action)
		case r.RetryAfter > 0 && r.Repeat == RepeatNo:
			t.Errorf("%s: a RetryInfo, but no repetition", r.Name)
		case r.Redis == redisLoading && r.Repeat == RepeatNo, r.Redis == redisErr && r.Repeat != RepeatNo:
			t.Errorf("%s: %s to Redis clients, with the repetition %q", r.Name, r.Redis, r.Repeat)
		}
		seen[r.Name] = true
		if e := NewError(r.Name, "m"); e.Code != r.Code || e.RetryAfter != r.RetryAfter || e.Reason != r.Name || e.Message != "m" {
			t.Errorf("NewError(%s) = %+v", r.Name, e)
		}
	}
	if r, ok := ReasonOf("SOME_LATER_REASON"); ok || r.Repeat == RepeatYes {
		t.Errorf("ReasonOf() of an unknown reason = %+v", r)
	}
	if e := NewError("SOME_LATER_REASON", "m"); e.Code != codes.Internal {
		t.Errorf("NewError() of an unknown reason has the code %v", e.Code)
	}
}

func TestMetadataIsDocumented(t *testing.T) {
	var meanings strings.Builder
	for _, r := range Reasons() {
		meanings.WriteString(r.Meaning)
	}
	for _, key := range []string{MetadataBehind, MetadataAhead, MetadataLimit, MetadataUntil, MetadataRetryAt, MetadataLayout, MetadataSequence, MetadataGeneration} {
		if !strings.Contains(meanings.String(), "`"+key+"`") {
			t.Errorf("no meaning names the metadata %s", key)
		}
	}
}

// The table in docs/errors.md must equal the table of this package. "go test ./internal/rpc -update" rewrites it.
func TestDocsHaveReasons(t *testing.T) {
	var table strings.Builder
	table.WriteString("\n| reason | gRPC code | meaning | repeat | what to do | Redis prefix |\n|---|---|---|---|---|---|\n")
	for _, r := range Reasons() {
		redis := r.Redis
		if redis != "" {
			redis = "`" + redis + "`"
		}
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | %s | %s | %s |\n", r.Name, codeName(r.Code), r.Meaning, r.Repeat, r.Action, redis)
	}
	docsHave(t, "../../docs/errors.md", "reasons", table.String()+"\n")
}

// codeName returns the name of a code as in google.rpc.Code.
func codeName(c codes.Code) string {
	return strings.ToUpper(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(c.String(), "${1}_$2"))
}

// sources parses the product's Go files below the root of the module, without tests and generated code.
func sources(t *testing.T, dirs ...string) map[string]*ast.File {
	t.Helper()
	files := make(map[string]*ast.File)
	for _, dir := range dirs {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, ".pb.") {
				return err
			}
			files[strings.TrimPrefix(path, "../../")], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// constants returns the reasons by the names of their constants.
func constants(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	ast.Inspect(sources(t, "internal/rpc/reason.go")["internal/rpc/reason.go"], func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Values) == 1 {
			if value, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value); err == nil && value == strings.ToUpper(value) {
				all[v.Names[0].Name] = value
			}
		}
		return true
	})
	return all
}

func TestEveryConstantHasRow(t *testing.T) {
	names := constants(t)
	for name, reason := range names {
		if _, ok := ReasonOf(reason); !ok {
			t.Errorf("%s has no row", name)
		}
	}
	if len(names) != len(Reasons()) {
		t.Errorf("%d constants and %d rows", len(names), len(Reasons()))
	}
}

// constantOf returns the name of the reason constant in an expression of this package or another; empty if there is none.
func constantOf(e ast.Expr, names map[string]string) string {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && of.Name == "rpc" {
			name = e.Sel.Name
		}
	}
	if names[name] == "" {
		return ""
	}
	return name
}

// A call of NewError, a row that pairs the reason with an error, or a refusal of the same name produces a reason.
func TestEveryReasonIsProduced(t *testing.T) {
	names := constants(t)
	missing := maps.Clone(names)
	for path, file := range sources(t, "internal", "server", "client") {
		if path == "internal/rpc/reasons.go" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if isNewError(n) {
					delete(missing, constantOf(n.Args[0], names))
				}
			case *ast.CompositeLit:
				if len(n.Elts) == 2 && n.Type == nil {
					delete(missing, constantOf(n.Elts[1], names))
				}
			}
			return true
		})
	}
	for name, reason := range missing {
		if _, refused := commandv1.Refusal_value["REFUSAL_"+reason]; refused {
			continue
		}
		t.Errorf("%s (%s): no code produces it", name, reason)
	}
}

func isNewError(call *ast.CallExpr) bool {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name == "NewError"
	case *ast.SelectorExpr:
		return f.Sel.Name == "NewError"
	}
	return false
}

// NewError, called with a constant reason, makes the errors that leave a process, so they have a row. The test lists the few
// others: errors of contexts, and errors with the code of another error.
func TestErrorsComeFromTheTable(t *testing.T) {
	names := constants(t)
	allowed := map[string]int{
		"internal/rpc/classify.go":  3, // contexts; a row of its table
		"internal/rpc/errors.go":    2, // an error from gRPC; the status of an error
		"internal/rpc/reasons.go":   1, // NewError itself
		"server/wire/errors.go":     1, // a row of its table
		"server/web/refuse.go":      2, // a context's error; a status without a reason
		"server/web/gateway.go":     1, // becomes INVALID_ARGUMENT below
		"server/frontend/health.go": 1, // a context's error
	}
	for path, file := range sources(t, "internal/rpc", "server") {
		found := 0
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if of, ok := n.Type.(*ast.SelectorExpr); ok && of.Sel.Name == "Error" && of.X.(*ast.Ident).Name == "rpc" {
					found++
				} else if of, ok := n.Type.(*ast.Ident); ok && of.Name == "Error" {
					found++
				}
			case *ast.CallExpr:
				f, ok := n.Fun.(*ast.SelectorExpr)
				of, isIdent := ast.Expr(nil), false
				if ok {
					of = f.X
					_, isIdent = of.(*ast.Ident)
				}
				switch {
				case isNewError(n) && constantOf(n.Args[0], names) == "":
					found++
				case ok && isIdent && of.(*ast.Ident).Name == "status" && slices.Contains([]string{"New", "Newf", "Error", "Errorf", "FromContextError"}, f.Sel.Name):
					found++
				}
			}
			return true
		})
		if found != allowed[path] {
			t.Errorf("%s makes %d errors without NewError and a constant reason, want %d", path, found, allowed[path])
		}
	}
}

// Every error that a package of the domain exports has a row, so that it does not leave the process as INTERNAL.
func TestErrorsOfTheDomainHaveReasons(t *testing.T) {
	halts := []string{"fsm.ErrHalted", "fsm.ErrCorrupt", "fsm.ErrUnknownCommand", "cluster.ErrRemoved", "cluster.ErrSuperseded", "cluster.ErrSecured", "cluster.ErrDuplicate"} // the process exits, or does not start

	wrapping := []string{"member.ErrReplaced"} // a cluster.ErrUnknownOutcome

	parsed := []string{"snowflake.ErrSyntax", "sequence.ErrInvalidPeriod", "sequence.ErrInvalidText"} // errors of texts that members do not parse
	var rows strings.Builder
	for path, file := range sources(t, "internal/rpc", "server/wire") {
		if path == "internal/rpc/classify.go" || path == "server/wire/errors.go" {
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if of, ok := s.X.(*ast.Ident); ok {
						fmt.Fprintf(&rows, " %s.%s ", of.Name, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
	found := 0
	for _, dir := range []string{"cluster", "fsm", "allocator", "sequence", "snowflake", "internal/member", "internal/route"} {
		for path, file := range sources(t, dir) {
			if filepath.Dir(path) != dir {
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				v, ok := n.(*ast.ValueSpec)
				if !ok || !strings.HasPrefix(v.Names[0].Name, "Err") {
					return true
				}
				found++
				name := file.Name.Name + "." + v.Names[0].Name
				if !strings.Contains(rows.String(), " "+name+" ") && !slices.Contains(halts, name) && !slices.Contains(wrapping, name) && !slices.Contains(parsed, name) {
					t.Errorf("%s has no reason", name)
				}
				return true
			})
		}
	}
	if found < 20 {
		t.Errorf("%d errors found, want at least 20", found)
	}
}
