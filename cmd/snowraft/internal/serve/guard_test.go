package serve

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cluster"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// write writes a file of the test and returns its path.
func write(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A member that other hosts can reach starts only with a secret, or with the flag that allows an open member.
func TestServeRefusesToBeOpenToTheNetwork(t *testing.T) {
	t.Parallel()
	secret := write(t, t.TempDir(), "secret", trust.NewSecret().Line()+"\n")
	for line, want := range map[string]struct {
		code  int
		says  string
		lacks string
	}{
		"":                             {cli.ExitDone, "", "every process"},
		"--api-addr localhost:7700":    {cli.ExitDone, "", "every process"},
		"--http-addr [::1]:7701":       {cli.ExitDone, "", "every process"},
		"--api-addr 10.0.0.1:7700":     {cli.ExitUsage, `--api-addr "10.0.0.1:7700"`, "member started"},
		"--redis-addr :7704":           {cli.ExitUsage, `--redis-addr ":7704"`, "member started"},
		"--gossip-addr 0.0.0.0:7703":   {cli.ExitUsage, `--gossip-addr "0.0.0.0:7703"`, "member started"},
		"--advertise-host 10.0.0.1":    {cli.ExitUsage, "set --secret-file, or --insecure", "member started"},
		"--api-addr :1 --insecure":     {cli.ExitDone, "", "every process"},
		"--api-addr :1 --secret-file ": {cli.ExitDone, "member secured", "every process"},
	} {
		dir := t.TempDir()
		write(t, dir, "member.json", `{"starts": 1}`) // also for a member that has run before
		args := append(strings.Fields(line), "--data-dir", dir)
		if strings.HasSuffix(line, " ") {
			args = append(strings.Fields(line), secret, "--data-dir", dir)
		}
		s := serve(t.Context(), newFakeMember(), args...)
		<-s.opened
		s.Sent <- interrupt
		code := <-s.code
		if log := s.Err.String(); code != want.code || !strings.Contains(log, want.says) || want.lacks != "" && strings.Contains(log, want.lacks) {
			t.Errorf("serve %s: exit code %d, %s", line, code, log)
		}
	}
}

// A start with the data directory of a secured member and without a secret is a usage error.
func TestServeRefusesASecuredDirectory(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"serve": "the data directory belongs to a secured member; set --secret-file, or --insecure to let every process that reaches a port command the member",
		"dev":   "",
	} {
		dir := t.TempDir()
		args := strings.Fields(command + " --data-dir " + dir)
		if want == "" {
			args = []string{"dev", "--port-base", strconv.Itoa(freeport.Base(t, devPorts)), "--data-dir", dir}
			want = "--data-dir \"" + dir + "\": the data belongs to a secured cluster; set --secure"
		} else {
			write(t, dir, "member.json", `{"starts": 1}`)
		}
		a := newTestApp()
		a.open = func(context.Context, server.Config) (member, error) {
			return nil, cluster.ErrSecured
		}
		if code := a.run(t.Context(), args...); code != cli.ExitUsage || a.Err.String() != "snowraft: "+want+"\n" {
			t.Errorf("%s: exit code %d, %s", command, code, a.Err.String())
		}
	}
}

// The log warns if other users of the host can read the secret file.
func TestServeWarnsOfAReadableSecretFile(t *testing.T) {
	t.Parallel()
	for mode, warns := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		path := write(t, t.TempDir(), "secret", trust.NewSecret().Line()+"\n")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		s := serve(t.Context(), newFakeMember(), "--secret-file", path, "--data-dir", t.TempDir())
		<-s.opened
		s.Sent <- interrupt
		<-s.code
		if log := s.Err.String(); strings.Contains(log, "secret file readable by other users of this host") != warns {
			t.Errorf("mode %o: %s", mode, log)
		}
	}
}

// The process reloads its files when they change and at SIGHUP. The log names secrets by their fingerprints.
func TestServeFollowsItsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := trust.NewSecret(), trust.NewSecret()
	path := write(t, dir, "secret", first.Line()+"\n")
	audit := filepath.Join(dir, "audit.log")
	s := serve(t.Context(), newFakeMember(), "--secret-file", path, "--audit-log", audit, "--data-dir", dir)
	<-s.opened
	until(t, s, "member secured", first.Fingerprint())
	write(t, dir, "secret", "nothing of that kind\n")
	s.HungUp <- syscall.SIGHUP
	until(t, s, "secret file not reloaded; keeping the present secrets")
	write(t, dir, "secret", first.Line()+"\n"+second.Line()+"\n")
	s.HungUp <- syscall.SIGHUP
	until(t, s, "secret file reloaded", second.Fingerprint())
	if err := os.Rename(audit, audit+".1"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; {
		if _, err := os.Stat(audit); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
		s.HungUp <- syscall.SIGHUP // reload of the followed files
	}
	s.Sent <- interrupt
	<-s.code
	for _, hidden := range []trust.Secret{first, second} {
		if strings.Contains(s.Err.String(), hidden.Line()[20:]) {
			t.Error("the log has a secret")
		}
	}
}

// patience only bounds a hang.
const patience = 2 * time.Minute

// until waits for a line of the log that contains all words.
func until(t *testing.T, s *serving, words ...string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		for line := range strings.Lines(s.Err.String()) {
			all := true
			for _, w := range words {
				all = all && strings.Contains(line, w)
			}
			if all {
				return
			}
		}
	}
	t.Fatalf("the log has no line with %q:\n%s", words, s.Err.String())
}
