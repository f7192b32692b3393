package rpc

import (
	"strings"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// ProcessText describes the process of a holder in words, such as "worker run 1.4.0, PID 812 on web-1". It leaves out what the
// holder did not say, so the text may be empty.
func ProcessText(p *snowraftv1.HolderProcess) string {
	var words []string
	for _, w := range []string{p.GetKind(), p.GetVersion()} {
		if w != "" {
			words = append(words, w)
		}
	}
	text := strings.Join(words, " ")
	if id := p.GetProcessId(); id != "" {
		if text != "" {
			text += ", "
		}
		text += "PID " + id
	}
	if host := p.GetHost(); host != "" {
		text += " on " + host
	}
	return strings.TrimSpace(text)
}
