//go:build root && linux

package siegetest

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

// resident returns the resident memory of the member, in bytes.
func (m *member) resident() int64 {
	m.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", m.cmd.Process.Pid))
	if err != nil {
		m.Fatal(err)
	}
	pages, err := strconv.ParseInt(string(bytes.Fields(statm)[1]), 10, 64)
	if err != nil {
		m.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

var heldMetric = regexp.MustCompile(`(?m)^snowraft_client_memory_bytes (\S+)$`)

// counted returns the memory that the member counts for its clients, in bytes.
func (m *member) counted() int64 {
	m.Helper()
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	resp, err := web.Get("https://" + m.http + "/metrics") //nolint:noctx // the test ends with the member
	if err != nil {
		m.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if found := heldMetric.FindSubmatch(text); err == nil && found != nil {
		if held, err := strconv.ParseFloat(string(found[1]), 64); err == nil {
			return int64(held)
		}
	}
	m.Fatalf("metrics: %v, %.200s", err, text)
	return 0
}

// The memory that is counted for clients is at least 0.8 of its growth. Each kind of client has a member of its own, because a member
// closes connections that answer no ping for 40 s.
func TestPricesCoverGrowth(t *testing.T) {
	for _, c := range []struct {
		name  string
		conns int
		calls uint32
		whole bool
	}{
		{"connections", 500, 0, true},
		{"connections with 1000 unsent answers", 6, 1000, true},
		{"connections with 1000 incomplete calls", 2, 1000, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			const gogc = "5" // little garbage is resident
			m := start(t, gogc)
			var all, open sync.WaitGroup
			defer all.Wait()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			held, grown := m.counted(), m.resident()
			for range c.conns {
				open.Add(1)
				all.Go(func() {
					raw, err := net.Dial("tcp", m.api) //nolint:noctx // closed below
					if err != nil {
						t.Error(err)
						open.Done()
						return
					}
					secured := tls.Client(raw, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
					stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
					defer stop()
					if err := calls(secured, c.calls, c.whole); err != nil {
						t.Error(err)
					}
					open.Done()
					_, _ = io.Copy(io.Discard, secured)
				})
			}
			open.Wait()
			for last := int64(0); m.resident() > last+last/100; { // until little more comes
				last = m.resident()
				<-time.After(time.Second)
			}
			held, grown = m.counted()-held, m.resident()-grown
			ratio := float64(held) / float64(grown)
			t.Logf("%d × %s: %d KiB counted, %d KiB grown: %.2f", c.conns, c.name, held>>10, grown>>10, ratio)
			if ratio < 0.8 {
				t.Error("too little is counted")
			}
		})
	}
}
