//go:build process

package processtest

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// unpack returns the files of a debug archive by their paths in it, profiles uncompressed.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the mode of %s is %v, want 0600", path, mode)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	inflate := func(r io.Reader) io.Reader {
		gz, err := gzip.NewReader(r)
		if err != nil {
			t.Fatal(err)
		}
		return gz
	}
	files := map[string]string{}
	for r := tar.NewReader(inflate(f)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		var content io.Reader = r
		if strings.HasSuffix(h.Name, ".pprof") {
			content = inflate(r)
		}
		raw, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(h.Name, "snowraft-debug/")] = string(raw)
	}
}

// TestDebugArchive writes an archive of a secured cluster of three members, one of which is dead.
func TestDebugArchive(t *testing.T) {
	t.Parallel()
	flags := secretFile(t)
	members := startCluster(t, 3, append(flags, "--log-level", "debug")...)
	m, dead := members[0], members[2]
	admin := append([]string{"--addr", m.api}, flags...)
	const hidden = "orders-of-a-customer"
	mustRun(t, append([]string{"seq", "create", hidden}, admin...)...)
	mustRun(t, append([]string{"token", "create", "token-of-a-customer", "--scope", "seq:next:" + hidden}, admin...)...)
	command(t, nil, append([]string{"seq", "delete", "lost-of-a-customer"}, admin...)...)
	dead.kill()
	for _, m := range members[:2] {
		until(t, m.name+" notices", func() bool {
			for _, s := range m.list() {
				if s.GetName() == dead.name {
					return !s.GetAlive()
				}
			}
			return false
		})
	}

	file := filepath.Join(t.TempDir(), "debug.tar.gz")
	stdout, stderr, code := command(t, nil, append([]string{"debug", file, "--seconds", "1"}, admin...)...)
	if code != 0 || !strings.Contains(stdout, `of 2 of 3 members`) || !strings.Contains(stderr, `member "m3" (`+dead.api+`) is not in the archive: `) {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	files := unpack(t, file)
	var summary struct {
		Members []struct{ Name, Directory, Error string }
	}
	if err := json.Unmarshal([]byte(files["archive.json"]), &summary); err != nil || len(summary.Members) != 3 {
		t.Fatalf("%v in %s", err, files["archive.json"])
	}
	for i, s := range summary.Members {
		if (s.Error != "") != (members[i] == dead) || s.Name != members[i].name {
			t.Errorf("summary of %s: %+v", members[i].name, s)
		}
		if s.Error != "" {
			continue
		}
		in := func(name, part string) {
			t.Helper()
			if content := files["members/"+s.Directory+"/"+name]; !strings.Contains(content, part) {
				t.Errorf("%s of %s lacks %q:\n%.1000s", name, s.Name, part, content)
			}
		}
		in("status.json", `"name": "`+s.Name+`"`)
		in("members.json", `"alive": false`)
		in("settings.json", `"secured": true`)
		in("metrics-1.txt", "snowraft_ready 1")
		in("metrics-2.txt", "snowraft_ready 1")
		in("goroutines.txt", "goroutine profile:")
		in("heap.pprof", "inuse_space")
		in("cpu.pprof", "samples")
		in("clock.json", `"Reference"`)
		in("raft.json", `"last_log_index"`)
		in("disk.json", `"raft.db"`)
		in("about.json", `"modules"`)
		in("about.json", "journalctl _PID="+strconv.Itoa(members[i].cmd.Process.Pid))
	}
	secret, err := os.ReadFile(flags[1])
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range files {
		if strings.Contains(content, "of-a-customer") || strings.Contains(content, strings.TrimSpace(string(secret))) {
			t.Errorf("%s contains a name or the secret", path)
		}
	}
}
