package gossip

import (
	"log/slog"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

func heardForeignPeers(t *testing.T, test func(f *Misunderstood, log *clusterkit.Log)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		log := new(clusterkit.Log)
		test(NewMisunderstood(slog.New(slog.NewTextHandler(log, nil))), log)
	})
}

func lists(f *Misunderstood, host string) bool {
	return slices.ContainsFunc(f.List(), func(p ForeignPeer) bool { return p.Address == host })
}

// TestForeignPeersOfOneHost checks that two peers with different problems, heard in turns, have one line each per ten minutes.
func TestForeignPeersOfOneHost(t *testing.T) {
	t.Parallel()
	heardForeignPeers(t, func(f *Misunderstood, log *clusterkit.Log) {
		from := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7703}
		for range 590 {
			f.Note(from, screen.ErrUnsealed)
			f.Note(from, screen.ErrOtherKey)
			f.Note(&net.UDPAddr{IP: from.IP, Port: 7703}, screen.ErrOtherKey)
			<-time.After(time.Second)
		}
		if n := log.Lines("\n"); n != 2 {
			t.Errorf("%d lines in 590 s, want 2", n)
		}
		if n := len(f.List()); n != 2 {
			t.Errorf("%d peers are listed, want 2", n)
		}
		<-time.After(10 * time.Second)
		f.Note(from, screen.ErrUnsealed)
		if n := log.Lines("\n"); n != 3 {
			t.Errorf("%d lines after 600 s, want 3", n)
		}
		<-time.After(foreignKept + time.Second)
		if peers := f.List(); len(peers) > 0 {
			t.Errorf("silent peers are listed: %v", peers)
		}
	})
}

// TestForeignPeerBehindForgedSources checks that datagrams with forged sources neither fill the log nor hide a real peer.
func TestForeignPeerBehindForgedSources(t *testing.T) {
	t.Parallel()
	heardForeignPeers(t, func(f *Misunderstood, log *clusterkit.Log) {
		forge := func(i int) {
			f.Note(&net.UDPAddr{IP: net.IPv4(198, 51, byte(i>>8), byte(i)), Port: 1}, screen.ErrUnsealed)
		}
		for i := range 10_000 {
			forge(i)
		}
		f.Note(&net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7703}, screen.ErrOtherKey)
		if !lists(f, "192.0.2.1") {
			t.Error("a peer heard by a datagram is not listed at once")
		}
		f.Note(&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7703}, screen.ErrOtherKey)
		for i := range 10_000 {
			forge(i)
			<-time.After(time.Millisecond)
		}
		if log.Lines("192.0.2.1") != 1 || !lists(f, "192.0.2.1") {
			t.Errorf("%d lines about the peer, listed: %t", log.Lines("192.0.2.1"), lists(f, "192.0.2.1"))
		}
		if n := log.Lines("\n"); n > lines.Most+1 {
			t.Errorf("%d lines in 10 s", n)
		}
		if n := len(f.heard); n > maxForeign+1 {
			t.Errorf("%d peers are remembered", n)
		}
	})
}

// TestManyForeignPeers checks that hosts with streams are bounded too, and that the one heard last is listed.
func TestManyForeignPeers(t *testing.T) {
	t.Parallel()
	heardForeignPeers(t, func(f *Misunderstood, log *clusterkit.Log) {
		peer := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7703}
		for i := range 600 {
			f.Note(&net.TCPAddr{IP: net.IPv4(198, 51, byte(i>>8), byte(i)), Port: 1}, screen.ErrUnsealed)
			if i%20 == 0 {
				f.Note(peer, screen.ErrOtherKey)
			}
			<-time.After(time.Second)
		}
		if !lists(f, "192.0.2.1") || len(f.heard) > maxForeign {
			t.Errorf("of %d peers: %v", len(f.heard), f.List())
		}
		if n := log.Lines("\n"); n > 10*lines.Most || log.Lines("192.0.2.1") != 1 {
			t.Errorf("%d lines in 600 s, %d of them about the real peer", n, log.Lines("192.0.2.1"))
		}
	})
}

// TestForeignPeerBehindNetwork checks that the addresses of an IPv6 network count as one host, which hides no real peer.
func TestForeignPeerBehindNetwork(t *testing.T) {
	t.Parallel()
	heardForeignPeers(t, func(f *Misunderstood, log *clusterkit.Log) {
		peer := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 7703}
		other := &net.TCPAddr{IP: net.ParseIP("2001:db8:0:1::1"), Port: 7703}
		for i := range 2 * maxForeign {
			f.Note(&net.TCPAddr{IP: append(net.ParseIP("2001:db8::")[:15:15], byte(i)), Port: 1}, screen.ErrUnsealed)
			if i == 0 {
				f.Note(peer, screen.ErrOtherKey)
				f.Note(other, screen.ErrUnsealed)
			}
			<-time.After(10 * time.Millisecond)
		}
		if n := len(f.List()); n != 3 || !lists(f, "192.0.2.1") || !lists(f, "2001:db8:0:1::1") {
			t.Errorf("%d peers are listed: %v", n, f.List())
		}
		if n := log.Lines("\n"); n != 3 {
			t.Errorf("%d lines, want 3", n)
		}
	})
}
