//go:build process

package processtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// issuedBy matches a line in the output of dev: an ID, its time, worker and
// sequence, and the member that issued it.
var issuedBy = regexp.MustCompile(`(?m)^(\d{15,})\s+\S+Z\s+\d+\s+\d+\s+dev-[123]$`)

// portBase returns a base at which all ports of dev are free.
func portBase(t *testing.T) string {
	t.Helper()
	return strconv.Itoa(freeport.Base(t, 26))
}

// dev is a running "snowraft dev". Its temporary files are in a directory of the test.
type dev struct {
	*process
	temp string
	env  []string // environment of commands that call dev
	ids  []string // IDs in its output
}

// startDev starts dev and waits until it has printed IDs. It returns nil only without a base, if a default port is taken.
func startDev(t *testing.T, base string, args ...string) *dev {
	t.Helper()
	d := &dev{temp: t.TempDir()}
	args = append([]string{"dev"}, args...)
	if base != "" {
		args = append(args, "--port-base", base)
		d.env = []string{"SNOWRAFT_ADDR=127.0.0.1:" + base}
	}
	d.process = start(t, []string{"TMPDIR=" + d.temp}, args...)
	took := until(t, "dev prints IDs", func() bool {
		if !d.running() {
			return true
		}
		d.ids = nil
		for _, match := range issuedBy.FindAllStringSubmatch(d.stdout.String(), -1) {
			d.ids = append(d.ids, match[1])
		}
		return len(d.ids) > 0 && strings.Contains(d.stdout.String(), "Press Ctrl-C to stop.")
	})
	if !d.running() {
		if base != "" || !strings.Contains(d.stderr.String(), "cannot be used") {
			t.Fatalf("dev exited:\n%s", d.stderr.tail(20))
		}
		return nil
	}
	t.Logf("dev %v printed IDs after %v", args[1:], took.Round(time.Millisecond))
	return d
}

// interrupt stops dev like Ctrl-C.
func (d *dev) interrupt() {
	d.t.Helper()
	d.signal(syscall.SIGINT)
	if code := d.exit(); code != 0 {
		d.t.Errorf("dev: exit code %d after SIGINT: %s", code, d.stderr.tail(20))
	}
	if !d.alone() {
		d.t.Error("dev left a process behind")
	}
	if left, err := os.ReadDir(d.temp); err != nil || len(left) > 0 {
		d.t.Errorf("dev left temporary files behind: %v %v", left, err)
	}
}

// TestDev runs dev at its default ports, so that commands need no flag, or at other
// ports if the default ports are taken.
func TestDev(t *testing.T) {
	t.Parallel()
	d := startDev(t, "")
	if d == nil {
		t.Log("the default ports are taken on this machine, continuing with others")
		d = startDev(t, portBase(t))
	}
	seen := map[string]bool{}
	for _, id := range d.ids {
		if seen[id] {
			t.Errorf("dev printed ID %s twice", id)
		}
		seen[id] = true
	}
	for _, id := range answer[snowraftv1.GenerateIdsResponse](t, d.env, "id", "-n", "5").GetIds() {
		id := strconv.FormatInt(id, 10)
		if seen[id] {
			t.Errorf("ID %s was issued twice", id)
		}
		seen[id] = true
	}
	if len(seen) != len(d.ids)+5 {
		t.Errorf("%d IDs, want %d", len(seen), len(d.ids)+5)
	}
	status := answer[snowraftv1.GetStatusResponse](t, d.env, "status")
	if status.GetClusterId() == "" || status.GetLeaderId() == "" || status.GetProblem() != "" || len(status.GetLanes()) != 1 {
		t.Errorf("status: %v", status)
	}
	voters := 0
	for _, m := range answer[snowraftv1.ListMembersResponse](t, d.env, "member", "list").GetMembers() {
		if m.GetRole() == snowraftv1.MemberRole_MEMBER_ROLE_VOTER && m.GetAlive() {
			voters++
		}
	}
	if voters != 3 {
		t.Errorf("%d voters, want 3", voters)
	}
	if who := answer[snowraftv1.WhoIsResponse](t, d.env, "whois", d.ids[0]); who.GetGrant().GetHolder() != "dev-1/0" {
		t.Errorf("whois %s: %v", d.ids[0], who)
	}
	d.tryAll()
	d.interrupt()
}

// tryAll runs the commands that dev proposes, as printed.
func (d *dev) tryAll() {
	d.t.Helper()
	_, proposed, _ := strings.Cut(d.stdout.String(), "Try in a second terminal:\n")
	tried := 0
	for line := range strings.Lines(proposed) {
		line, command := strings.CutPrefix(line, "  ")
		if !command {
			break
		}
		once := strings.NewReplacer("curl ", "curl -sSf ", "snowraft top", "snowraft top -n 1") // top runs until Ctrl-C
		cmd := exec.CommandContext(d.t.Context(), "sh", "-c", once.Replace(line))
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
		text, err := cmd.CombinedOutput()
		if err != nil || len(text) == 0 || strings.Contains(string(text), "ERR") {
			d.t.Errorf("%s: %v %s", line, err, text)
		}
		tried++
	}
	if tried < 8 {
		d.t.Errorf("dev proposes %d commands, want at least 8: %s", tried, proposed)
	}
}

// TestDevKeepsItsData runs dev twice on the same data.
func TestDevKeepsItsData(t *testing.T) {
	t.Parallel()
	base, dir := portBase(t), filepath.Join(t.TempDir(), "data")
	var first *snowraftv1.GetStatusResponse
	var ids []string
	for run := range 2 {
		d := startDev(t, base, "--data-dir", dir)
		now := answer[snowraftv1.GetStatusResponse](t, d.env, "status")
		if run == 0 {
			first = now
		}
		if now.GetClusterId() == "" || now.GetClusterId() != first.GetClusterId() || now.GetMemberId() != first.GetMemberId() {
			t.Errorf("the second run is %v, the first was %v", now, first)
		}
		for _, id := range d.ids {
			if len(ids) > 0 && run == 1 && id <= ids[0] {
				t.Errorf("ID %s of the second run is not above %s of the first", id, ids[0])
			}
		}
		if run == 0 {
			ids = d.ids
		}
		// The second run knows an ID of the first run.
		if who := answer[snowraftv1.WhoIsResponse](t, d.env, "whois", ids[0]); who.GetGrant().GetHolder() != "dev-1/0" {
			t.Errorf("whois %s in run %d: %v", ids[0], run+1, who)
		}
		d.interrupt()
		for _, name := range []string{"dev-1", "dev-2", "dev-3"} {
			if _, err := os.Stat(filepath.Join(dir, name, "raft.db")); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestDevTakenPort occupies a port of dev's last member.
func TestDevTakenPort(t *testing.T) {
	t.Parallel()
	base := portBase(t)
	n, _ := strconv.Atoi(base)
	taken := strconv.Itoa(n + 21)
	occupy(t, "127.0.0.1:"+taken)
	temp := t.TempDir()
	_, stderr, code := command(t, []string{"TMPDIR=" + temp}, "dev", "--port-base", base)
	offer := regexp.MustCompile(`--port-base (\d+)`).FindStringSubmatch(stderr)
	if code != 1 || !strings.Contains(stderr, "port "+taken) || offer == nil {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("dev left files behind: %v", left)
	}
	startDev(t, offer[1]).interrupt()
}
