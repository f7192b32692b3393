package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

// fate says what a proxy does with a request.
type fate struct {
	twice bool          // the member gets it twice, and the client the second answer
	late  time.Duration // the answer is delayed
	drop  bool          // the client gets no answer
	seal  bool          // the client hears that the cluster is sealed, and the member hears nothing
}

// setBack is the error of a sealed cluster.
const setBack = `{"code":9,"message":"the cluster was set back in time and is sealed","details":[{` +
	`"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"SET_BACK","domain":"snowraft","metadata":{}}]}`

// proxy stands between clients and a member of an open cluster. It hides the addresses of members from clients, so that they stay with
// the proxies.
type proxy struct {
	member  string
	server  *http.Server
	address string

	*traffic
}

// traffic holds the requests that the proxies in front of the members saw.
type traffic struct {
	// judge decides about a request; n counts the requests of its path.
	judge func(path string, n int) fate

	mu         sync.Mutex
	counts     map[string]int
	extensions []extension // oldest first
	windows    map[uint64]window
}

// window holds the ticks of a worker that clients know to be granted.
type window struct {
	Worker uint64 `json:"worker,string"`
	From   int64  `json:"fromTick,string"`
	Until  int64  `json:"untilTick,string"`
}

// granted notes a window in an answer that a client gets.
func (t *traffic) granted(answer []byte) {
	var a struct {
		Grant *window `json:"grant"`
	}
	if json.Unmarshal(answer, &a) != nil || a.Grant == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	w := *a.Grant
	if before, ok := t.windows[w.Worker]; ok {
		w.From, w.Until = min(w.From, before.From), max(w.Until, before.Until)
	}
	t.windows[w.Worker] = w
}

// covers returns an error unless each ID lies in a window that a client knows.
func (t *traffic) covers(ids []uint64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range ids {
		parts, err := snowflake.Default().Unpack(id)
		if err != nil {
			return err
		}
		if w, ok := t.windows[parts.Worker]; !ok || parts.Tick < w.From || parts.Tick >= w.Until {
			return fmt.Errorf("ID %d at tick %d of worker %d is not in the window that was granted: %+v", id, parts.Tick, parts.Worker, w)
		}
	}
	return nil
}

// extension is a request for a later end of a window.
type extension struct {
	Worker      string `json:"worker"`
	UntilTick   string `json:"untilTick"`
	ExtensionID string `json:"extensionId"`
	dropped     bool
}

// inFront starts a proxy for each member.
func (s *suite) inFront(c *cluster, judge func(path string, n int) fate) (all []*proxy, err error) {
	shared := &traffic{judge: judge, counts: make(map[string]int), windows: make(map[uint64]window)}
	for _, m := range c.members {
		x := &proxy{member: m.http(), traffic: shared}
		l, err := listen(s.ports)
		if err != nil {
			return nil, err
		}
		x.address = l.Addr().String()
		x.server = &http.Server{Handler: x, ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = x.server.Serve(l) }() // ends with close
		all = append(all, x)
	}
	return all, nil
}

// ServeHTTP implements http.Handler.
func (x *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	x.mu.Lock()
	x.counts[r.URL.Path]++
	f := x.judge(r.URL.Path, x.counts[r.URL.Path])
	var e extension
	if r.URL.Path == "/v1/workers:extend" && json.Unmarshal(body, &e) == nil {
		e.dropped = f.drop
		x.extensions = append(x.extensions, e)
	}
	x.mu.Unlock()
	if f.seal {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, setBack)
		return
	}
	status, header, answer, err := x.forward(r, body)
	if f.twice {
		status, header, answer, err = x.forward(r, body)
	}
	if f.late > 0 {
		select {
		case <-time.After(f.late):
		case <-r.Context().Done():
		}
	}
	if f.drop || err != nil {
		panic(http.ErrAbortHandler) // closes the connection
	}
	x.granted(answer)
	maps.Copy(w.Header(), header)
	if r.URL.Path == "/v1/members" {
		answer = alone(answer)
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

// forward sends a request to the member.
func (x *proxy) forward(r *http.Request, body []byte) (status int, header http.Header, answer []byte, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, "http://"+x.member+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, answer, err
}

// alone removes the addresses of HTTP listeners from a list of members.
func alone(answer []byte) []byte {
	var list map[string]any
	if json.Unmarshal(answer, &list) != nil {
		return answer
	}
	members, _ := list["members"].([]any)
	for _, m := range members {
		if fields, ok := m.(map[string]any); ok {
			delete(fields, "httpAddress")
			delete(fields, "apiAddress")
		}
	}
	hidden, err := json.Marshal(list)
	if err != nil {
		return answer
	}
	return hidden
}

// lost returns how many extensions had no answer, and an error if the next request for the same end had another ID.
func lost(requests []extension) (n int, err error) {
	for i, e := range requests {
		if !e.dropped {
			continue
		}
		n++
		for _, next := range requests[i+1:] {
			if next.Worker != e.Worker {
				continue
			}
			if next.UntilTick != e.UntilTick || next.ExtensionID != e.ExtensionID {
				return n, fmt.Errorf("after an extension without an answer, worker %s requested another one: %+v after %+v", e.Worker, next, e)
			}
			break
		}
	}
	return n, nil
}

// closeAll ends proxies.
func closeAll(all []*proxy) (err error) {
	for _, x := range all {
		err = errors.Join(err, x.server.Close())
	}
	return err
}
