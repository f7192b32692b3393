//go:build root && linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// built returns the image for this machine, as container engines read it from the archive that "make image" writes.
func built(t *testing.T) opened {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "snowraft")
	static := exec.CommandContext(t.Context(), "../../tools/static.sh", "linux", runtime.GOARCH, program)
	static.Env = append(os.Environ(), "VERSION="+commit.version)
	if out, err := static.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	archive := filepath.Join(dir, "image.tar")
	err := run([]string{
		"-version", commit.version, "-revision", commit.revision, "-created", fmt.Sprint(commit.created.Unix()), "-arch", runtime.GOARCH,
		"-program", program, "-licenses", "../../../LICENSE", "-certificates", "/etc/ssl/certs/ca-certificates.crt", "-out", archive,
	})
	if err != nil {
		t.Fatal(err)
	}
	// Skopeo reads archives like Podman, and checks each digest. It reads the OCI form and the Docker form.
	for _, form := range []string{"oci-archive:", "docker-archive:"} {
		copied := exec.CommandContext(t.Context(), "skopeo", "copy", "--quiet", "--insecure-policy", "--override-arch", runtime.GOARCH, form+archive, "dir:"+t.TempDir())
		if out, err := copied.CombinedOutput(); err != nil {
			t.Errorf("skopeo (Debian: apt-get install skopeo) cannot read the image as %s: %v: %s", form, err, out)
		}
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	r := commit
	r.arch = runtime.GOARCH
	return open(t, r, content)
}

// TestComposeRunsTheImage runs the services of the compose file in the image, without a container engine.
func TestComposeRunsTheImage(t *testing.T) {
	e := newEngine(t, built(t))
	secret := e.create("secret", 9)
	for range 2 { // the second start keeps the secret
		secret.start()
		if code := secret.stop(0); code != 0 {
			t.Fatalf("the service secret exits with code %d", code)
		}
	}
	if out := secret.output(); !strings.Contains(out, "created secret file") || !strings.Contains(out, "kept secret file") {
		t.Errorf("the service secret prints %q", out)
	}

	members := []*container{e.create("a", 1), e.create("b", 2), e.create("c", 3)}
	a, b, c := members[0], members[1], members[2]
	c.start() // alone: no address of another member is known yet
	e.until("the first member is healthy before there is a cluster", func() error { return c.healthy(false) })
	if c.healthy(true) == nil {
		t.Error("the first member is ready before there is a cluster")
	}
	a.start()
	b.start()
	seen := make(map[string]string)
	for _, m := range members {
		e.until(m.name+" is ready", func() error { return m.healthy(true) })
		id, err := m.exec("/snowraft", "id")
		if err != nil || seen[id] != "" {
			t.Errorf("member %s issues %q, as %s did (%v)", m.name, id, seen[id], err)
		}
		seen[id] = m.name
	}
	if out, err := a.exec("/snowraft", "version"); err != nil || !strings.Contains(out, commit.version) {
		t.Errorf("the program prints %q, %v", out, err)
	}
	e.play(a)
	e.scrape()

	// A gateway runs in the same image. Its HTTP port is plain, and it has no token yet.
	e.compose.Services["gateway"] = service{Command: []string{"gateway", "--members", "a:7700"}}
	gateway := e.create("gateway", 4)
	gateway.start()
	e.until("the gateway is healthy", func() error { return gateway.healthy(false) })
	if code := gateway.stop(syscall.SIGTERM); code != 0 || gateway.healthy(false) == nil {
		t.Errorf("the gateway exits with code %d, or is healthy after that", code)
	}

	// Without quorum, a member cannot issue IDs for long. Its health check must still succeed, so that it is not replaced.
	for _, m := range []*container{a, b} {
		if code := m.stop(syscall.SIGTERM); code != 0 {
			t.Errorf("member %s exits with code %d", m.name, code)
		}
	}
	if code := c.stop(syscall.SIGKILL); code != -1 {
		t.Errorf("member c exits with code %d", code)
	}
	c.start()
	e.until("a member without quorum is healthy", func() error { return c.healthy(false) })
	if c.healthy(true) == nil {
		t.Error("a restarted member is ready without quorum")
	}
}

// play runs the commands of docs/docker.md in the container of a member of the compose file.
func (e *engine) play(c *container) {
	e.t.Helper()
	page, err := os.ReadFile("../../../docs/docker.md")
	e.must(err)
	lines := regexp.MustCompile(`(?m)^docker compose .* exec `+c.name+` snowraft (.*)$`).FindAllSubmatch(page, -1)
	if len(lines) < 2 {
		e.t.Errorf("docs/docker.md runs %d commands in member %s", len(lines), c.name)
	}
	for _, line := range lines {
		if _, err := c.exec(append([]string{"/snowraft"}, strings.Fields(string(line[1]))...)...); err != nil {
			e.t.Errorf("docs/docker.md: %v", err)
		}
	}
}

// scrape runs the Prometheus of the compose file until it has scraped every member.
func (e *engine) scrape() {
	e.t.Helper()
	hosts := filepath.Join(e.dir, "hosts")
	e.must(os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"+strings.Join(e.names, "\n")+"\n"), 0o644))
	e.must(syscall.Mount(hosts, "/etc/hosts", "", syscall.MS_BIND, ""))
	e.t.Cleanup(func() { _ = syscall.Unmount("/etc/hosts", 0) })
	log, err := os.Create(filepath.Join(e.dir, "prometheus.log"))
	e.must(err)
	defer func() { _ = log.Close() }()
	const address = "127.0.0.1:9090" // address in this network namespace
	prometheus := exec.CommandContext(e.t.Context(), "prometheus", "--config.file=../../../deploy/prometheus/prometheus.yaml",
		"--storage.tsdb.path="+e.t.TempDir(), "--web.listen-address="+address)
	prometheus.Stdout, prometheus.Stderr = log, log
	if err := prometheus.Start(); err != nil {
		e.t.Fatalf("prometheus (Debian: apt-get install prometheus): %v", err)
	}
	defer func() {
		_ = prometheus.Process.Kill()
		_ = prometheus.Wait()
	}()
	e.until("Prometheus scrapes the members", func() error {
		response, err := http.Get("http://" + address + "/api/v1/targets")
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		var answer struct {
			Data struct {
				ActiveTargets []struct{ Health, LastError, ScrapeURL string }
			}
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			return err
		}
		targets := answer.Data.ActiveTargets
		if len(targets) != 3 {
			return fmt.Errorf("it has %d targets", len(targets))
		}
		for _, target := range targets {
			if target.Health != "up" {
				return errors.New(target.ScrapeURL + " is " + target.Health + ": " + target.LastError)
			}
		}
		return nil
	})
}
