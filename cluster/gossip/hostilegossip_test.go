package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/memberlist"

	"github.com/snowraft/snowraft/cluster/screen"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
	"github.com/snowraft/snowraft/trust"
)

func TestGossipSurvivesShortVersions(t *testing.T) {
	b := besiege(t)
	for n := range 6 {
		s := honestState(clusterkit.NewMeta())
		s.Vsn = s.Vsn[:n]
		if answer := b.stream(t, pushPull(1, s)); len(answer) > 0 {
			t.Errorf("%d versions: %d bytes of answer", n, len(answer))
		}
	}
	b.answers(t)
}

func TestGossipExchangeOfMillionNodesTakesNoMemory(t *testing.T) {
	b := besiege(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 10 {
		conn := b.dial(t)
		defer conn.Close()
		if _, err := conn.Write(labeled(pushPull(1 << 20))); err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Read(make([]byte, 1)) // waits until the connection is closed
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("10 connections of a few bytes took %d MiB", grown>>20)
	}
	b.answers(t)
}

func TestGossipDropsCompressedDatagrams(t *testing.T) {
	b := besiege(t)
	bomb := compressed(make([]byte, 16<<20))
	if len(bomb) > 60_000 {
		t.Fatalf("%d bytes fit into no datagram", len(bomb))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.datagrams(t, bomb, compressed(bomb))
	b.answers(t)
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("two datagrams of %d bytes took %d MiB", len(bomb), grown>>20)
	}
}

func TestGossipJoinsStrangerWithoutPanicOrMemory(t *testing.T) {
	b := besiege(t)
	short := honestState(clusterkit.NewMeta())
	short.Vsn = short.Vsn[:1]
	for name, answer := range map[string][]byte{
		"short versions": pushPull(1, short),
		"million nodes":  pushPull(1 << 20),
		"compressed":     compressed(pushPull(1, honestState(clusterkit.NewMeta()))),
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if conn, err := l.Accept(); err == nil {
				_, _ = conn.Write(answer)
				_, _ = io.Copy(io.Discard, conn)
				_ = conn.Close()
			}
		}()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = b.Join(l.Addr().String())
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: join() succeeded", name)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
			t.Errorf("%s: the answer took %d MiB", name, grown>>20)
		}
		_ = l.Close()
	}
	b.answers(t)
}

// besideSilence dials from addresses and says nothing, then expects an answer at another address before the silent connections
// expire. It tries more than once, because a busy machine may let them expire.
func (b besieged) besideSilence(t *testing.T, keys *trust.Keys, each int, addresses ...net.IP) (err error) {
	t.Helper()
	for range 3 {
		err = func() error {
			for _, ip := range addresses {
				for range each {
					defer b.dialFrom(t, ip).Close()
				}
			}
			conn := b.dialFrom(t, net.IPv4(127, 0, 0, 2))
			defer conn.Close()
			answered := newAnsweredConn(t.Context(), conn, newKeyring(keys).present(), func(error) {})
			_ = conn.SetDeadline(time.Now().Add(gossipTimeout / 2))
			if _, err := answered.Write(labeled(pushPull(1, honestState(clusterkit.NewMeta())))); err != nil {
				return err
			}
			_, err := answered.Read(make([]byte, 1))
			return err
		}()
		if err == nil {
			return nil
		}
	}
	return err
}

func TestGossipSilentConnectionsOfOneAddress(t *testing.T) {
	b := besiege(t)
	if err := b.besideSilence(t, nil, 2*maxStreams, net.IPv4(127, 0, 0, 1)); err != nil {
		t.Errorf("no answer to another address: %v", err)
	}
}

// TestGossipSilentConnectionsOfManyAddresses checks that silent streams, which take all slots, make room for a stream that
// speaks.
func TestGossipSilentConnectionsOfManyAddresses(t *testing.T) {
	var addresses []net.IP
	for i := range 2 * maxStreams / maxStreamsFrom {
		addresses = append(addresses, net.IPv4(127, 0, 1, byte(i+1)))
	}
	for name, keys := range map[string]*trust.Keys{"open": nil, "secured": clusterkit.Keys(t, 0)} {
		if err := besiegeWith(t, keys).besideSilence(t, keys, maxStreamsFrom, addresses...); err != nil {
			t.Errorf("%s: no answer while %d silent streams are open: %v", name, len(addresses)*maxStreamsFrom, err)
		}
	}
}

func TestGossipKeepsBoundedNames(t *testing.T) {
	b := besiege(t)
	for range maxPeers + 100 {
		m := clusterkit.NewMeta()
		m.Cluster = ""
		_ = b.NotifyAlive(&memberlist.Node{Name: m.GossipName(), Meta: m.Encode()})
	}
	m := clusterkit.NewMeta()
	if err := b.NotifyAlive(&memberlist.Node{Name: m.GossipName(), Meta: m.Encode()}); !errors.Is(err, errCrowded) {
		t.Errorf("NotifyAlive() = %v after %d nodes", err, maxPeers)
	}
	if err := b.NotifyAlive(&memberlist.Node{Name: "another", Meta: m.Encode()}); err == nil {
		t.Error("NotifyAlive() took a node under another's name")
	}
}

// A datagram gets at most one answer, and only its sender gets it, whatever address it claims.
func TestGossipAnswersTheSourceOnce(t *testing.T) {
	t.Parallel()
	b := besiege(t)
	dial := func() *net.UDPConn {
		conn, err := net.Dial("udp", b.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(clusterkit.Patience))
		return conn.(*net.UDPConn)
	}
	stranger, victim := dial(), dial()
	at := victim.LocalAddr().(*net.UDPAddr)
	ping := func(number int) []byte {
		return append([]byte{0}, packed(map[string]any{"SeqNo": number, "SourceAddr": []byte(at.IP.To4()), "SourcePort": at.Port})...)
	}
	many := []byte{7, 48}
	for range 48 {
		many = binary.BigEndian.AppendUint16(many, uint16(len(ping(1))))
	}
	many = append(many, bytes.Repeat(ping(1), 48)...)
	heard := func(at *net.UDPConn, want int) {
		t.Helper()
		buf := make([]byte, 2048)
		n, err := at.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		said := bytes.TrimPrefix(buf[:n], screen.LabelHead(gossipLabel))
		if said[0] == 12 { // a checksum
			said = said[5:]
		}
		if said[0] == 7 { // a compound with news of memberlist
			said = said[2+2*int(said[1]):]
		}
		var ack struct{ SeqNo int }
		if err := codec.NewDecoder(bytes.NewReader(said[1:]), &codec.MsgpackHandle{}).Decode(&ack); err != nil || said[0] != 2 || ack.SeqNo != want {
			t.Errorf("%s heard %q, want the answer to %d", at.LocalAddr(), said, want)
		}
	}
	for _, raw := range [][]byte{many, ping(2)} {
		if _, err := stranger.Write(labeled(raw)); err != nil {
			t.Fatal(err)
		}
	}
	heard(stranger, 2)
	if _, err := victim.Write(labeled(ping(3))); err != nil {
		t.Fatal(err)
	}
	heard(victim, 3)
}

// Several goroutines of a node announce its metadata, and memberlist writes it without a lock. The race detector judges.
func TestAnnouncementsTakeTurns(t *testing.T) {
	t.Parallel()
	b := besiege(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				b.Announce()
			}
		})
	}
	wg.Wait()
}
