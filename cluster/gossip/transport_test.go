package gossip

import (
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
)

// packets is a gossip transport that receives packets only.
type packets struct {
	memberlist.NodeAwareTransport
	in chan *memberlist.Packet
}

func (p packets) PacketCh() <-chan *memberlist.Packet { return p.in }

func (packets) StreamCh() <-chan net.Conn { return nil }

func (packets) Shutdown() error { return nil }

func TestIndirectPingsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from := packets{in: make(chan *memberlist.Packet)}
		refused := 0
		s := newScreenedTransport(from, nil, func(net.Addr, error, bool) { refused++ }, slog.New(slog.DiscardHandler))
		defer s.wait()
		defer func() { _ = s.Shutdown() }()
		indirect := labeled(append([]byte{1}, packed(map[string]any{"SeqNo": 1, "Target": []byte{127, 0, 0, 1}, "Port": 7, "Node": "a/1"})...))
		pass := func(n int) (passed int) {
			for range n {
				from.in <- &memberlist.Packet{Buf: indirect, From: &net.UDPAddr{}}
				synctest.Wait()
				select {
				case <-s.PacketCh():
					passed++
				default:
				}
			}
			return passed
		}
		for second := range 2 {
			if passed := pass(2 * maxIndirect); passed != maxIndirect || refused != (second+1)*maxIndirect {
				t.Errorf("second %d: %d of %d passed, %d refused so far, want %d per second", second, passed, 2*maxIndirect, refused, maxIndirect)
			}
			<-time.After(time.Second)
		}
	})
}

// unreachable is a gossip transport whose connections succeed after all time is up.
type unreachable struct {
	packets
	dialed net.Conn
}

func (u unreachable) DialAddressTimeout(_ memberlist.Address, timeout time.Duration) (net.Conn, error) {
	<-time.After(timeout)
	return u.dialed, nil
}

// A member that stops waits neither for a node that does not answer nor for one that cannot be reached.
func TestShutdownEndsExchanges(t *testing.T) {
	t.Parallel()
	for name, connects := range map[string]time.Duration{"connecting": time.Second, "connected": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				s := newScreenedTransport(unreachable{dialed: near}, nil, func(net.Addr, error, bool) {}, slog.New(slog.DiscardHandler))
				ended := make(chan error, 1)
				go func() {
					conn, err := s.DialAddressTimeout(memberlist.Address{}, connects)
					if err == nil {
						_, err = conn.Read(make([]byte, 1))
						_ = conn.Close()
					}
					ended <- err
				}()
				synctest.Wait()
				began := time.Now()
				_ = s.Shutdown()
				s.wait()
				if err := <-ended; err == nil || time.Since(began) > 0 {
					t.Errorf("the exchange ended with %v after %v, want an error at once", err, time.Since(began))
				}
				if _, err := far.Read(make([]byte, 1)); err == nil {
					t.Error("the connection is still open")
				}
			})
		})
	}
}
