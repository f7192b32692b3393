package overview

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every finding links to a heading through one of the constants.
func TestFindingsLinkToTheRunbook(t *testing.T) {
	t.Parallel()
	packages, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	findings := 0
	for _, name := range packages {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 4 {
				return true
			}
			if f, ok := call.Fun.(*ast.Ident); !ok || f.Name != "of" {
				return true
			}
			findings++
			if anchor, ok := call.Args[3].(*ast.Ident); !ok || !strings.HasPrefix(anchor.Name, "runbook") {
				t.Errorf("%s: a finding without a constant for the heading of the runbook", name)
			}
			return true
		})
	}
	if findings < 20 {
		t.Errorf("%d findings, want those of the package", findings)
	}
}

// Every heading that a finding links to is in the runbook.
func TestRunbookAnchorsExist(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	headings := make(map[string]bool)
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllSubmatch(text, -1) {
		headings[strings.ReplaceAll(strings.ToLower(string(h[1])), " ", "-")] = true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "runbook.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			anchor, _ := strconv.Unquote(l.Value)
			if checked++; !headings[anchor] {
				t.Errorf("docs/runbook.md has no heading with the anchor %q", anchor)
			}
		}
		return true
	})
	if checked == 0 {
		t.Error("runbook.go has no anchors")
	}
}
