//go:build examples

package processtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// order is an answer of an order service.
type order struct{ ID, Number string }

// exampleService is a running order service of the directory examples.
type exampleService struct {
	*process
	place func(t *testing.T, key string) (order, error)
	keyed bool // a repeated key gets the same number
}

// TestExamples starts the order services of examples at three members, kills a member, and compares all orders.
func TestExamples(t *testing.T) {
	members := newCluster(t, 3)
	var api, web, redis []string
	for _, m := range members {
		address := freeport.Address(t)
		m.flags = append(m.flags, "--redis-addr", address)
		api, web, redis = append(api, m.api), append(web, m.http), append(redis, address)
		m.start()
	}
	for _, m := range members {
		m.untilIssues()
	}
	if _, stderr, code := command(t, at(members[0]), "seq", "create", "orders", "--format", "ORD-{seq:05}"); code != 0 {
		t.Fatal(stderr)
	}
	services := map[string]exampleService{
		"go":         overHTTP(t, api, true, build(t, "../../../examples/go")),
		"java":       overHTTP(t, web, true, "java", "-cp", jar(t), example(t, "java/Orders.java")),
		"php":        overHTTP(t, redis, false, "php", "-S", "LISTEN", example(t, "php/orders.php")),
		"python":     overHTTP(t, web, true, "env", "PYTHONPATH="+example(t, "../clients/python/src"), "python3", example(t, "python/orders.py")),
		"shell":      overPipes(t, web, example(t, "shell/orders.sh")),
		"typescript": overHTTP(t, web, true, "node", compiled(t)),
	}
	ids, numbers := make(map[string]string), make(map[string]string)
	place := func(round int) {
		for name, s := range services {
			for i := range 10 {
				key := fmt.Sprintf("%s-%d-%d", name, round, i)
				got, err := s.place(t, key)
				if err != nil {
					t.Fatalf("%s: %v\n%s", key, err, s.stderr.tail(12))
				}
				if other := ids[got.ID]; other != "" || !regexp.MustCompile(`^\d{15,}$`).MatchString(got.ID) {
					t.Errorf("%s has the ID %q; order %q has it too", key, got.ID, other)
				}
				if other := numbers[got.Number]; other != "" || !regexp.MustCompile(`^ORD-\d{5}$`).MatchString(got.Number) {
					t.Errorf("%s has the number %q; order %q has it too", key, got.Number, other)
				}
				ids[got.ID], numbers[got.Number] = key, key
				if again, err := s.place(t, key); err != nil || s.keyed && again.Number != got.Number {
					t.Errorf("%s again: %+v, %v; first %+v", key, again, err, got)
				} else {
					ids[again.ID], numbers[again.Number] = key, key
				}
			}
		}
	}
	place(1)
	members[0].kill()
	place(2)
	for name, s := range services {
		s.signal(syscall.SIGTERM)
		if s.exit(); strings.Contains(s.stderr.String(), "panic") {
			t.Errorf("%s ends with %s", name, s.stderr.tail(12))
		}
	}
}

func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func build(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "orders")
	in(t, ".", "go", "build", "-o", path, source)
	return path
}

// jar packs the Java client and returns the path of its archive.
func jar(t *testing.T) string {
	t.Helper()
	java := example(t, "../clients/java")
	in(t, java, "mvn", "-q", "-B", "-DskipTests", "-Dmaven.javadoc.skip", "-pl", "client", "package")
	found, err := filepath.Glob(filepath.Join(java, "client", "target", "snowraft-client-*[0-9].jar"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	return found[0]
}

// compiled installs the packed TypeScript client next to the service, and compiles the service.
func compiled(t *testing.T) string {
	t.Helper()
	client, dir := example(t, "../clients/typescript"), t.TempDir()
	in(t, client, "npm", "ci", "--no-audit", "--no-fund")
	in(t, client, "npm", "pack", "--silent", "--pack-destination", dir)
	packed, err := filepath.Glob(filepath.Join(dir, "snowraft-*.tgz"))
	if err != nil || len(packed) != 1 {
		t.Fatalf("%v, %v", packed, err)
	}
	in(t, dir, "cp", example(t, "typescript/orders.ts"), example(t, "typescript/package.json"), dir)
	in(t, dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "--no-save", packed[0])
	modules := filepath.Join(client, "node_modules")
	in(t, dir, filepath.Join(modules, ".bin", "tsc"), "--strict", "--target", "es2023", "--module", "nodenext",
		"--types", "node", "--typeRoots", filepath.Join(modules, "@types"), "orders.ts")
	return filepath.Join(dir, "orders.js")
}

// in runs a program in a directory. The program must succeed.
func in(t *testing.T, dir, path string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v: %s", path, args, err, out)
	}
}

// overHTTP starts a service that serves POST /orders. It replaces the argument LISTEN by the service's address.
func overHTTP(t *testing.T, members []string, keyed bool, path string, args ...string) exampleService {
	t.Helper()
	listen := freeport.Address(t)
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "LISTEN", listen)
	}
	s := exampleService{process: startProgram(t, path, []string{"SNOWRAFT_MEMBERS=" + strings.Join(members, ","), "LISTEN=" + listen}, args...), keyed: keyed}
	s.place = func(t *testing.T, key string) (got order, err error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listen+"/orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Idempotency-Key", key)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return got, err
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusCreated {
			err = fmt.Errorf("%s: %s", response.Status, text)
		}
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		return got, err
	}
	until(t, path+" listens", func() bool {
		if !s.running() {
			t.Fatalf("%s ended: %s", path, s.stderr.tail(12))
		}
		response, err := http.Get("http://" + listen + "/")
		if err == nil {
			_ = response.Body.Close()
		}
		return err == nil
	})
	return s
}

// overPipes starts a service that reads keys and prints orders.
func overPipes(t *testing.T, members []string, path string) exampleService {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	launch := func(cmd *exec.Cmd) error { cmd.Stdin = r; return cmd.Start() }
	s := exampleService{process: startBy(t, launch, path, []string{"SNOWRAFT_MEMBERS=" + strings.Join(members, ",")}), keyed: true}
	lines := 0
	s.place = func(t *testing.T, key string) (order, error) {
		if _, err := fmt.Fprintln(w, key); err != nil {
			return order{}, err
		}
		lines++
		until(t, "an order of "+key, func() bool {
			return !s.running() || strings.Count(s.stdout.String(), "\n") == lines
		})
		all := strings.Split(strings.TrimSpace(s.stdout.String()), "\n")
		words := strings.Fields(all[len(all)-1])
		if len(words) != 3 || words[0] != key {
			return order{}, fmt.Errorf("it prints %q", words)
		}
		return order{ID: words[1], Number: words[2]}, nil
	}
	return s
}
