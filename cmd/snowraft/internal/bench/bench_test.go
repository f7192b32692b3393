package bench

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

var program = clitest.Commands{New}

func TestBenchIDs(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	var doc Report
	clitest.Decode(t, program.Succeeds(t, "bench", "ids", "--addr", f.Address, "-d", "500ms", "-b", "2500", "-c", "3", "--layout", "orders", "-o", "json"), &doc)
	asked := f.Requests()
	last := asked[len(asked)-1].(*snowraftv1.GenerateIdsRequest)
	if last.GetCount() != 2500 || last.GetLayout() != "orders" || last.GetPacked() {
		t.Errorf("the last request is %v", last)
	}
	if doc.Calls == 0 || doc.Numbers != 2500*doc.Calls || doc.Check.Checked != doc.Numbers || doc.Check.Duplicates != 0 || doc.Failed != 0 || doc.Clients != 3 {
		t.Errorf("%+v", doc)
	}
	doc = Report{}
	clitest.Decode(t, program.Succeeds(t, "bench", "ids", "--addr", f.Address, "-d", "500ms", "--packed", "-r", "10", "--check=false", "-o", "json"), &doc)
	if doc.Calls+doc.Overdue != 5 || doc.Numbers != doc.Calls || doc.Check != nil {
		t.Errorf("%+v, want 5 calls", doc) // overdue: this machine may be slow
	}
}

// The check finds duplicates of the server.
func TestBenchFindsDuplicates(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	var calls atomic.Int64
	f.Before(func(context.Context) error {
		if calls.Add(1) == 4 { // early, because a busy machine makes few calls
			f.Rewind(2)
		}
		return nil
	})
	stdout, stderr, code := program.Run(t, "bench", "ids", "--addr", f.Address, "-d", "400ms", "-c", "1")
	if code != cli.ExitFailed || !strings.Contains(stdout, "Unique   NO: 2 of ") ||
		!strings.HasPrefix(stderr, "snowraft: 2 of ") || !strings.Contains(stderr, " IDs are duplicates: 2497092884008") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestBenchSequence(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	var doc Report
	clitest.Decode(t, program.Succeeds(t, "bench", "seq", "countdown", "--addr", f.Address, "-d", "500ms", "-b", "3", "-o", "json"), &doc)
	if doc.Calls == 0 || doc.Numbers != 3*doc.Calls || doc.Check.Checked != doc.Numbers || doc.Check.Duplicates != 0 {
		t.Errorf("%+v", doc)
	}
}

// Each number of clients gets a run, and the check finds a number that two runs got.
func TestBenchSeveralNumbersOfClients(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	stdout := program.Succeeds(t, "bench", "seq", "countdown", "--addr", f.Address, "-d", "500ms", "-c", "1,2,3", "-o", "json")
	for i, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		var doc Report
		clitest.Decode(t, line, &doc)
		if doc.Clients != i+1 || doc.Calls == 0 || doc.Check.Checked != doc.Numbers {
			t.Errorf("%+v, want a run with %d clients", doc, i+1)
		}
	}
	text := program.Succeeds(t, "bench", "ids", "--addr", f.Address, "-d", "500ms", "-c", "1,2")
	if rows := strings.Split(text, "\n"); len(rows) != 4 || !strings.HasPrefix(rows[0], "CLIENTS  CALLS/S") || !strings.HasPrefix(rows[2], "2 ") {
		t.Errorf("bench prints %q, want a row for each number of clients", text)
	}
	f = clitest.NewAPI(t)
	again := sync.OnceFunc(f.Restart)
	w := clitest.New()
	f.Before(func(context.Context) error {
		if w.Out.String() != "" { // second run
			again()
		}
		return nil
	})
	code := program.In(t.Context(), w.App("test"), "bench", "ids", "--addr", f.Address, "-d", "200ms", "-c", "1,2", "-r", "1000", "-o", "json")
	stdout, stderr := w.Out.String(), w.Err.String()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var doc Report
	clitest.Decode(t, lines[len(lines)-1], &doc)
	if code != cli.ExitFailed || len(lines) != 2 || doc.Check.Duplicates == 0 || !strings.Contains(stderr, "are duplicates") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// A failure before the run is an error, and so is a run without a successful call.
func TestBenchFails(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	f.Before(func(context.Context) error { return status.Error(codes.Internal, "broken") })
	stdout, stderr, code := program.Run(t, "bench", "ids", "--addr", f.Address, "-d", "500ms")
	if code != cli.ExitFailed || stdout != "" || stderr != "snowraft: broken [Internal]\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	var calls atomic.Int64
	f.Before(func(context.Context) error {
		if calls.Add(1) == 1 {
			return nil
		}
		return status.Error(codes.Internal, "broken")
	})
	stdout, stderr, code = program.Run(t, "bench", "ids", "--addr", f.Address, "-d", "500ms")
	if code != cli.ExitFailed || !strings.Contains(stdout, "INTERNAL") || stderr != "snowraft: no call succeeded: broken [INTERNAL]\n" {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestBenchIsInterrupted(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	w := clitest.New()
	var calls atomic.Int64
	f.Before(func(context.Context) error {
		if calls.Add(1) == 500 {
			w.Sent <- syscall.SIGINT
		}
		return nil
	})
	code := program.In(t.Context(), w.App("test"), "bench", "ids", "--addr", f.Address, "-d", "1h", "-o", "json")
	var doc Report
	clitest.Decode(t, w.Out.String(), &doc)
	if code != cli.ExitDone || !doc.Interrupted || doc.Calls == 0 || doc.Failed != 0 {
		t.Errorf("exit code %d: %s%s", code, w.Out.String(), w.Err.String())
	}
}

func TestBenchHTTP(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100_000)
	var next atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.URL.String()
		_, _ = io.WriteString(w, cli.Decimal(uint64(next.Add(1)))+"\n")
	}))
	t.Cleanup(s.Close)
	address := s.Listener.Addr().String()
	for line, want := range map[string]string{
		"http":                 "GET /id",
		"http --post":          "POST /id",
		"http --layout orders": "GET /id?layout=orders",
		"http tenant/a?b":      "POST /seq/tenant/a%3Fb",
	} {
		program.Succeeds(t, append([]string{"bench", "--addr", address, "-d", "500ms", "-r", "40"}, strings.Fields(line)...)...)
		for range len(asked) {
			if got := <-asked; got != want {
				t.Errorf("%s requests %s, want %s", line, got, want)
			}
		}
	}
}

func TestBenchWithoutAServer(t *testing.T) {
	t.Parallel()
	for line, exit := range map[string]int{
		"ids": cli.ExitRepeatable, "ids --coalesce": cli.ExitRepeatable, "seq a": cli.ExitRepeatable, "embedded": cli.ExitRepeatable,
		"redis a": cli.ExitRepeatable, "http": cli.ExitRepeatable, "http orders": cli.ExitRepeatable,
	} {
		stdout, stderr, code := program.Run(t, append([]string{"bench", "--addr", clitest.DeadAddress}, strings.Fields(line)...)...)
		if code != exit || stdout != "" || !strings.Contains(stderr, clitest.DeadAddress) || !strings.Contains(stderr, "connection refused") {
			t.Errorf("%s: exit code %d: %s%s", line, code, stdout, stderr)
		}
	}
}

// The exit code of some failures depends on more than their reasons.
func TestBenchExitCodeOfFailures(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int{
		"-LOADING no leader\r\n":                   cli.ExitRepeatable,
		"-ERR max number of clients reached\r\n":   cli.ExitRepeatable,
		"-ERR no such sequence\r\n":                cli.ExitFailed,
		"+OK\r\n":                                  cli.ExitFailed, // not a number
		"HTTP/1.1 400 Bad Request\r\n\r\n":         cli.ExitFailed, // not Redis
		httpAnswer("503", "CLOCK_BEHIND: by 5 s"):  cli.ExitRepeatable,
		httpAnswer("500", "COMMIT_UNKNOWN: maybe"): cli.ExitRepeatable,
		httpAnswer("404", "UNKNOWN_SEQUENCE: no"):  cli.ExitFailed,
		httpAnswer("502", "<html>"):                cli.ExitRepeatable,
		httpAnswer("403", "<html>"):                cli.ExitFailed,
	} {
		l, err := net.Listen("tcp", cli.Localhost+":0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 1000))
				_, _ = io.WriteString(conn, answer)
				_ = conn.Close()
			}
		}()
		line := "redis a"
		if strings.HasPrefix(answer, "HTTP/1.1 ") && !strings.HasPrefix(answer, "HTTP/1.1 400") {
			line = "http a"
		}
		_, stderr, code := program.Run(t, append([]string{"bench", "--addr", l.Addr().String()}, strings.Fields(line)...)...)
		if code != want || stderr == "" {
			t.Errorf("%q: exit code %d, want %d; %s", answer, code, want, stderr)
		}
	}
}

func httpAnswer(status, body string) string {
	return "HTTP/1.1 " + status + " Status\r\nConnection: close\r\n\r\n" + body + "\n"
}
