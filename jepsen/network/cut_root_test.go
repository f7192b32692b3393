//go:build root && linux

package network

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCutIsOneWay(t *testing.T) {
	n, h := newNet(t, 2)
	a, b := openMailbox(t, h[0], 9000), openMailbox(t, h[1], 9000)
	before := state(t, n)
	f, err := n.Cut(t.Context(), []Pair{{"n1", "n2"}}, All, Drop)
	ok(t, err)
	if there, back := arrive(t, a, b, 10, 0), arrive(t, b, a, 10, 10); there != 0 || back != 10 {
		t.Errorf("%d of 10 arrived at n2 and %d of 10 at n1, want 0 and 10", there, back)
	}
	ok(t, f.Heal(t.Context()))
	ok(t, f.Heal(t.Context()))
	if there, back := arrive(t, a, b, 10, 10), arrive(t, b, a, 10, 10); there != 10 || back != 10 {
		t.Errorf("healed: %d of 10 arrived at n2 and %d of 10 at n1, want 10 and 10", there, back)
	}
	if after := state(t, n); after != before {
		t.Errorf("left behind:\n%s", after)
	}
}

// TestTraffic has each host listen on all ports, and checks which ports the other hosts reach.
func TestTraffic(t *testing.T) {
	n, h := newNet(t, 2)
	hosts, ports := []*Host{h[0], h[1], n.harness}, []int{7700, 7701, 7702, 7703, 7704}
	for _, host := range hosts {
		for _, port := range ports {
			listenTCP(t, host, port)
		}
	}
	for _, test := range []struct {
		traffic Traffic
		pairs   []Pair
		lost    string // unreached ports
	}{
		{All, []Pair{{"n1", "n2"}}, "[n1-n2:7700 n1-n2:7701 n1-n2:7702 n1-n2:7703 n1-n2:7704 " +
			"n2-n1:7700 n2-n1:7701 n2-n1:7702 n2-n1:7703 n2-n1:7704]"},
		{Raft, []Pair{{"n1", "n2"}}, "[n1-n2:7702 n2-n1:7702]"},
		{Gossip, []Pair{{"n1", "n2"}, {"harness", "n2"}}, "[harness-n2:7703 n1-n2:7703 n2-harness:7703 n2-n1:7703]"},
		{Replies, []Pair{{"n1", "harness"}}, "[harness-n1:7700 harness-n1:7701 harness-n1:7704]"},
		{All, Isolate("n1", []string{"n1", "n2"}), "[n1-n2:7700 n1-n2:7701 n1-n2:7702 n1-n2:7703 n1-n2:7704 " +
			"n2-n1:7700 n2-n1:7701 n2-n1:7702 n2-n1:7703 n2-n1:7704]"},
	} {
		for _, how := range []How{Drop, Reject} {
			f, err := n.Cut(t.Context(), test.pairs, test.traffic, how)
			ok(t, err)
			if got := fmt.Sprint(unreached(hosts, ports, test.lost)); got != test.lost {
				t.Errorf("%s of %v with %s: unreached %s, want %s", test.traffic, test.pairs, how, got, test.lost)
			}
			ok(t, f.Heal(t.Context()))
			if got := unreached(hosts, ports, ""); len(got) != 0 {
				t.Errorf("healed: unreached %v, want none", got)
			}
		}
	}
	for _, err := range []error{
		second(n.Cut(t.Context(), []Pair{{"n1", "n9"}}, All, Drop)), second(n.Cut(t.Context(), []Pair{{"n1", "n1"}}, All, Drop)),
		second(n.Cut(t.Context(), []Pair{{"n1", "n2"}}, "some", Drop)), second(n.Cut(t.Context(), []Pair{{"n1", "n2"}}, All, "lose")),
		second(n.Loss(t.Context(), []Pair{{"n1", "n2"}}, All, 1.1)), second(n.Slow(t.Context(), []string{"n1"}, 999)),
	} {
		if err == nil {
			t.Error("a fault with invalid arguments began")
		}
	}
	if after := state(t, n); after != "" {
		t.Errorf("left behind:\n%s", after)
	}
}

func TestGossipIncludesDatagrams(t *testing.T) {
	n, h := newNet(t, 2)
	gossip, other, peer := openMailbox(t, h[0], 7703), openMailbox(t, h[0], 9000), openMailbox(t, h[1], 7703)
	peerOther := openMailbox(t, h[1], 9000)
	for _, how := range []How{Drop, Reject} {
		f, err := n.Cut(t.Context(), []Pair{{"n1", "n2"}}, Gossip, how)
		ok(t, err)
		if to, from := arrive(t, other, peer, 1, 0), arrive(t, gossip, peerOther, 1, 0); to != 0 || from != 0 {
			t.Errorf("%s: %d datagrams to the gossip port and %d from it arrived, want none", how, to, from)
		}
		if got := arrive(t, other, peerOther, 1, 1); got != 1 {
			t.Errorf("%s: a datagram between other ports did not arrive", how)
		}
		ok(t, f.Heal(t.Context()))
	}
}

// unreached connects to all ports of all hosts at once and returns the ports that do not answer. It waits for all that the list want
// does not have.
func unreached(hosts []*Host, ports []int, want string) (lost []string) {
	results := make(chan string)
	asked := 0
	for _, from := range hosts {
		for _, to := range hosts {
			if from == to {
				continue
			}
			for _, port := range ports {
				asked++
				go func() {
					name, within := fmt.Sprintf("%s-%s:%d", from.Name, to.Name, port), patience
					if strings.Contains(want, name) {
						within = silence
					}
					if reaches(from, to, port, within) == nil {
						name = ""
					}
					results <- name
				}()
			}
		}
	}
	for range asked {
		if s := <-results; s != "" {
			lost = append(lost, s)
		}
	}
	slices.Sort(lost)
	return lost
}

func second(_ *Fault, err error) error { return err }

func TestRejectNotifiesSender(t *testing.T) {
	n, h := newNet(t, 2)
	listenTCP(t, h[1], 9000)
	conn, err := dial(h[0], h[1], 9000, patience)
	ok(t, err)
	defer conn.Close()
	ok(t, ask(conn, patience))
	a, b := openMailbox(t, h[0], 9000), openMailbox(t, h[1], 9000)
	// The cut is in both directions, and the reset must still reach the sender.
	_, err = n.Cut(t.Context(), Between([]string{"n1"}, []string{"n2"}), All, Reject)
	ok(t, err)
	if err := ask(conn, patience); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an open connection: %v, want a reset", err)
	}
	if _, err := dial(h[0], h[1], 9000, patience); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection: %v, want a refusal", err)
	}
	if got := arrive(t, a, b, 10, 0); got != 0 {
		t.Errorf("%d datagrams arrived, want none", got)
	}
	ok(t, n.HealAll(t.Context()))
	ok(t, reaches(h[0], h[1], 9000, patience))
}

func TestLoss(t *testing.T) {
	n, h := newNet(t, 2)
	a, b := openMailbox(t, h[0], 9000), openMailbox(t, h[1], 9000)
	f, err := n.Loss(t.Context(), []Pair{{"n1", "n2"}}, All, 0.3)
	ok(t, err)
	// The expected number is 700 with a standard deviation of 14. The bounds are six deviations away.
	const least, most = 613, 787
	if got := arrive(t, a, b, 1000, least); got < least || got > most {
		t.Errorf("%d of 1000 arrived, want about 700", got)
	}
	if got := arrive(t, b, a, 100, 100); got != 100 {
		t.Errorf("%d of 100 arrived in the other direction, want all", got)
	}
	ok(t, f.Heal(t.Context()))
	if got := arrive(t, a, b, 100, 100); got != 100 {
		t.Errorf("healed: %d of 100 arrived, want all", got)
	}
	if after := state(t, n); after != "" {
		t.Errorf("left behind:\n%s", after)
	}
}

func TestIdle(t *testing.T) {
	n, h := newNet(t, 3)
	listenTCP(t, h[1], 7702)
	listenTCP(t, h[1], 7700)
	cut, err := n.Cut(t.Context(), []Pair{{"n1", "n2"}}, Raft, Drop)
	ok(t, err)
	all, err := n.Cut(t.Context(), []Pair{{"n3", "n2"}}, All, Reject)
	ok(t, err)
	delay, err := n.Delay(t.Context(), []Pair{{"n1", "n2"}}, 7702, time.Millisecond, 0)
	ok(t, err)
	ok(t, reaches(h[0], h[1], 7700, patience))
	for name, f := range map[string]*Fault{"a cut": cut, "a cut of all": all, "a delay": delay} {
		if !f.Idle(t.Context()) {
			t.Errorf("%s is not idle, want it idle without traffic that it could hit", name)
		}
	}
	_ = reaches(h[0], h[1], 7702, silence)
	_ = reaches(h[2], h[1], 7700, silence)
	for name, f := range map[string]*Fault{"a cut": cut, "a cut of all": all, "a delay": delay} {
		if f.Idle(t.Context()) {
			t.Errorf("%s is idle, want it not idle after traffic that it hit", name)
		}
	}
	slow, err := n.Slow(t.Context(), []string{"n1"}, 1<<20)
	ok(t, err)
	if slow.Idle(t.Context()) {
		t.Error("a slow link is idle, want not idle because its packets are not counted")
	}
}
