package console_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/bubble"
	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// events is an open stream.
type events struct {
	t    *testing.T
	resp *http.Response
	body *bufio.Reader
}

func (r *rig) open(path string, headers ...string) *events {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second) // a missing event fails the test
	r.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.server.URL+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	client := http.Client{Transport: &http.Transport{DialContext: r.network.DialContext, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = resp.Body.Close() })
	return &events{r.t, resp, bufio.NewReader(resp.Body)}
}

// next returns the next event, or io.EOF after the last event.
func (e *events) next() (name, data string, err error) {
	for {
		line, err := e.body.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			name = value
		case "data":
			data += value + "\n"
		case "":
			if name != "" {
				return name, data, nil
			}
		}
	}
}

// until reads events until an event with the name contains the text, and returns its data.
func (e *events) until(name, text string) string {
	e.t.Helper()
	for {
		got, data, err := e.next()
		if err != nil {
			e.t.Fatalf("stream ended before %s with %q: %v", name, text, err)
		}
		if got == name && strings.Contains(data, text) {
			return data
		}
	}
}

func TestStreamSendsChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.open("/console/stream?page=now")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-store", "Content-Security-Policy": "",
	} {
		if got := e.resp.Header.Get(name); got != want && want != "" || got == "" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	e.until("html", `id="verdict"`)
	e.until("html", `id="now-members"`)
	e.until("tick", `"composed":1800000000000`)
	o := healthy()
	o.ComposedAtMs++
	o.Verdict.Sentence = "2 of 3 members are issuing IDs."
	r.cluster.set(o, nil)
	if data := e.until("html", ""); !strings.Contains(data, "2 of 3 members are issuing IDs.") {
		t.Errorf("first came %s", data)
	}
	e.until("tick", `"composed":1800000000001`)
	// The server's timeouts are 1 s. The stream outlasts them.
	for range 2 {
		time.Sleep(700 * time.Millisecond) //nolint:forbidigo // the test is about the passing of time
		o.ComposedAtMs++
		r.cluster.set(o, nil)
		if name, data, err := e.next(); err != nil || name != "tick" && !strings.Contains(data, "now-facts") {
			t.Errorf("an equal overview: %s %s %v", name, data, err)
		}
	}
}

func TestStreamSendsReasonForMissingOverview(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cluster.set(nil, rpc.NewError(rpc.NoLeader, "no member answers this gateway"))
	e := r.open("/console/stream?page=now")
	e.until("trouble", "No member answers this gateway.")
	e.until("tick", `"composed":0`)
	r.cluster.set(healthy(), nil)
	e.until("html", "3 of 3 members are issuing")
}

// A page without an overview, whose list could not be loaded once, is current again after the next success.
func TestStreamTakesTroubleBack(t *testing.T) {
	t.Parallel()
	r, tokens, _, issuer := secured(t)
	record, _ := tokens.Token(2)
	reads := *record
	reads.Scopes = []trust.Scope{"seq:read:*"}
	tokens.change(2, &reads)
	e := r.open("/console/stream?page=sequences", "Host: a.example:7701", with(signIn(t, r, issuer)))
	e.until("html", "sequences")
	r.cluster.fail(rpc.NewError(rpc.NoLeader, "no member answers this gateway"))
	e.until("trouble", "No member answers this gateway.")
	r.cluster.fail(nil)
	if data := e.until("trouble", ""); data != "\n" {
		t.Errorf("trouble %q, want none", data)
	}
}

func TestStreamEndsWithTheRightsOfItsViewer(t *testing.T) {
	t.Parallel()
	r, tokens, reader, issuer := secured(t)
	host := "Host: a.example:7701"
	c := signIn(t, r, reader)
	e := r.open("/console/stream?page=now", host, with(c))
	e.until("html", "3 of 3")
	tokens.change(1, nil)
	r.cluster.set(healthy(), nil)
	e.until("gone", "")
	if _, _, err := e.next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
	record, _ := tokens.Token(2)
	reads := *record
	reads.Scopes = []trust.Scope{trust.RightReadCluster}
	tokens.change(2, &reads)
	poorer := r.open("/console/stream?page=now", host, with(signIn(t, r, issuer)))
	poorer.until("html", "3 of 3")
	tokens.change(2, record)
	r.cluster.set(healthy(), nil)
	poorer.until("gone", "")
	for _, header := range []string{"Accept: */*", with(signIn(t, r, issuer))} {
		e := r.open("/console/stream?page=now", host, header)
		if name, data, _ := e.next(); name != "gone" {
			t.Errorf("%s: %s %s", header, name, data)
		}
	}
}

// Callers without a right to any content of a page take none of the places for viewers.
func TestStreamsOfStrangersTakeNoPlace(t *testing.T) {
	t.Parallel()
	r, _, _, issuer := secured(t)
	poor := with(signIn(t, r, issuer))
	for _, page := range []string{"now", "windows", "id", "sequences", "events"} {
		for _, header := range []string{"Accept: */*", poor} {
			e := r.open("/console/stream?page="+page, "Host: a.example:7701", header)
			if name, data, err := e.next(); name != "gone" {
				t.Errorf("%s: %s %s %v, want gone", page, name, data, err)
			}
			if n := r.console.Viewers(); n != 0 {
				t.Errorf("%s: %d places taken, want 0", page, n)
			}
		}
	}
	// The page does not request such a stream, so it does not load itself again and again.
	r.wants(r.ask("GET", "/console/id", "", poor).Body.String(), "Paste an ID", "!data-stream")
}

func TestStreamEndsAtSignOut(t *testing.T) {
	t.Parallel()
	r, _, reader, _ := secured(t)
	c := signIn(t, r, reader)
	e := r.open("/console/stream?page=now", "Host: a.example:7701", with(c))
	e.until("html", "3 of 3")
	r.ask("POST", "/console/session", form("out", "1"), with(c))
	r.cluster.set(healthy(), nil)
	e.until("gone", "")
}

func TestStreamsEndWhenTheConsoleCloses(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	e := r.open("/console/stream?page=now")
	e.until("tick", "")
	r.console.Close()
	for {
		if _, _, err := e.next(); err != nil {
			break
		}
	}
	if _, _, err := r.open("/console/stream?page=now").next(); err == nil {
		t.Error("a stream begins after the end")
	}
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 64 {
		r.open("/console/stream?page=now")
	}
	e := r.open("/console/stream?page=now")
	text, _ := io.ReadAll(e.body)
	if e.resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "64 pages are open here") || e.resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %s %s", e.resp.Status, text)
	}
}

// Viewers with the same rights share the requests of the process.
func TestViewersShareAWatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var all []*events
	for range 5 {
		all = append(all, r.open("/console/stream?page=now"))
	}
	for _, e := range all {
		e.until("html", "3 of 3")
	}
	if n := r.cluster.watching(); n != 1 {
		t.Errorf("%d watches for viewers with the same rights", n)
	}
	o := healthy()
	o.Verdict.Sentence = "2 of 3 members are issuing IDs."
	r.cluster.set(o, nil)
	for _, e := range all {
		e.until("html", "2 of 3")
	}
	r.console.Close()
	for _, e := range all {
		for {
			if _, _, err := e.next(); err != nil {
				break
			}
		}
	}
	for r.cluster.watching() > 0 {
		time.Sleep(time.Millisecond) //nolint:forbidigo // the call ends on the other side of a connection
	}
}

func TestStreamsOfPagesOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, path := range []string{"?page=none", "", "?page=runbook"} {
		if e := r.open("/console/stream" + path); e.resp.StatusCode != http.StatusNotFound {
			t.Errorf("%q: %s", path, e.resp.Status)
		}
	}
	if e := r.open("/console/stream?page=now", "Sec-Fetch-Site: cross-site"); e.resp.StatusCode != http.StatusForbidden {
		t.Errorf("another site: %s", e.resp.Status)
	}
}

// A viewer that reads nothing delays no other viewer, and loses its stream.
func TestSlowViewerLosesTheStream(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		r := newRig(t)
		conn, err := r.network.DialContext(t.Context(), "tcp", r.server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /console/stream?page=now HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		quick := r.open("/console/stream?page=now")
		quick.until("tick", "")
		began := time.Now()
		for i := 0; r.console.Viewers() > 1; i++ {
			o := healthy()
			o.ComposedAtMs += int64(i)
			o.Verdict.Sentence = strings.Repeat("x", 500_000+i)
			asked := time.Now()
			r.cluster.set(o, nil)
			quick.until("tick", "")
			if took := time.Since(asked); took > 4*time.Second { // the slow viewer's write ends after 5 s
				t.Errorf("another viewer waited for %v", took)
			}
			if time.Since(began) > 30*time.Second {
				t.Fatal("the slow viewer keeps its stream")
			}
			<-time.After(100 * time.Millisecond)
		}
	})
}
