package mutant

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("mutant.update", false, "write the table of safety rules")

const (
	tableFile  = "docs/safety.md"
	tableBegin = "<!-- The tables are written from the planted bugs: go test ./internal/build/mutant -mutant.update -->\n"
	tableEnd   = "<!-- end of the tables -->\n"
)

// sections are the packages in the order in which the page has them.
var sections = []struct{ dir, title string }{
	{"fsm", "State machine"},
	{"sequence", "Periods and texts of sequences"},
	{"internal/backfill", "IDs of the past"},
	{"allocator", "Windows and blocks in a process"},
	{"internal/member", "Members and leaders"},
	{"internal/clock", "Clocks"},
	{"cluster", "Cluster node"},
	{"cluster/screen", "Bytes from unknown senders"},
	{"internal/slots", "Connections"},
	{"server/conn", "Connections of clients"},
	{"trust", "Trust"},
	{"cluster/storage", "Disk"},
	{"internal/backup", "Backups"},
	{"internal/backup/archive", "Places of backups"},
	{"server/backups", "Scheduled backups"},
	{"internal/route", "Calls to the leader"},
	{"internal/rpc", "Rules of methods"},
	{"server", "Requests between members"},
	{"server/wire", "Answers between members"},
	{"server/api", "Requests of clients"},
	{"server/kernel", "Calls"},
	{"internal/mux", "Requests on streams"},
	{"internal/receipt", "Receipts"},
	{"server/gateway", "Gateways"},
	{"server/diagnose", "Debug archives"},
	{"server/frontend", "Client ports"},
	{"server/socket", "Unix sockets"},
	{"server/redis", "Redis protocol"},
	{"server/web", "HTTP"},
	{"server/console", "Console"},
	{"server/thrift", "Thrift"},
	{"client", "Go client"},
	{"clients/typescript", "Client for TypeScript"},
	{"clients/java", "Client for Java"},
	{"clients/python", "Client for Python"},
	{"cmd/snowraft", "Command line"},
	{"cmd/snowraft/internal/cli", "Command line: output"},
	{"cmd/snowraft/internal/serve", "Command line: processes"},
	{"cmd/snowraft/internal/member", "Command line: members"},
	{"cmd/snowraft/internal/seq", "Command line: sequences"},
	{"cmd/snowraft/internal/apply", "Command line: descriptions"},
	{"cmd/snowraft/internal/secret", "Command line: secrets"},
	{"cmd/snowraft/internal/restore", "Command line: restore"},
	{"cmd/snowraft/internal/debug", "Command line: debug archives"},
	{"cmd/snowraft/internal/bench", "Command line: measurements"},
	{"internal/deadline", "Programs with a leased worker: the clock"},
	{"internal/contain", "Programs with a leased worker: orphans"},
	{"cmd/snowraft/internal/worker", "Programs with a leased worker: containment"},
}

// TestSafetyRulesAreDocumented compares the tables with the patches.
func TestSafetyRulesAreDocumented(t *testing.T) {
	patches, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, tableFile)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, begun := strings.Cut(string(raw), tableBegin)
	_, tail, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		t.Fatalf("%s: the comments around the tables are missing", tableFile)
	}
	page := head + tableBegin + tables(t, patches) + tableEnd + tail
	if *update {
		err = os.WriteFile(file, []byte(page), 0o644)
	} else if page != string(raw) {
		t.Errorf("%s differs from the planted bugs: run go test ./internal/build/mutant -mutant.update", tableFile)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func tables(t *testing.T, patches []Patch) string {
	var b strings.Builder
	shown := 0
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\nPackage [`%s`](../%s).\n\n| Rule | Effect of the planted bug | Tests that catch the bug |\n|---|---|---|\n", s.title, s.dir, s.dir)
		for _, p := range patches {
			if path.Dir(path.Dir(path.Dir(p.File))) != s.dir {
				continue
			}
			shown++
			rule, bug, ok := strings.Cut(p.Rule, " The bug ")
			if !ok {
				t.Errorf("%s: expected the rule, and then what %q does", p.File, "The bug")
			}
			var tests []string
			for _, r := range p.Runs {
				if test := fmt.Sprintf("`%s` in `%s`", r.Test, strings.TrimPrefix(r.Package, "./")); r.Caught && r.With == "" && !slices.Contains(tests, test) {
					tests = append(tests, test)
				}
			}
			fmt.Fprintf(&b, "| %s | [`%s`](../%s) %s | %s |\n", rule, p.Name, p.File, bug, strings.Join(tests, ", "))
		}
	}
	if shown != len(patches) {
		t.Errorf("%d of %d planted bugs are in the tables: add their packages to sections", shown, len(patches))
	}
	return b.String() + "\n"
}
