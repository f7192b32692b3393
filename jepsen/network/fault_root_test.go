//go:build root && linux

package network

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

// TestOverlappingFaults begins two faults and heals them in both orders. Each time the state must be as if the healed fault
// had never begun.
func TestOverlappingFaults(t *testing.T) {
	n, _ := newNet(t, 3)
	kinds := map[string]func() (*Fault, error){
		"cut": func() (*Fault, error) { return n.Cut(t.Context(), Isolate("n1", hosts(3)), All, Drop) },
		"reject": func() (*Fault, error) {
			return n.Cut(t.Context(), Between([]string{"n1", "n2"}, []string{"n3", Harness}), Raft, Reject)
		},
		"loss": func() (*Fault, error) { return n.Loss(t.Context(), OneWay(hosts(2), hosts(3)), Gossip, 0.5) },
		"delay": func() (*Fault, error) {
			return n.Delay(t.Context(), []Pair{{"n1", "n2"}, {Harness, "n2"}}, 7702, time.Millisecond, 0)
		},
		"slow":   func() (*Fault, error) { return n.Slow(t.Context(), []string{"n1", "n2"}, 64_000) },
		"slower": func() (*Fault, error) { return n.Slow(t.Context(), []string{"n2", Harness}, 32_000) },
	}
	normal := state(t, n)
	for first, beginFirst := range kinds {
		for second, beginSecond := range kinds {
			for _, firstGoesFirst := range []bool{true, false} {
				a, err := beginFirst()
				ok(t, err)
				onlyFirst := state(t, n)
				b, err := beginSecond()
				ok(t, err)
				both := state(t, n)
				if onlyFirst == normal || both == onlyFirst && first != "slow" && first != "slower" {
					t.Errorf("%s and %s: a fault has no effect", first, second)
				}
				if firstGoesFirst {
					ok(t, a.Heal(t.Context()))
					onlySecond := state(t, n)
					ok(t, b.Heal(t.Context()))
					again, err := beginSecond()
					ok(t, err)
					if fresh := state(t, n); anonymous(fresh) != anonymous(onlySecond) {
						t.Errorf("%s healed under %s leaves\n%s\nwant\n%s", first, second, onlySecond, fresh)
					}
					ok(t, again.Heal(t.Context()))
				} else {
					ok(t, b.Heal(t.Context()))
					if left := state(t, n); left != onlyFirst {
						t.Errorf("%s healed over %s leaves\n%s\nwant\n%s", second, first, left, onlyFirst)
					}
					ok(t, n.HealAll(t.Context()))
				}
				if after := state(t, n); after != normal {
					t.Fatalf("%s and %s leave behind\n%s\nwant\n%s", first, second, after, normal)
				}
			}
		}
	}
}

// TestFailedFaultLeavesNothing begins faults that fail on one of several hosts.
func TestFailedFaultLeavesNothing(t *testing.T) {
	n, h := newNet(t, 3)
	normal := state(t, n)
	broken, err := newSpace()
	ok(t, err)
	ok(t, broken.close())
	n.hosts["n2"] = &Host{Name: "n2", IP: h[1].IP, space: broken, device: h[1].device}
	if f, err := n.Cut(t.Context(), Between(hosts(3), hosts(3)), All, Drop); err == nil || f != nil {
		t.Error("Cut() of a closed host succeeded")
	}
	if f, err := n.Slow(t.Context(), hosts(3), 64_000); err == nil || f != nil {
		t.Error("Slow() of a closed host succeeded")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := n.Slow(done, []string{"n1"}, 64_000); err == nil || f != nil {
		t.Error("Slow() with a canceled context succeeded")
	}
	n.hosts["n2"] = h[1]
	if after := state(t, n); after != normal || len(n.faults) != 0 {
		t.Errorf("left behind: %d faults and\n%s", len(n.faults), after)
	}
}

func TestSlow(t *testing.T) {
	n, h := newNet(t, 2)
	listenTCP(t, h[1], 9000)
	const size = 100_000 // bytes; 0.8 s at 1 Mbit/s
	send := func() time.Duration {
		conn, err := dial(h[0], h[1], 9000, patience)
		ok(t, err)
		defer conn.Close()
		ok(t, conn.SetDeadline(time.Now().Add(patience)))
		start := time.Now()
		go func() { _, _ = conn.Write(make([]byte, size)) }()
		_, err = io.ReadFull(conn, make([]byte, size))
		ok(t, err)
		return time.Since(start)
	}
	f, err := n.Slow(t.Context(), []string{"n1"}, 1_000_000)
	ok(t, err)
	const slow = 600 * time.Millisecond
	if took := send(); took < slow {
		t.Errorf("100 kB at 1 Mbit/s took %s, want about 0.8 s", took)
	}
	ok(t, f.Heal(t.Context()))
	for began := time.Now(); send() >= slow; { // a busy machine makes some slow
		if time.Since(began) > patience {
			t.Fatalf("healed: 100 kB still take %s", slow)
		}
	}
}

func TestLowestLimitApplies(t *testing.T) {
	n, _ := newNet(t, 1)
	rates := []int64{64_000, 32_000, 128_000}
	var faults []*Fault
	for i, want := range []string{"64Kbit", "32Kbit", "32Kbit"} {
		f, err := n.Slow(t.Context(), []string{"n1", "n1"}, rates[i])
		ok(t, err)
		faults = append(faults, f)
		if got := state(t, n); !strings.Contains(got, want) {
			t.Errorf("with the limits %v: %s, want %s", rates[:i+1], got, want)
		}
	}
	ok(t, faults[1].Heal(t.Context()))
	if got := state(t, n); !strings.Contains(got, "64Kbit") {
		t.Errorf("after the lowest limit is healed: %s, want 64Kbit", got)
	}
	ok(t, n.HealAll(t.Context()))
	if got := state(t, n); got != "" {
		t.Errorf("left behind: %s", got)
	}
}
