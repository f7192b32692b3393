//go:build process

package processtest

import (
	"path/filepath"
	"testing"
)

// restore begins a new cluster with a backup, and runs the commands that follow a restore, with correct and wrong tokens.
func (s *secretive) restore(t *testing.T, file string, flags []string) {
	t.Helper()
	m := newMember(t, "restored", append(flags, "--log-level", "debug")...)
	dir := filepath.Join(t.TempDir(), "restored")
	run := func(where string, want int, env []string, args ...string) {
		t.Helper()
		stdout, stderr, code := command(t, env, args...)
		if code != want {
			t.Errorf("%s: exit code %d, want %d: %s", where, code, want, stderr)
		}
		s.add(where, []byte(stdout+stderr))
	}
	run("backup inspect", 0, nil, "backup", "inspect", file)
	run("restore", 0, nil, "restore", file, "--data-dir", dir, "--old-ended", "now", "--old-cluster-is-gone", "--clock-checked", "--keep-tokens")
	m.dir = dir
	m.start()
	m.untilIssues()
	for _, c := range []struct {
		args    []string
		refused int
	}{{[]string{"seq", "resume", "orders", "--after", "1000", "--holders-stopped"}, 1}, {[]string{"restore", "acknowledge"}, 1}} {
		run(c.args[0]+" with a wrong token", c.refused, at(m), append(c.args, "--token", s.wrong.Text())...)
		run(c.args[0]+" with the secret", 0, at(m), append(c.args, flags...)...)
	}
	run("seq next", 0, at(m), "seq", "next", "orders", "--token", s.token.Text())
	m.stop()
	s.add("the log of the restored member", []byte(m.stderr.String()+m.stdout.String()))
	s.directory(t, m.name, dir)
}
