//go:build foreign

package foreign_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// block returns the first block of a page in a language after a mark.
func block(t *testing.T, path, mark, language string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), mark)
	_, rest, _ = strings.Cut(rest, "```"+language+"\n")
	text, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatalf("%s has no block of %s after %q", path, language, mark)
	}
	return text
}

// write writes a file with the directory of the workers replaced.
func write(t *testing.T, path, workers, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "/run/app/workers", workers)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startGunicorn starts the recipe of gunicorn, with words before the server. The shell that becomes the wrapper runs a script first.
func startGunicorn(t *testing.T, first, before string) (cmd *exec.Cmd, address string) {
	t.Helper()
	c, dir, workers, address := startCluster(t), pythonDir(t), t.TempDir(), freeport.Address(t)
	write(t, filepath.Join(dir, "gunicorn.conf.py"), workers,
		block(t, "../../../docs/workers.md", "In Python", "python")+"\n"+block(t, recipes, "\n### gunicorn\n", "python"))
	script := c.recipe(t, "gunicorn", before, "python3 -m gunicorn -w 4 --bind", address, "--chdir", dir)
	script = strings.NewReplacer("/run/app/workers", workers, "gunicorn.conf.py", filepath.Join(dir, "gunicorn.conf.py")).Replace(script)
	cmd = c.shell(first + "exec " + script)
	cmd.Env, cmd.Stderr = append(cmd.Env, "PYTHONPATH="+dir), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, address
}

// TestGunicorn takes a million IDs from a forking server with the recipe's hook. In between, the server replaces its processes.
func TestGunicorn(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // under nohup, the wrapper would ignore it too
	cmd, address := startGunicorn(t, "", "")
	processes := map[string]bool{}
	first := ask(t, address, processes)
	for len(processes) < 2 {
		process, _ := get(t, "http://"+address+"/?0")
		processes[process] = true
	}
	before := len(processes)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for len(processes) == before {
		process, _ := get(t, "http://"+address+"/?0")
		processes[process] = true
	}
	second := ask(t, address, processes)
	if n := repeated(first, second); n != 0 || len(first)+len(second) != 1_000_000 {
		t.Errorf("%d of %d IDs came twice", n, len(first)+len(second))
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestKilledWrapperOfGunicorn kills the wrapper of a forking server that runs as another user, as under gosu. All processes end within 1 s.
func TestKilledWrapperOfGunicorn(t *testing.T) {
	group, err := os.MkdirTemp("/sys/fs/cgroup/pids", "snowraft-foreign-*") //nolint:usetesting // a control group
	if err != nil {
		if group, err = os.MkdirTemp("/sys/fs/cgroup", "snowraft-foreign-*"); err != nil { //nolint:usetesting // a control group
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Remove(group) })
	file := filepath.Join(group, "cgroup.procs")
	processes := func() []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(text))
	}
	// The user of the server may not read a home in which Python is.
	const other = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search"
	cmd, address := startGunicorn(t, "echo $$ >"+file+"; ", other)
	get(t, "http://"+address+"/?1")
	for len(processes()) < 7 { // wrapper, guard, server and its four
		runtime.Gosched()
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	for len(processes()) > 0 {
		if time.Since(killed) > time.Second {
			t.Fatalf("after 1 s, these processes run: %v", processes())
		}
	}
	t.Logf("all processes ended in %v", time.Since(killed))
}

// ask takes half a million IDs in parallel requests, and notes the processes that answer.
func ask(t *testing.T, address string, processes map[string]bool) (ids []uint64) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				process, text := get(t, "http://"+address+"/?25000")
				mu.Lock()
				processes[process] = true
				for line := range strings.Lines(text) {
					ids = append(ids, number(t, strings.TrimSpace(line)))
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return ids
}

// get reads an answer, once the server listens.
func get(t *testing.T, url string) (process, text string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		r, err := client.Get(url)
		if errors.Is(err, syscall.ECONNREFUSED) {
			continue
		}
		if err != nil {
			t.Error(err)
			return "", ""
		}
		body, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			t.Errorf("%s: %v", r.Status, err)
		}
		return r.Header.Get("Process"), string(body)
	}
}

// TestClaims runs twice as many processes as a server has workers: processes that "worker claim" starts, and PHP processes with the
// function of the page. All IDs are different.
func TestClaims(t *testing.T) {
	const count = 125_000
	for _, s := range []struct {
		name    string
		process func(workers string) string
	}{
		{"worker claim", func(workers string) string {
			return "snowraft worker claim --dir " + workers + " --env-worker WORKER -- " + strings.Join(golang("bwmarrin")(t, count), " ")
		}},
		{"PHP", func(workers string) string {
			dir := in(t, "php", "php", "--version")
			write(t, filepath.Join(dir, "claim.php"), workers, "<?php\n"+block(t, "../../../docs/workers.md", "In PHP", "php"))
			return fmt.Sprintf("php %s/play.php %s %d", dir, workers, count)
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			c, workers, out := startCluster(t), t.TempDir(), t.TempDir()
			if text, err := c.shell("snowraft layout create leaf --preset leaf").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			cmd := c.shell("exec snowraft worker run --layout leaf --count 4 --dir " + workers + ` -- sh -c '
				for i in 1 2 3 4 5 6 7 8; do ` + s.process(workers) + ` </dev/null >` + out + `/$i & done
				wait'`)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			var ids []uint64
			for _, text := range outputs(t, out) {
				for line := range strings.Lines(text) {
					if line != "ready\n" {
						ids = append(ids, number(t, strings.TrimSpace(line)))
					}
				}
			}
			if n := repeated(ids); n != 0 || len(ids) != 8*count {
				t.Errorf("%d of %d IDs came twice", n, len(ids))
			}
			used := map[uint64]bool{}
			for _, id := range ids {
				p, _ := preset("leaf").Unpack(id)
				used[p.Worker] = true
			}
			if len(used) > 4 {
				t.Errorf("IDs of %d workers, want at most 4", len(used))
			}
		})
	}
}

func outputs(t *testing.T, dir string) (texts []string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}
