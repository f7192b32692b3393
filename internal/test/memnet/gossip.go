package memnet

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// backlog is the number of packets that wait for a receiver before further ones are lost.
const backlog = 256

// gossip is a transport of memberlist.
type gossip struct {
	host    *Host
	streams *listener
	at      netip.AddrPort
	packets chan *memberlist.Packet
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

func newGossip(h *Host, l *listener) *gossip {
	g := &gossip{
		host: h, streams: l, at: l.at,
		packets: make(chan *memberlist.Packet, backlog), conns: make(chan net.Conn), closed: make(chan struct{}),
	}
	g.wg.Go(g.accept)
	return g
}

func (g *gossip) accept() {
	for {
		conn, err := g.streams.Accept()
		if err != nil {
			return
		}
		select {
		case g.conns <- conn:
		case <-g.closed:
			_ = conn.Close()
		}
	}
}

// FinalAdvertiseAddr implements memberlist.Transport.
func (g *gossip) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	if ip == "" {
		return g.at.Addr().AsSlice(), int(g.at.Port()), nil
	}
	to, err := netip.ParseAddr(ip)
	return to.AsSlice(), port, err
}

// WriteTo implements memberlist.Transport.
func (g *gossip) WriteTo(b []byte, address string) (time.Time, error) {
	return g.WriteToAddress(b, memberlist.Address{Addr: address})
}

// WriteToAddress implements memberlist.NodeAwareTransport. It does not report a packet that is lost.
func (g *gossip) WriteToAddress(b []byte, to memberlist.Address) (time.Time, error) {
	at, err := netip.ParseAddrPort(to.Addr)
	if err != nil {
		return time.Time{}, fmt.Errorf("address of a packet: %w", err)
	}
	now := time.Now()
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	if receiver := g.host.gossip[at]; receiver != nil {
		select {
		case receiver.packets <- &memberlist.Packet{Buf: bytes.Clone(b), From: net.UDPAddrFromAddrPort(g.at), Timestamp: now}:
		default:
		}
	}
	return now, nil
}

// PacketCh implements memberlist.Transport.
func (g *gossip) PacketCh() <-chan *memberlist.Packet { return g.packets }

// DialTimeout implements memberlist.Transport.
func (g *gossip) DialTimeout(address string, timeout time.Duration) (net.Conn, error) {
	return g.DialAddressTimeout(memberlist.Address{Addr: address}, timeout)
}

// DialAddressTimeout implements memberlist.NodeAwareTransport.
func (g *gossip) DialAddressTimeout(to memberlist.Address, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return g.host.DialContext(ctx, "tcp", to.Addr)
}

// StreamCh implements memberlist.Transport.
func (g *gossip) StreamCh() <-chan net.Conn { return g.conns }

// Shutdown implements memberlist.Transport.
func (g *gossip) Shutdown() error {
	g.once.Do(func() {
		g.host.mu.Lock()
		delete(g.host.gossip, g.at)
		g.host.mu.Unlock()
		close(g.closed)
		_ = g.streams.Close()
		g.wg.Wait()
	})
	return nil
}
