package console

import (
	"bytes"
	"context"
	"html/template"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/snowraft/snowraft/docs"
)

const (
	runbookPath = root + "/runbook"
	// pagesURL is the location of the other pages that the runbook links to.
	pagesURL = "https://github.com/snowraft/snowraft/blob/main/docs/"
)

// runbookPage shows the runbook of this version, so that a person with a problem needs no other network.
var runbookPage = &page{
	name: "runbook", path: runbookPath, title: "Runbook", bare: true,
	load: func(context.Context, *API, *input) (any, error) { return renderRunbook() },
}

// renderRunbook returns the runbook as HTML. The anchors of its headings are the same as in the published page.
var renderRunbook = sync.OnceValues(func() (template.HTML, error) {
	markdown := goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)
	root := markdown.Parser().Parse(text.NewReader(docs.Runbook))
	var remarks []ast.Node // comments for tests
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				n.Destination = leadTo(n.Destination)
			}
		case *ast.HTMLBlock, *ast.RawHTML:
			if entering {
				remarks = append(remarks, n)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", err
	}
	for _, n := range remarks {
		n.Parent().RemoveChild(n.Parent(), n)
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, docs.Runbook, root); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil //nolint:gosec // embedded; the renderer escapes raw HTML
})

// leadTo returns the destination of a runbook link in the console.
func leadTo(destination []byte) []byte {
	to := string(destination)
	if strings.HasPrefix(to, "#") || strings.Contains(to, "://") {
		return destination
	}
	return []byte(pagesURL + to)
}
