package worker

import (
	"context"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/test/freeport"
)

// ask requests a path of a wrapper. The code is 0 while nothing listens.
func ask(t *testing.T, address, path string) (code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body)
}

// await polls until a condition holds.
func await(t *testing.T, ok func() bool) {
	t.Helper()
	limit, tick := time.After(10*window), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-limit:
			t.Fatal("not in time")
		case <-tick.C:
		}
	}
}

// A wrapper is healthy while it lives, and ready while its lease holds and its command runs. It exports the metrics that the page lists.
func TestWatchedWrapper(t *testing.T) {
	t.Parallel()
	m, address := startMember(t), freeport.Address(t)
	is := func(path string, want int) func() bool {
		return func() bool {
			code, _ := ask(t, address, path)
			return code == want
		}
	}
	w := m.wrap(t, clock, "--weak-containment",
		"--http-addr", address, "--restart", "always", "--stop-timeout", "3s")
	w.begin(t)
	await(t, is("/readyz", http.StatusOK))
	_, text := ask(t, address, "/metrics")
	for _, line := range []string{
		"snowraft_worker_ready 1", "snowraft_worker_starts_total 1", "snowraft_worker_lease_ends_total 0",
		`snowraft_worker_window_failing{layout="default",worker="1"} 0`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("the metrics lack %s:\n%s", line, text)
		}
	}
	page, err := os.ReadFile("../../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(snowraft_\\w+).*\\| (\\w+) \\| (?:member, gateway, )?worker run \\|").FindAllStringSubmatch(string(page), -1)
	var listed, exported []string
	for _, row := range rows {
		listed = append(listed, row[1]+" "+row[2])
	}
	for _, family := range regexp.MustCompile(`(?m)^# TYPE (.*)$`).FindAllStringSubmatch(text, -1) {
		exported = append(exported, family[1])
	}
	slices.Sort(listed)
	if slices.Sort(exported); !slices.Equal(listed, exported) {
		t.Errorf("the wrapper exports %v, the page lists %v", exported, listed)
	}

	_ = m.Close(context.Background())
	await(t, is("/readyz", http.StatusServiceUnavailable))
	for unready := time.Now(); !nanoseconds(t, w.lines.Text()).After(unready); { // the command still runs, for 3 s
		if !w.lines.Scan() {
			t.Fatal("the command ended before the wrapper was no longer ready")
		}
	}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/none": http.StatusNotFound} {
		if code, body := ask(t, address, path); code != want {
			t.Errorf("%s: %d, %s", path, code, body)
		}
	}
	if _, text := ask(t, address, "/metrics"); !strings.Contains(text, "\nsnowraft_worker_ready 0\n") || !strings.Contains(text, "\nsnowraft_worker_lease_ends_total 1\n") {
		t.Errorf("after the end of the lease:\n%s", text)
	}
	_ = w.Process.Signal(unix.SIGTERM)
}
