//go:build process

package processtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTenantsAfterRestore plays the end of the section about tenants in docs/sequences-howto.md: a tenant that began after the
// backup begins again beyond its lost numbers.
func TestTenantsAfterRestore(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/sequences-howto.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^snowraft (template resume 'bills/\*' --start 100000)\nsnowraft (restore acknowledge)$`).FindStringSubmatch(string(page))
	if commands == nil {
		t.Fatal("the page lacks the commands that resume a template")
	}
	m := startCluster(t, 1)[0]
	next := func(name, want string) {
		t.Helper()
		got := regexp.MustCompile(`/20[0-9]{2}/`).ReplaceAllString(mustSucceed(t, m, "seq", "next", name), "/YEAR/")
		if got != want+"\n" {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	mustSucceed(t, m, "template", "create", "bills/*", "--reset", "yearly", "--format", "{name:2}/{date:yyyy}/{seq:05}")
	next("bills/acme", "acme/YEAR/00001")
	file := filepath.Join(t.TempDir(), "tenants.backup")
	mustSucceed(t, m, "backup", file)
	next("bills/lost", "lost/YEAR/00001")
	m.kill()
	m.dir = filepath.Join(t.TempDir(), "restored")
	mustRun(t, "restore", file, "--data-dir", m.dir, "--old-ended", time.Now().UTC().Format(time.RFC3339Nano), "--old-cluster-is-gone", "--clock-checked")
	m.start()
	until(t, "the restored member refuses the tenant", func() bool {
		_, stderr, _ := command(t, at(m), "seq", "next", "bills/lost")
		return strings.Contains(stderr, "TEMPLATE_SUSPENDED")
	})
	for _, line := range commands[1:] {
		mustSucceed(t, m, strings.Fields(strings.ReplaceAll(line, "'", ""))...)
	}
	next("bills/lost", "lost/YEAR/100000")
	next("bills/new", "new/YEAR/100000")
	mustSucceed(t, m, "seq", "resume", "bills/acme", "--after", "100", "--holders-stopped") // end of the block in the backup
	next("bills/acme", "acme/YEAR/00101")
}
