//go:build root && linux

package siegetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
	"github.com/snowraft/snowraft/trust"
)

const mib = 1 << 20

// member is a secured member in a cgroup of 1 GiB, without swap.
type member struct {
	*testing.T
	cmd              *exec.Cmd
	group, usage     string // directory of the cgroup, and the file with its memory in bytes
	api, http, redis string
	token            string
	died             chan struct{}
}

// write writes a file of the cgroup; a kernel may lack the optional ones.
func (m *member) write(name, value string, optional bool) {
	m.Helper()
	if err := os.WriteFile(filepath.Join(m.group, name), []byte(value), 0o600); err != nil && !optional {
		m.Fatal(err)
	}
}

func start(t *testing.T, gc string) *member {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "snowraft")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../../cmd/snowraft").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	m := &member{T: t, api: freeport.Address(t), http: freeport.Address(t), redis: freeport.Address(t), died: make(chan struct{})}
	limit := strconv.Itoa(1024 * mib)
	name := fmt.Sprintf("snowraft-siege-%d", os.Getpid())
	if root := "/sys/fs/cgroup/memory"; exists(root) { // version 1
		m.group = filepath.Join(root, name)
		m.usage = filepath.Join(m.group, "memory.max_usage_in_bytes")
	} else {
		m.group = filepath.Join("/sys/fs/cgroup", name)
		m.usage = filepath.Join(m.group, "memory.peak")
		_ = os.WriteFile("/sys/fs/cgroup/cgroup.subtree_control", []byte("+memory"), 0o600)
	}
	if err := os.Mkdir(m.group, 0o755); err != nil {
		t.Skipf("no controller of memory: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(m.group) })
	if strings.HasPrefix(m.group, "/sys/fs/cgroup/memory/") {
		m.write("memory.limit_in_bytes", limit, false)
		m.write("memory.memsw.limit_in_bytes", limit, true)
		m.write("memory.swappiness", "0", true)
	} else {
		m.write("memory.max", limit, false)
		m.write("memory.swap.max", "0", true)
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(trust.NewSecret().Line()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The shell joins the cgroup before it becomes the member.
	m.cmd = exec.CommandContext(context.Background(), "sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, m.group,
		program, "serve", "--name", "m1", "--data-dir", filepath.Join(dir, "m1"), "--bootstrap-expect", "1", "--secret-file", secret,
		"--api-addr", m.api, "--http-addr", m.http, "--redis-addr", m.redis, "--raft-addr", freeport.Address(t), "--gossip-addr", freeport.Address(t))
	m.cmd.Env = append(os.Environ(), "GOGC="+gc) // the limit of memory follows from the group
	var log bytes.Buffer
	m.cmd.Stderr = &log
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = m.cmd.Wait()
		close(m.died)
	}()
	t.Cleanup(func() {
		_ = m.cmd.Process.Kill()
		<-m.died
		if t.Failed() {
			t.Logf("the member's log ends with:\n%s", log.Bytes()[max(0, log.Len()-4000):])
		}
	})
	for began := time.Now(); m.token == ""; {
		create := exec.CommandContext(t.Context(), program, "token", "create", "honest", "--scope", "ids:issue:default", "--secret-file", secret, "--addr", m.api)
		out, err := create.Output()
		if m.token = between(string(out), "snowraft_"); m.token == "" && (!m.alive() || time.Since(began) > time.Minute) {
			t.Fatalf("token create: %v\n%s\n%s", err, out, log.String())
		}
	}
	return m
}

// between returns the first word of text that has a prefix.
func between(text, prefix string) string {
	for word := range strings.FieldsSeq(text) {
		if strings.HasPrefix(word, prefix) {
			return word
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (m *member) alive() bool {
	select {
	case <-m.died:
		return false
	default:
		return true
	}
}
