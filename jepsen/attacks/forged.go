package attacks

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"strconv"
	"time"

	"github.com/hashicorp/memberlist"
)

// Lies is what a forged node says of its clock and its log.
type Lies struct {
	Ahead time.Duration // of the clock
	Index uint64
	Term  uint64
}

// forged is a node that gossips as members do, and has no Raft.
type forged struct {
	meta Meta
	lies Lies
}

// ForgeNodes gossips as so many nodes that have no cluster yet, until ctx ends: they claim that their logs
// are complete. On their Raft ports they agree to any handshake and swallow what comes.
func ForgeNodes(ctx context.Context, gossip string, nodes int, lies Lies) error {
	for range nodes {
		if err := forge(ctx, gossip, stranger(), lies); err != nil {
			return err
		}
	}
	return nil
}

// Impersonate gossips as these members, started once more, until ctx ends.
func Impersonate(ctx context.Context, gossip string, members []Meta, lies Lies) error {
	for _, m := range members {
		m.Starts++
		if err := forge(ctx, gossip, m, lies); err != nil {
			return err
		}
	}
	return nil
}

func forge(ctx context.Context, gossip string, as Meta, lies Lies) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go agree(listener)
	as.Raft, as.API = listener.Addr().String(), listener.Addr().String()

	f := &forged{meta: as, lies: lies}
	cfg := memberlist.DefaultLANConfig()
	cfg.Name, cfg.Label, cfg.LogOutput, cfg.EnableCompression = as.gossipName(), label, io.Discard, false
	cfg.BindAddr, cfg.BindPort, cfg.AdvertiseAddr = "127.0.0.1", 0, "127.0.0.1"
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{cfg.BindAddr}, Logger: log.New(io.Discard, "", 0)})
	if err != nil {
		return err
	}
	cfg.Transport, cfg.AdvertisePort = transport, transport.GetAutoBindPort()
	f.meta.Gossip = net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.AdvertisePort))
	cfg.Delegate, cfg.Ping, cfg.TCPTimeout = f, f, patience/2
	list, err := memberlist.Create(cfg)
	if err != nil {
		return errors.Join(err, transport.Shutdown())
	}
	context.AfterFunc(ctx, func() { _ = list.Shutdown() })
	if _, err := list.Join([]string{gossip}); err != nil {
		return errors.Join(ErrShut, err)
	}
	return nil
}

// agree says yes to handshakes, and answers nothing after that.
func agree(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close() //nolint:errcheck // nobody looks
			if _, err := conn.Read(make([]byte, 8<<10)); err != nil {
				return
			}
			_, _ = conn.Write(framed([]byte("{}")))
			_, _ = io.Copy(io.Discard, conn)
		}()
	}
}

// The rest implements memberlist's delegates.

// NodeMeta implements memberlist.Delegate.
func (f *forged) NodeMeta(int) []byte                                        { return f.meta.encode() }
func (f *forged) NotifyMsg([]byte)                                           {}
func (f *forged) GetBroadcasts(int, int) [][]byte                            { return nil }
func (f *forged) LocalState(bool) []byte                                     { return nil }
func (f *forged) MergeRemoteState([]byte, bool)                              {}
func (f *forged) NotifyPingComplete(*memberlist.Node, time.Duration, []byte) {}

// AckPayload implements memberlist.PingDelegate: a clock, and how far the log goes.
func (f *forged) AckPayload() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(time.Now().Add(f.lies.Ahead).UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, f.lies.Index)
	b = binary.BigEndian.AppendUint64(b, f.lies.Term)
	return binary.BigEndian.AppendUint32(b, 0)
}
