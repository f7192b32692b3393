package apply

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/fsm"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/trust"
)

// cluster is a real cluster of one member.
type cluster struct {
	*server.Server
	t      *testing.T
	flags  []string // connection of commands
	remote *cli.Remote
	dir    string
}

// startCluster starts a cluster that has the newest commands; secured with a secret.
func startCluster(t *testing.T, secured bool) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir()}
	cfg := server.Config{Name: "a", DataDir: filepath.Join(c.dir, "data"), BootstrapExpect: 1, Version: "v0.0.0"}
	for _, address := range []*string{&cfg.APIAddr, &cfg.HTTPAddr, &cfg.RaftAddr, &cfg.GossipAddr} {
		*address = cli.Localhost + ":0"
	}
	var access cli.Access
	if secured {
		access.SecretFile = c.write("secret", trust.NewSecret().Line()+"\n")
		var err error
		if cfg.Keys, err = trust.OpenKeys(access.SecretFile); err != nil {
			t.Fatal(err)
		}
		cfg.ClientTLS = true
	}
	var err error
	if c.Server, err = server.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	c.flags = []string{"--addr", c.APIAddr(), "--timeout", "1m"}
	if secured {
		c.flags = append(c.flags, "--secret-file", access.SecretFile)
	}
	if c.remote, err = cli.Dial([]string{c.APIAddr()}, time.Minute, access); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.remote.Close)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for c.Ready() != nil || !c.newest() {
		<-tick.C
	}
	return c
}

func (c *cluster) newest() (newest bool) {
	c.Member().State().View(func(s *fsm.State) { newest = s.FSMVersion() == fsm.Version })
	return newest
}

// write writes a file and returns its path.
func (c *cluster) write(name, text string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// in runs a command line in a world.
func (c *cluster) in(w *clitest.World, args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	code = clitest.Commands{New, NewExport}.In(c.t.Context(), w.App("test"), append(args, c.flags...)...)
	return w.Out.String(), w.Err.String(), code
}

// apply applies a text with flags.
func (c *cluster) apply(text string, flags ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	w := clitest.New()
	w.In.WriteString(text)
	return c.in(w, append([]string{"apply", "-f", "-"}, flags...)...)
}

// applied applies a text with flags and requires the last line of the output.
func (c *cluster) applied(text, want string, flags ...string) string {
	c.t.Helper()
	stdout, stderr, code := c.apply(text, flags...)
	if code != cli.ExitDone || stderr != "" || !strings.HasSuffix(stdout, want+"\n") {
		c.t.Fatalf("apply %q: exit code %d, %s\n%s, want %s", flags, code, stderr, stdout, want)
	}
	return stdout
}

// export returns the description of the cluster.
func (c *cluster) export() string {
	c.t.Helper()
	stdout, stderr, code := c.in(clitest.New(), "export-config")
	if code != cli.ExitDone || stderr != "" {
		c.t.Fatalf("export-config: exit code %d, %s", code, stderr)
	}
	return stdout
}

// take takes numbers of a sequence and returns the first one.
func (c *cluster) take(name string, count uint32) int64 {
	c.t.Helper()
	first, err := c.next(name, count)
	if err != nil {
		c.t.Fatal(err)
	}
	return first
}

// exists reports whether a file exists.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}
