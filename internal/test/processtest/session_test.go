//go:build process

package processtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// sessions is the least number of commands on each page. It detects a page whose sessions
// the test no longer finds.
var sessions = map[string]int{
	"README.md": 5, "docs/apply.md": 18, "docs/backup.md": 2, "docs/client-howto.md": 3, "docs/debug.md": 2, "docs/grpc.md": 8, "docs/http.md": 15, "docs/json.md": 12, "docs/migrate.md": 4, "docs/from-snowflake.md": 4, "docs/redis.md": 6, "docs/scale.md": 6, "docs/security.md": 10, "docs/sequences-howto.md": 46, "docs/upgrade.md": 3, "docs/uuids.md": 3,
}

// TestDocumentedSessions compares the documentation with the output of a new cluster.
// It runs all commands in "console" blocks of a page, from top to bottom. They
// must print the output on the page byte for byte, except for the values that vary
// according to the page (see [variables]). The test does not run blocks of "text".
func TestDocumentedSessions(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 1 // the README
	for _, path := range pages {
		page := "docs/" + filepath.Base(path)
		if page == "docs/runbook.md" {
			continue // TestRunbook runs it
		}
		if page == "docs/tutorial.md" {
			continue // TestTutorial runs it
		}
		if page == "docs/install.md" {
			continue // internal/test/installtest runs it
		}
		if _, listed := sessions[page]; listed {
			found++
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			rehearse(t, page)
		})
	}
	if found != len(sessions) {
		t.Errorf("%d of the %d pages were found", found, len(sessions))
	}
}

// TestReadme is TestDocumentedSessions for the README.
func TestReadme(t *testing.T) {
	t.Parallel()
	rehearse(t, "README.md")
}

// rehearse runs the commands of a page, which is at a path from the root of the module.
func rehearse(t *testing.T, path string) {
	t.Helper()
	installed(t, "curl", "curl")
	installed(t, "redis-cli", "redis-tools")
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	p, err := parsePage(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(p.steps) < sessions[path] {
		t.Errorf("%s has %d commands, want at least %d", path, len(p.steps), sessions[path])
	}
	if len(p.steps) == 0 {
		return
	}
	r := newReader(t, root)
	if p.program != "" {
		if err := os.WriteFile(filepath.Join(r.dir, "main.go"), []byte(replacePorts(p.program, r.toMember)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range p.files {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	seen := newVariables()
	for _, s := range p.steps {
		if err := seen.compare(s.varies, s.output, r.run(t, s.command)); err != nil {
			t.Fatalf("$ %s\n%v", s.command, err)
		}
	}
}

// reader copies the commands of a page, on the host of a member that has been
// restarted. The ports of the text may be in use, so the member has other ports. The
// reader replaces them in commands and in outputs.
type reader struct {
	member *member
	dir    string
	// Ports of the member by ports of the text, and the reverse.
	toMember, toText map[string]string
}

func newReader(t *testing.T, root string) *reader {
	t.Helper()
	redis := freeport.Address(t)
	m := startCluster(t, 1, "--redis-addr", redis)[0]
	r := &reader{member: m, dir: t.TempDir(), toMember: make(map[string]string), toText: make(map[string]string)}
	for i, address := range []string{m.api, m.http, m.raft, m.gossip, redis} {
		_, actual, _ := strings.Cut(address, ":")
		written := strconv.Itoa(7700 + i)
		r.toMember[written], r.toText[actual] = actual, written
	}
	for i := range 24 { // ports of members that a page starts
		_, actual, _ := strings.Cut(freeport.Address(t), ":")
		written := strconv.Itoa(7710 + i)
		r.toMember[written], r.toText[actual] = actual, written
	}
	// Programs of the pages are built with the present source of this module.
	work := fmt.Sprintf("go %s\n\nuse %q\n", goVersion(t, root), root)
	if err := os.WriteFile(filepath.Join(r.dir, "go.work"), []byte(work), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

var port = regexp.MustCompile(`\b[0-9]{4,5}\b`)

func replacePorts(text string, by map[string]string) string {
	return port.ReplaceAllStringFunc(text, func(p string) string {
		if other, ok := by[p]; ok {
			return other
		}
		return p
	})
}

func goVersion(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(text)
	if line == nil {
		t.Fatal("go.mod names no version of Go")
	}
	return string(line[1])
}

// run runs a copied line in a shell, and returns its output.
func (r *reader) run(t *testing.T, line string) string {
	t.Helper()
	here := strings.NewReplacer("go run ./cmd/snowraft", "snowraft", "./snowraft", "snowraft").Replace(line)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", replacePorts(here, r.toMember))
	cmd.Dir = r.dir
	path := "PATH=" + filepath.Dir(program) + string(os.PathListSeparator) + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), path, at(r.member)[0])
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }) // background processes
	return replacePorts(string(output), r.toText)
}
