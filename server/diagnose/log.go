package diagnose

import (
	"context"
	"io"
	"log/slog"
	"regexp"

	"github.com/snowraft/snowraft/internal/logring"
)

// attrs lists the attributes of log lines whose texts an archive includes. An archive always includes numbers, times and other
// attributes that are not text.
var attrs = classes(map[class][]string{
	plain: {
		"member", "member_id", "peer", "peer_id", "leader", "leader_id", "cluster", "cluster_id", "other_cluster", "component", "name", "id",
		"address", "api", "http", "raft", "gossip", "redis", "client", "first", "second", "taken_by", "taken_by_id", "taken_by_address",
		"version", "data_dir", "file", "set_aside", "layout", "method", "outcome", "duty", "setting", "given", "command",
		"fingerprint", "fingerprints", "secrets", "remote-address", "local-address", "leader-address", "leader-id", "last-leader-addr",
		"last-leader-id", "server-id", "node", "candidate", "follower", "from", "fallback",
	},
	text:   {"error", "reason", "damage", "servers"},
	name:   {"sequence", "resource", "holder", "path", "names"},
	actor:  {"actor"},
	scopes: {"anonymous"},
	stack:  {"stack"},
})

func classes(by map[class][]string) map[string]class {
	all := make(map[string]class)
	for c, keys := range by {
		for _, key := range keys {
			all[key] = c
		}
	}
	return all
}

// notShown replaces the value of an attribute that an archive does not include.
const notShown = "(omitted)"

// arguments matches a function with its arguments in the stack of a goroutine. Arguments are words of memory and may hold any
// data.
var arguments = regexp.MustCompile(`(?m)^(\S.*)\([^()]*\)$`)

// attr returns the form in which an archive shows the value of an attribute.
func (r *Redactor) attr(a logring.Attr) string {
	if a.Plain {
		return a.Value
	}
	switch attrs[a.Key] {
	case plain:
		return a.Value
	case text:
		return r.Text(a.Value)
	case name:
		return r.Name(a.Value)
	case actor:
		return r.actor(a.Value)
	case scopes:
		return r.scopes(a.Value)
	case stack:
		return arguments.ReplaceAllString(a.Value, "$1(...)")
	default:
		return notShown
	}
}

// writeLog writes lines in the text form of a member's log.
func (r *Redactor) writeLog(w io.Writer, lines []logring.Line) error {
	h := slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug - 100})
	for _, l := range lines {
		message := l.Message
		shown := make([]slog.Attr, len(l.Attrs))
		for i, a := range l.Attrs {
			shown[i] = slog.String(a.Key, r.attr(a))
			if a.Key == "component" { // a library composes its messages
				message = r.Text(message)
			}
		}
		record := slog.NewRecord(l.Time.UTC(), l.Level, message, 0)
		record.AddAttrs(shown...)
		if err := h.Handle(context.Background(), record); err != nil {
			return err
		}
	}
	return nil
}
