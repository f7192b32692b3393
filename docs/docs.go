// Package docs holds the pages that the program shows itself.
package docs

import _ "embed"

// Runbook is the page about problems, in Markdown.
//
//go:embed runbook.md
var Runbook []byte
