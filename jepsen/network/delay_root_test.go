//go:build root && linux

package network

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// roundTrip dials and returns the time that a word takes there and back.
func roundTrip(t *testing.T, from, to *Host, port int) time.Duration {
	t.Helper()
	conn, err := dial(from, to, port, patience)
	ok(t, err)
	defer conn.Close()
	start := time.Now()
	ok(t, ask(conn, patience))
	return time.Since(start)
}

// roundTripWithin makes round trips until one takes at most the time most, because a busy machine delays some of them. Each must take
// at least the time least.
func roundTripWithin(t *testing.T, from, to *Host, port int, least, most time.Duration) {
	t.Helper()
	for began := time.Now(); ; {
		took := roundTrip(t, from, to, port)
		switch {
		case took < least:
			t.Errorf("%s to %s:%d took %s, want at least %s", from.Name, to.Name, port, took, least)
			return
		case took <= most:
			return
		case time.Since(began) > patience:
			t.Errorf("%s to %s:%d took %s, want at most %s", from.Name, to.Name, port, took, most)
			return
		}
	}
}

// broken waits until a connection fails, and reports whether it does.
func broken(conn net.Conn) bool {
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, err := conn.Read(make([]byte, 1))
	timeout, isTimeout := errors.AsType[net.Error](err)
	return err != nil && !errors.Is(err, io.EOF) && !(isTimeout && timeout.Timeout())
}

func TestDelay(t *testing.T) {
	n, h := newNet(t, 3)
	for _, port := range []int{7700, 7702} {
		for _, host := range h {
			listenTCP(t, host, port)
		}
	}
	before, err := dial(h[0], h[1], 7702, patience)
	ok(t, err)
	defer before.Close()
	ok(t, ask(before, patience))
	aside, err := dial(h[0], h[1], 7700, patience)
	ok(t, err)
	defer aside.Close()

	const delay = 200 * time.Millisecond
	f, err := n.Delay(t.Context(), []Pair{{"n1", "n2"}, {"harness", "n1"}, {"n1", "n3"}}, 7702, delay, delay/2)
	ok(t, err)
	if !broken(before) {
		t.Error("a connection opened before the delay stays open")
	}
	ok(t, ask(aside, patience))
	for _, test := range []struct {
		from, to *Host
		port     int
		delayed  bool
	}{
		{h[0], h[1], 7702, true}, {h[0], h[2], 7702, true}, {n.harness, h[0], 7702, true},
		{h[0], h[1], 7700, false}, {h[1], h[0], 7702, false}, {n.harness, h[1], 7702, false},
	} {
		least, most := time.Duration(0), 2*delay-1
		if test.delayed {
			least, most = 2*delay, 10*delay
		}
		roundTripWithin(t, test.from, test.to, test.port, least, most)
	}

	during, err := dial(h[0], h[1], 7702, patience)
	ok(t, err)
	defer during.Close()
	ok(t, f.Heal(t.Context()))
	if !broken(during) {
		t.Error("a connection opened during the delay stays open after it")
	}
	roundTripWithin(t, h[0], h[1], 7702, 0, 2*delay-1) // healed
	if after := state(t, n); after != "" || n.slots != 0 {
		t.Errorf("left behind:\n%s", after)
	}
}

// TestDelayKeepsThroughput sends many large words before the first has returned. If words were passed one at a time, each
// would take the whole delay.
func TestDelayKeepsThroughput(t *testing.T) {
	n, h := newNet(t, 2)
	listenTCP(t, h[1], 7702)
	const delay = 100 * time.Millisecond
	_, err := n.Delay(t.Context(), []Pair{{"n1", "n2"}}, 7702, delay, delay/10)
	ok(t, err)
	conn, err := dial(h[0], h[1], 7702, patience)
	ok(t, err)
	defer conn.Close()
	start := time.Now()
	ok(t, conn.SetDeadline(start.Add(patience)))
	const words, size = 2000, 1000
	go func() {
		for i := range words {
			word := make([]byte, size)
			word[0], word[1] = byte(i), byte(i>>8)
			_, _ = conn.Write(word)
		}
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	ok(t, err)
	if took := time.Since(start); took < 2*delay || took > words*delay/2 {
		t.Errorf("all words took %s, want %s to %s", took, 2*delay, words*delay/2)
	}
	if len(got) != words*size {
		t.Fatalf("%d bytes returned, want %d", len(got), words*size)
	}
	for i := range words {
		if got[i*size] != byte(i) || got[i*size+1] != byte(i>>8) {
			t.Fatalf("word %d is not in its place", i)
		}
	}
}

// TestDelayGoesThroughTheNetwork checks that delayed connections have the sender's address, and that other faults hit them.
func TestDelayGoesThroughTheNetwork(t *testing.T) {
	n, h := newNet(t, 2)
	listenTCP(t, h[1], 7703)
	var l net.Listener
	ok(t, h[1].Do(func() (err error) { l, err = net.Listen("tcp", h[1].IP+":7702"); return err }))
	defer l.Close()
	for _, port := range []int{7702, 7703} {
		_, err := n.Delay(t.Context(), []Pair{{"n1", "n2"}}, port, 10*time.Millisecond, 0)
		ok(t, err)
	}
	conn, err := dial(h[0], h[1], 7702, patience)
	ok(t, err)
	defer conn.Close()
	peer, err := l.Accept()
	ok(t, err)
	defer peer.Close()
	if got := peer.RemoteAddr().(*net.TCPAddr).IP.String(); got != h[0].IP {
		t.Errorf("the connection comes from %s, want %s", got, h[0].IP)
	}
	ok(t, reaches(h[0], h[1], 7703, patience))
	f, err := n.Cut(t.Context(), []Pair{{"n1", "n2"}}, Gossip, Drop)
	ok(t, err)
	if reaches(h[0], h[1], 7703, silence) == nil {
		t.Error("a cut does not stop a delayed connection")
	}
	ok(t, f.Heal(t.Context()))
	// The port has no listener, and the sender must learn of that.
	l.Close()
	refused, err := dial(h[0], h[1], 7702, patience)
	if err == nil {
		defer refused.Close()
		if !broken(refused) {
			t.Error("a connection without a listener stays open")
		}
	} else if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection without a listener: %v, want a reset", err)
	}
}

func TestDelaysAddUpAndHealInAnyOrder(t *testing.T) {
	n, h := newNet(t, 2)
	listenTCP(t, h[1], 7702)
	const short, long = 150 * time.Millisecond, 450 * time.Millisecond
	begin := func(d time.Duration) *Fault {
		f, err := n.Delay(t.Context(), []Pair{{"n1", "n2"}}, 7702, d, 0)
		ok(t, err)
		return f
	}
	check := func(want time.Duration) {
		t.Helper()
		roundTripWithin(t, h[0], h[1], 7702, want, want+2*short)
	}
	for _, firstGoesFirst := range []bool{true, false} {
		first, second := begin(short), begin(long)
		check(2 * (short + long))
		if firstGoesFirst {
			ok(t, first.Heal(t.Context()))
			check(2 * long)
			first = begin(short)
			check(2 * (short + long))
			ok(t, second.Heal(t.Context()))
			check(2 * short)
			ok(t, first.Heal(t.Context()))
		} else {
			ok(t, second.Heal(t.Context()))
			check(2 * short)
			ok(t, first.Heal(t.Context()))
		}
		check(0)
		if after := state(t, n); after != "" || n.slots != 0 {
			t.Errorf("left behind:\n%s", after)
		}
	}
}
