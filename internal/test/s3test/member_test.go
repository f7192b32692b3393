package s3test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program builds the real program.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "snowraft")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/snowraft")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return path
}

// command returns a command of the program with the credentials of the server.
func command(t *testing.T, path string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), path, args...)
	c.Env = append(os.Environ(), "HOME="+t.TempDir())
	for name, value := range environment() {
		c.Env = append(c.Env, name+"="+value)
	}
	return c
}

// output runs a command, which must succeed.
func output(t *testing.T, path string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	c := command(t, path, args...)
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", args, err, out, stderr.Bytes())
	}
	return string(out)
}

// A member writes backups into a bucket, and a new cluster begins with the latest.
func TestMemberBacksUpAndIsRestored(t *testing.T) {
	path, dir := program(t), t.TempDir()
	url := "s3://" + bucket + "/" + t.Name()
	var log bytes.Buffer
	member := command(t, path, "serve", "--name", "a", "--data-dir", filepath.Join(dir, "a"), "--backup-to", url, "--backup-every", "1m",
		"--api-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--raft-addr", "127.0.0.1:0", "--gossip-addr", "127.0.0.1:0")
	member.Stderr = &log
	if err := member.Start(); err != nil {
		t.Fatal(err)
	}
	var listed struct {
		Backups []struct {
			File    string
			Cluster string `json:"clusterId"`
		}
	}
	for len(listed.Backups) == 0 {
		if err := json.Unmarshal([]byte(output(t, path, "backup", "list", url, "-o", "json")), &listed); err != nil {
			t.Fatal(err)
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("no backup")
		}
	}
	first := listed.Backups[0]
	for _, of := range []string{url, url + "/" + first.Cluster, first.File} {
		if out := output(t, path, "backup", "inspect", of); !strings.Contains(out, first.Cluster) || !strings.Contains(out, url) {
			t.Errorf("backup inspect %s: %s", of, out)
		}
	}
	if err := member.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := member.Wait(); err != nil {
		t.Errorf("serve: %v\n%s", err, log.String())
	}
	restored := output(t, path, "restore", url, "--data-dir", filepath.Join(dir, "b"), "--old-ended", "now", "--old-cluster-is-gone", "--clock-checked")
	if !strings.Contains(restored, "Old cluster        "+first.Cluster) {
		t.Error(restored)
	}
	if text := log.String(); !strings.Contains(text, "backup written and verified") || strings.Contains(text, secretKey) {
		t.Errorf("log: %s", text)
	}
}
