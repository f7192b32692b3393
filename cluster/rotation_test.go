package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/snowraft/snowraft/cluster/gossip"
	"github.com/snowraft/snowraft/cluster/peer"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
	"github.com/snowraft/snowraft/trust"
)

func TestChoiceOfTheSecret(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own      string
		present  string
		reports  []string
		complete bool
		want     string
	}{
		"all have the new one":                     {"new old", "old", []string{"new old", "old new"}, true, "new"},
		"order of another's file":                  {"old new", "old", []string{"new old", "new old"}, true, "old"},
		"one has not got it":                       {"new old", "old", []string{"new old", "old"}, true, "old"},
		"one started with the new one":             {"new old", "new", []string{"old", "old"}, true, "old"},
		"one has not reported":                     {"new old", "old", []string{"new old"}, false, "old"},
		"one has not reported, another has not it": {"new old", "new", []string{"old"}, false, "old"},
		"nothing in common":                        {"new", "new", []string{"old"}, true, "new"},
		"present one gone":                         {"new", "old", []string{"old"}, true, "new"},
		"added below by all":                       {"old new", "old", []string{"old new", "old new"}, true, "old"},
		"moved to the top here first":              {"new old", "old", []string{"old new", "old new"}, true, "new"},
		"alone":                                    {"new old", "old", nil, false, "old"},
		"way back":                                 {"old new", "new", []string{"old new", "old new"}, true, "old"},
		"old one taken away elsewhere":             {"old new", "old", []string{"new", "old new"}, true, "new"},
	} {
		var reports [][]string
		for _, r := range c.reports {
			reports = append(reports, strings.Fields(r))
		}
		if got := chooseSecret(strings.Fields(c.own), c.present, reports, c.complete); got != c.want {
			t.Errorf("%s: choose() = %q, want %q", name, got, c.want)
		}
	}
}

// host is a member with its secret file and its log.
type host struct {
	*Node
	file string
	keys *trust.Keys
	log  *clusterkit.Log
	box  *clusterkit.Middlebox // middlebox before its Raft port; nil if the others reach the port directly
}

// put writes a host's secret file and reloads it.
func (h *host) put(t *testing.T, numbers ...int) {
	t.Helper()
	var lines strings.Builder
	for _, n := range numbers {
		lines.WriteString(clusterkit.Secrets[n].Line() + "\n")
	}
	if err := os.WriteFile(h.file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if h.keys == nil {
		return
	}
	if _, err := h.keys.Reload(); err != nil {
		t.Fatal(err)
	}
}

// place is a network in memory, and whether middleboxes stand before the Raft ports there.
type place struct {
	network clusterkit.Network
	boxed   bool
}

// start starts a host at a place; without secrets, the host is open.
func start(t *testing.T, at place, name string, expect int, join []string, numbers ...int) *host {
	t.Helper()
	h := &host{file: filepath.Join(t.TempDir(), "secret"), log: new(clusterkit.Log)}
	if len(numbers) > 0 {
		h.put(t, numbers...)
		var err error
		if h.keys, err = trust.OpenKeys(h.file); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := at.network.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if at.boxed {
		h.box = clusterkit.NewMiddlebox(t, at.network, address)
		address = h.box.Address
	}
	mem := raft.NewInmemStore()
	h.Node = openAlone(t, mem, mem, func(c *Config) {
		c.Name, c.Transport, c.RaftListener, c.RaftAddress = name, nil, listener, address
		c.BootstrapExpect, c.Join, c.Keys = expect, join, h.keys
		c.Logger = slog.New(slog.NewTextHandler(h.log, nil))
		c.Dial = at.network.DialContext
		if c.Gossip, c.GossipPort, err = at.network.ListenGossip(c.GossipHost, 0); err != nil {
			t.Fatal(err)
		}
		c.Timing = Timing{Heartbeat: 2 * time.Second, GossipProbe: 2 * time.Second, Reconcile: 100 * time.Millisecond, PromoteAfter: 100 * time.Millisecond, Rejoin: 200 * time.Millisecond}
	})
	t.Cleanup(func() {
		_ = h.Close(context.Background())
		if t.Failed() {
			t.Logf("the log of %s:\n%s", name, h.log)
		}
	})
	return h
}

// trio starts a cluster of three hosts at a place.
func trio(t *testing.T, at place, numbers ...int) []*host {
	t.Helper()
	first := start(t, at, "a", 3, nil, numbers...)
	hosts := []*host{first}
	for _, name := range []string{"b", "c"} {
		hosts = append(hosts, start(t, at, name, 3, []string{first.meta().Gossip}, numbers...))
	}
	together(t, hosts)
	return hosts
}

// together waits until all hosts know each other and follow one leader.
func together(t *testing.T, hosts []*host) {
	t.Helper()
	clusterkit.Eventually(t, "all are members and see each other", func() bool {
		return !slices.ContainsFunc(hosts, func(h *host) bool {
			_, leads := h.Leader()
			alive := 0
			for _, m := range h.Members() {
				if m.Alive {
					alive++
				}
			}
			return !leads || alive != len(hosts)
		})
	})
}

func leaderOf(t *testing.T, hosts []*host) *host {
	t.Helper()
	var leader *host
	clusterkit.Eventually(t, "a member leads", func() bool {
		i := slices.IndexFunc(hosts, func(h *host) bool { return h.IsLeader() })
		if i >= 0 {
			leader = hosts[i]
		}
		return i >= 0
	})
	return leader
}

// The file changes on the hosts in any order, there and back, and no member loses contact to another.
func TestRotationLosesNoContact(t *testing.T) {
	t.Parallel()
	clusterkit.InMemory(t, func(t *testing.T, network clusterkit.Network) {
		hosts := trio(t, place{network: network}, 0)
		stop := make(chan struct{})
		var watching sync.WaitGroup
		for _, h := range hosts {
			watching.Go(func() {
				for {
					for _, m := range h.Members() {
						if !m.Alive {
							t.Errorf("%s lost sight of %s", h.cfg.Name, m.Name)
							return
						}
					}
					signs := h.keys.Signing().Fingerprint()
					for _, other := range hosts {
						knows := slices.Contains(other.keys.Fingerprints(), signs)
						if !knows && h.keys.Signing().Fingerprint() == signs { // not replaced meanwhile
							t.Errorf("%s signs with %s, which %s does not know", h.cfg.Name, signs, other.cfg.Name)
							return
						}
					}
					select {
					case <-stop:
						return
					case <-time.After(5 * time.Millisecond):
					}
				}
			})
		}
		signing := func(number int) func() bool {
			return func() bool {
				return !slices.ContainsFunc(hosts, func(h *host) bool { return !h.keys.Signing().Equal(clusterkit.Secrets[number]) })
			}
		}
		for _, step := range []struct {
			orders [3]int
			files  []int
			signs  int
		}{
			{[3]int{2, 0, 1}, []int{0, 1}, 0}, // added below: known to all, and not in use
			{[3]int{1, 0, 2}, []int{1, 0}, 1},
			{[3]int{1, 2, 0}, []int{1}, 1},
			{[3]int{0, 2, 1}, []int{1, 0}, 1},
			{[3]int{2, 1, 0}, []int{0, 1}, 0},
			{[3]int{1, 0, 2}, []int{0}, 0},
		} {
			for _, i := range step.orders {
				hosts[i].put(t, step.files...)
				clusterkit.Eventually(t, fmt.Sprintf("a member leads while the files become %v", step.files), func() bool {
					_, err := leaderOf(t, hosts).Propose(t.Context(), []byte("x"))
					return err == nil
				})
				clusterkit.Eventually(t, "all hear what "+hosts[i].cfg.Name+" knows", func() bool {
					return !slices.ContainsFunc(hosts, func(h *host) bool {
						m, err := h.Member(hosts[i].ID())
						return err != nil || !slices.Equal(m.Secrets, hosts[i].keys.Fingerprints())
					})
				})
			}
			clusterkit.Eventually(t, fmt.Sprintf("all sign with %d", step.signs), signing(step.signs))
		}
		close(stop)
		watching.Wait()
		together(t, hosts)
	})
}

// A member whose file has more secrets than the cluster's file finds the secret that the others use.
func TestJoinWithAnotherOrder(t *testing.T) {
	t.Parallel()
	clusterkit.InMemory(t, func(t *testing.T, network clusterkit.Network) {
		at := place{network: network}
		hosts := trio(t, at, 0)
		d := start(t, at, "d", 0, []string{hosts[1].meta().Gossip}, 1, 0)
		together(t, append(hosts, d))
		clusterkit.Eventually(t, "d signs as the others do", func() bool { return d.keys.Signing().Equal(clusterkit.Secrets[0]) })
	})
}

// A node that the members cannot understand changes nothing, and the logs of both sides show the reason.
func TestForeignSecretIsExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cluster, stranger []int
		here, there       error // problems reported by the cluster and by the stranger
	}{
		"other secret":     {[]int{0}, []int{1}, peer.ErrOtherSecret, peer.ErrOtherSecret},
		"open stranger":    {[]int{0}, nil, peer.ErrPlain, peer.ErrEncrypts},
		"secured stranger": {nil, []int{0}, peer.ErrEncrypts, peer.ErrPlain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clusterkit.InMemory(t, func(t *testing.T, network clusterkit.Network) {
				at := place{network: network}
				a := start(t, at, "a", 1, nil, c.cluster...)
				untilLeader(t, a.Node)
				d := start(t, at, "d", 0, []string{a.meta().Gossip}, c.stranger...)
				for who, said := range map[*host]error{a: c.here, d: c.there} {
					clusterkit.Eventually(t, who.cfg.Name+" says "+said.Error(), func() bool {
						return slices.ContainsFunc(who.ForeignPeers(), func(p gossip.ForeignPeer) bool { return p.Address == "127.0.0.1" && p.Problem == said.Error() })
					})
				}
				if err := d.gossip.Join(a.meta().Gossip); !errors.Is(err, c.there) {
					t.Errorf("join() = %v, want %v", err, c.there)
				}
				if _, _, err := a.Contact(t.Context(), d.meta().Gossip); !errors.Is(err, peer.ErrUnreachable) || !errors.Is(err, c.here) {
					t.Errorf("Contact() = %v, want %v: %v", err, peer.ErrUnreachable, c.here)
				}
				for _, h := range []*host{a, d} {
					if lines := h.log.Lines("peer cannot be understood"); lines != 1 {
						t.Errorf("%s logged %d lines about the other, want 1:\n%s", h.cfg.Name, lines, h.log)
					}
				}
				if len(a.Members()) != 1 || d.ClusterID() != "" {
					t.Error("the stranger joined")
				}
			})
		})
	}
}
