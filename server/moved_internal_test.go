package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/events"
)

type noted []string

func (n *noted) Note(_ events.Kind, _ slog.Level, text string) { *n = append(*n, text) }

// A member whose host has other addresses says so until they are the former ones again, and repeats it rarely.
func TestMovedMemberAsksForItsRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var notes noted
		var mu sync.Mutex // time alone orders nothing for the race detector
		var addresses []net.IPAddr
		var failure error
		m := &moved{
			host: "a.example.net", ip: net.IPv4(192, 0, 2, 1), logger: slog.New(slog.NewTextHandler(&log, nil)), events: &notes,
			lookup: func(context.Context, string) ([]net.IPAddr, error) {
				mu.Lock()
				defer mu.Unlock()
				return addresses, failure
			},
		}
		go m.run(t.Context())
		for _, step := range []struct {
			at      []string
			failure error
			lasts   time.Duration
			away    bool
			lines   int
		}{
			{[]string{"192.0.2.1"}, nil, time.Hour, false, 0},
			{[]string{"2001:db8::1", "192.0.2.1"}, nil, time.Hour, false, 0},
			{nil, errors.New("no such host"), time.Hour, false, 0},
			{[]string{"127.0.1.1"}, nil, time.Hour, false, 0},
			{[]string{"192.0.2.7"}, nil, time.Minute, true, 1},
			{nil, errors.New("no such host"), time.Minute, true, 1},
			{[]string{"192.0.2.7"}, nil, 15 * time.Minute, true, 2},
			{[]string{"192.0.2.1"}, nil, time.Minute, false, 2},
			{[]string{"192.0.2.8"}, nil, time.Minute, true, 3},
		} {
			mu.Lock()
			addresses, failure = nil, step.failure
			for _, a := range step.at {
				addresses = append(addresses, net.IPAddr{IP: net.ParseIP(a)})
			}
			mu.Unlock()
			<-time.After(step.lasts)
			synctest.Wait()
			if lines := strings.Count(log.String(), "restart this member"); (m.problem() != "") != step.away || lines != step.lines || len(notes) != lines {
				t.Errorf("at %v, %v: %q, want a problem: %t; %d lines, want %d; events %v\n%s", step.at, step.failure, m.problem(), step.away, lines, step.lines, notes, log.String())
			}
		}
		if want := "other members gossip with 192.0.2.1, and a.example.net now has the address 192.0.2.8"; m.problem() != want {
			t.Errorf("%q, want %q", m.problem(), want)
		}
	})
}
