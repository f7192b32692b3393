package cluster

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

func TestOutageNamesSilentVoters(t *testing.T) {
	t.Parallel()
	refused, timedOut := silentVoter{"b", "connection refused"}, silentVoter{"c", "timed out"}
	for _, c := range []struct {
		outage
		want string
	}{
		{outage{lasts: 12900 * time.Millisecond, voters: 3, silent: []silentVoter{refused, timedOut}},
			"no leader for 12s: b and c do not answer (connection refused, timed out); quorum needs 2 of 3 voters"},
		{outage{lasts: time.Minute, voters: 2, silent: []silentVoter{refused}},
			"no leader for 1m0s: b does not answer (connection refused); quorum needs 2 of 2 voters"},
		{outage{lasts: 2 * time.Second, voters: 5, silent: []silentVoter{refused, {"c", "connection refused"}, {"d", ""}}},
			"no leader for 2s: b, c and d do not answer (connection refused); quorum needs 3 of 5 voters"},
		{outage{lasts: 300 * time.Millisecond, voters: 3, silent: []silentVoter{{"h:7702", ""}}}, "no leader: election in progress; h:7702 does not answer"},
		{outage{lasts: 3 * time.Second, voters: 3}, "no leader for 3s: election in progress"},
		{outage{lasts: 5 * time.Second}, "no leader for 5s: this member has not received the configuration of its cluster"},
	} {
		if got := c.outage.String(); got != c.want {
			t.Errorf("outage %+v = %q, want %q", c.outage, got, c.want)
		}
	}
}

func TestSeekingNamesSeedsAndMembersSeen(t *testing.T) {
	t.Parallel()
	failed := []string{"b.example.net:7703: connection refused", "c.example.net:7703: no such host"}
	for _, c := range []struct {
		clusterSearch
		want string
	}{
		{clusterSearch{seeds: 2, failed: failed}, "no member reached; b.example.net:7703: connection refused; c.example.net:7703: no such host"},
		{clusterSearch{seeds: 2, seen: []string{"b"}, failed: failed[1:]}, "members reached: b; none is part of a cluster; c.example.net:7703: no such host"},
		{clusterSearch{seeds: 2, through: "b", failed: failed[1:]}, "b reached; waiting until the leader adds this member; c.example.net:7703: no such host"},
		{clusterSearch{address: "a.example.net:7703"}, `waiting for "snowraft member add a.example.net:7703"`},
		{clusterSearch{expect: 3, seen: []string{"a"}, seeds: 2, failed: failed},
			"1 of 3 members seen: a; waiting for 2 more; b.example.net:7703: connection refused; c.example.net:7703: no such host"},
		{clusterSearch{expect: 3, seen: []string{"a", "b"}, differs: []string{"c has --bootstrap-expect 5"}, seeds: 2},
			"2 of 3 members seen: a and b; waiting for 1 more; c has --bootstrap-expect 5"},
		{clusterSearch{expect: 3, seen: []string{"a", "b", "c"}, seeds: 2}, "3 of 3 members seen: a, b and c; starting the cluster"},
		{clusterSearch{expect: 3, seen: []string{"x", "b", "x"}, seeds: 2}, `3 of 3 members seen: x, b and x; several have the name "x": start each with its own --name`},
		{clusterSearch{expect: 3, seen: []string{"x", "x"}, seeds: 2},
			`2 of 3 members seen: x and x; waiting for 1 more; several have the name "x": start each with its own --name`},
		{clusterSearch{seen: []string{"x", "x"}, seeds: 2}, "members reached: x and x; none is part of a cluster"},
	} {
		if got := c.clusterSearch.String(); got != c.want {
			t.Errorf("seeking %+v = %q, want %q", c.clusterSearch, got, c.want)
		}
	}
}

func TestWaitingNodeCountsSeenMembers(t *testing.T) {
	t.Parallel()
	a, b, c := waiting(clusterkit.NodeID(1), 3), waiting(clusterkit.NodeID(2), 3), waiting(clusterkit.NodeID(3), 5)
	for n, name := range map[*Node]string{a: "a", b: "b", c: "c"} {
		n.cfg.Name = name
	}
	a.cfg.Join = []string{"b:7703", "d:7703"}
	a.seedContacts.record("b:7703", nil)
	a.seedContacts.record("d:7703", errors.New("failed to join 10.0.0.4:7703: dial tcp 10.0.0.4:7703: i/o timeout"))
	a.hear(b, c)
	want := "this member is not part of a cluster: 2 of 3 members seen: a and b; waiting for 1 more; c has --bootstrap-expect 5; d:7703: timed out"
	if got := a.NoLeader(); got != want {
		t.Errorf("NoLeader() = %q, want %q", got, want)
	}
}

// A handshake that began without a leader may fail once a leader is known. The next outage begins without its outcome.
func TestOutageForgetsEarlierContacts(t *testing.T) {
	t.Parallel()
	n := waiting(clusterkit.NodeID(1), 3)
	for _, known := range []bool{false, true, false} {
		n.noteLeader(known)
		if reason, tried := n.peerContacts.lastFailure("b"); tried {
			t.Errorf("noteLeader(%v) kept the outcome %q", known, reason)
		}
		n.peerContacts.record("b", errors.New("connection refused"))
		n.noteLeader(known)
		if _, tried := n.peerContacts.lastFailure("b"); !tried {
			t.Errorf("a repeated noteLeader(%v) forgot an outcome", known)
		}
	}
}

// A voter that does not answer over Raft while no leader is known serves no quorum, even if gossip takes another process at its address
// for it.
func TestUnansweredVotersDoNotServe(t *testing.T) {
	t.Parallel()
	n := waiting(clusterkit.NodeID(1), 3)
	n.noteLeader(false)
	if n.peerContacts.record("b", errors.New("certificate of another member")); !n.unansweredBy("b") || n.unansweredBy("c") {
		t.Errorf("unansweredBy() = %t for a voter that failed to answer, and %t for one that was not contacted", n.unansweredBy("b"), n.unansweredBy("c"))
	}
	n.noteLeader(true)
	if n.peerContacts.record("b", errors.New("timed out")); n.unansweredBy("b") {
		t.Error("a voter counts as failed for a contact while a leader is known")
	}
}

func TestReasonsOfFailedContactsAreShort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"member cannot be contacted: 1 error occurred: * failed to join 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused": "connection refused",
		"failed to resolve b.example.net:7703: lookup b.example.net: no such host":                                                      "no such host",
		"member x: h:1: handshake: read tcp 127.0.0.1:1->127.0.0.1:2: i/o timeout":                                                      "timed out",
		"member x: context deadline exceeded":                                                                                           "timed out",
		"1 error occurred:\n\t* failed to join [::1]:1: the remote node left\n\n":                                                       "the remote node left",
		"the peer has another\n\tcluster secret: copy a file":                                                                           "the peer has another cluster secret: copy a file",
	} {
		if got := peer.Reason(fmt.Errorf("%s", text)); got != want {
			t.Errorf("reasonOf(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestContactOfAnotherServiceHasAShortReason contacts a port that is not the gossip of a member, through memberlist itself,
// so that a change of its texts shows.
func TestContactOfAnotherServiceHasAShortReason(t *testing.T) {
	t.Parallel()
	mem := raft.NewInmemStore()
	n := openAlone(t, mem, mem)
	t.Cleanup(closing(n))
	for answer, want := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "no member's gossip answers there",
		"":                                 "connection closed",
	} {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		go func() {
			for {
				nc, err := other.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(nc, answer)
				_ = nc.(*net.TCPConn).CloseWrite() //nolint:forcetypeassert // accepted by a TCP listener
				_, _ = io.Copy(io.Discard, nc)     // otherwise, Close resets the connection
				_ = nc.Close()
			}
		}()
		address := other.Addr().String()
		want = address + ": member cannot be contacted: " + want + "; check that this is the gossip address of the member, and that the member runs"
		if _, _, err := n.Contact(t.Context(), address); err == nil || err.Error() != want {
			t.Errorf("Contact() = %v, want %s", err, want)
		}
	}
}
