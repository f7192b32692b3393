//go:build foreign

package processtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/trust"
)

// cosid is a program with generators of the real CosId. See testdata/cosid/Segments.java.
type cosid struct {
	*process
	in    io.Writer
	asked int // commands
}

// buildCosID returns the class path of the program.
func buildCosID(t *testing.T) string {
	t.Helper()
	dir, from := t.TempDir(), filepath.Join("testdata", "cosid")
	for _, args := range [][]string{
		{"mvn", "-q", "-B", "-f", filepath.Join(from, "pom.xml"), "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=" + dir},
		{"javac", "-parameters", "-d", dir, "-cp", filepath.Join(dir, "*"), filepath.Join(from, "Segments.java")},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	return dir + ":" + filepath.Join(dir, "*")
}

func startCosID(t *testing.T, classes string, m *member, token ...string) *cosid {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	args := append([]string{"-XX:-UsePerfData", "-cp", classes, "Segments", "http://" + m.http}, token...)
	return &cosid{startBy(t, func(cmd *exec.Cmd) error { cmd.Stdin = r; return cmd.Start() }, "java", nil, args...), w, 0}
}

// ask begins a command.
func (c *cosid) ask(command string) {
	c.t.Helper()
	c.asked++
	if _, err := io.WriteString(c.in, command+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// did waits for the end of all commands. It returns the output of the last one.
func (c *cosid) did() string {
	c.t.Helper()
	var answers []string
	until(c.t, "the program of CosId answers", func() bool {
		if !c.running() {
			c.t.Fatalf("the program of CosId ended:\n%s", c.stderr.tail(20))
		}
		answers = strings.Split(c.stdout.String(), "done\n")
		return len(answers) > c.asked
	})
	return answers[c.asked-1]
}

// do runs a command, and returns its output.
func (c *cosid) do(command string) string {
	c.t.Helper()
	c.ask(command)
	return c.did()
}

// numbers returns the IDs in an output.
func (c *cosid) numbers(output string) (all []int64) {
	for line := range strings.Lines(output) {
		if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// TestCosIDClients lets generators of CosId issue IDs from segments of real members, of which the leader is killed and restarted.
func TestCosIDClients(t *testing.T) {
	classes, members := buildCosID(t), startCluster(t, 3)
	mustSucceed(t, members[0], "seq", "create", "shop.orders", "--mode", "relaxed")
	victim := leader(t, members)
	direct, spared := startCosID(t, classes, victim), startCosID(t, classes, others(members, victim)[0])
	for _, c := range []struct {
		*cosid
		command string
	}{{direct, "chain shop orders 100"}, {spared, "segment shop orders 10"}, {direct, "take 2000"}, {spared, "take 2000"}} {
		if out := c.do(c.command); strings.Contains(out, "failed") {
			t.Fatalf("%s: %s", c.command, out)
		}
	}
	victim.kill()
	spared.ask("take 2000")
	direct.ask("take 500000") // more than it has in memory
	spared.did()
	until(t, "a request of the other program fails", func() bool { return strings.Contains(direct.stdout.String(), "once: ") })
	victim.start()
	direct.did()
	seen := make(map[int64]bool)
	all := append(direct.numbers(direct.stdout.String()), spared.numbers(spared.stdout.String())...)
	for _, n := range all {
		if seen[n] || n < 1 {
			t.Fatalf("ID %d is below 1, or came twice", n)
		}
		seen[n] = true
	}
	if want := 2000 + 500_000 + 2*2000; len(all) != want {
		t.Errorf("%d IDs, want %d", len(all), want)
	}
}

// TestCosIDRefusals checks that CosId's client shows why it gets no segment and no machine number, and that tokens permit sequences.
func TestCosIDRefusals(t *testing.T) {
	classes := buildCosID(t)
	m := newCluster(t, 1, "--client-tls=false")[0].secured(trust.NewSecret()).start()
	m.untilIssues()
	secret := []string{"--secret-file", *m.secret.Load()}
	for _, args := range [][]string{{"seq", "create", "shop.strict"}, {"template", "create", "shop.bills@*", "--mode", "relaxed"}} {
		mustSucceed(t, m, append(args, secret...)...)
	}
	allowed := startCosID(t, classes, m, m.firstToken("app", "seq:next:shop.*"))
	for command, part := range map[string]string{
		"segment shop none 10":   "create it as a relaxed sequence that begins after the last ID of CosId",
		"segment shop strict 10": "is not relaxed",
		"segment else bills 10":  "PERMISSION_DENIED",
		"machine shop":           "start the program with \"snowraft worker run\" and the manual distributor",
	} {
		if out := allowed.do(command); !strings.Contains(out, "failed: ") || !strings.Contains(strings.ReplaceAll(out, `\"`, `"`), part) {
			t.Errorf("%s: %s", command, out)
		}
	}
	// A name that a template matches begins, such as those of CosId's groups by year.
	allowed.do("segment shop bills@2026 10")
	if got := fmt.Sprint(allowed.numbers(allowed.do("take 3"))); got != "[1 2 3]" {
		t.Errorf("IDs %s", got)
	}
	if out := startCosID(t, classes, m).do("segment shop bills@2026 10"); !strings.Contains(out, "failed: 401") {
		t.Errorf("without a token: %s", out)
	}
}
