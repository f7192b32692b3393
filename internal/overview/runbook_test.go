package overview

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

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
