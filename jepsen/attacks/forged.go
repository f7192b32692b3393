package attacks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/memberlist"
)

// forged is a node that gossips like a member and does not run Raft. It answers queries for its clock, and claims to
// have the log of the member that acknowledged last.
type forged struct {
	meta  Meta
	ahead time.Duration // offset of the clock that the node reports
	list  chan *memberlist.Memberlist
	heard atomic.Pointer[[]byte] // last acknowledgement with the state of a log; nil before the first
}

// acknowledged is the length in bytes of an acknowledgement with a clock and the state of a log.
const acknowledged = 8 + 8 + 8 + 4

// ForgeNodes gossips as the given number of nodes that have not joined a cluster, until ctx ends. The nodes report
// clocks that are ahead, accept any handshake on their Raft ports, and then discard all bytes.
func ForgeNodes(ctx context.Context, gossip string, nodes int, ahead time.Duration) error {
	for i := range nodes {
		as := stranger()
		as.Name = fmt.Sprintf("stranger-%d", i) // members reject a node whose name is taken
		if err := forge(ctx, gossip, as, ahead); err != nil {
			return err
		}
	}
	return nil
}

// Impersonate gossips as these members after one more start of each, until ctx ends.
func Impersonate(ctx context.Context, gossip string, members []Meta, ahead time.Duration) error {
	for _, m := range members {
		if err := forge(ctx, gossip, m.restarted(), ahead); err != nil {
			return err
		}
	}
	return nil
}

// forge gossips as one node until ctx ends. It returns ErrShut if the member at the address gossip rejects the node.
func forge(ctx context.Context, gossip string, as Meta, ahead time.Duration) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go agree(listener)
	as.Raft, as.API = listener.Addr().String(), listener.Addr().String()

	f := &forged{meta: as, ahead: ahead, list: make(chan *memberlist.Memberlist, 1)}
	cfg := memberlist.DefaultLANConfig()
	cfg.Name, cfg.Label, cfg.LogOutput, cfg.EnableCompression = as.gossipName(), label, io.Discard, false
	cfg.BindAddr, cfg.BindPort, cfg.AdvertiseAddr = "127.0.0.1", 0, "127.0.0.1"
	transport, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{cfg.BindAddr}, Logger: log.New(io.Discard, "", 0)})
	if err != nil {
		return err
	}
	cfg.Transport, cfg.AdvertisePort = transport, transport.GetAutoBindPort()
	f.meta.Gossip = net.JoinHostPort("127.0.0.1", strconv.Itoa(cfg.AdvertisePort))
	cfg.Delegate, cfg.Ping, cfg.TCPTimeout, cfg.ProbeInterval = f, f, patience/2, time.Second/4
	list, err := memberlist.Create(cfg)
	if err != nil {
		return errors.Join(err, transport.Shutdown())
	}
	f.list <- list
	context.AfterFunc(ctx, func() { _ = list.Shutdown() })
	if _, err := list.Join([]string{gossip}); err != nil {
		return errors.Join(ErrShut, err)
	}
	return nil
}

// agree accepts handshakes until l is closed, and discards all later bytes.
func agree(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close() //nolint:errcheck // only read, or already failed
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
func (f *forged) NodeMeta(int) []byte             { return f.meta.encode() }
func (f *forged) GetBroadcasts(int, int) [][]byte { return nil }
func (f *forged) LocalState(bool) []byte          { return nil }
func (f *forged) MergeRemoteState([]byte, bool)   {}

// NotifyPingComplete implements memberlist.PingDelegate.
func (f *forged) NotifyPingComplete(_ *memberlist.Node, _ time.Duration, payload []byte) {
	if len(payload) == acknowledged {
		f.heard.Store(&payload)
	}
}

// AckPayload implements memberlist.PingDelegate. The payload is a wall clock, the index and the term of the last log
// entry, and the milliseconds since the leader sent an entry, which are always 0.
func (f *forged) AckPayload() []byte {
	said := binary.BigEndian.AppendUint64(nil, f.clock())
	if heard := f.heard.Load(); heard != nil {
		said = append(said, (*heard)[8:24]...)
	}
	return append(said, make([]byte, acknowledged-len(said))...)
}

// clock returns the wall clock that the node reports, in Unix milliseconds.
func (f *forged) clock() uint64 {
	return uint64(time.Now().Add(f.ahead).UnixMilli())
}

// NotifyMsg implements memberlist.Delegate. It answers queries for the clock.
func (f *forged) NotifyMsg(question []byte) {
	const head = 1 + 8 // kind and number of the query; the sender's ID follows
	if len(question) <= head || question[0] != 'q' {
		return
	}
	list := <-f.list
	f.list <- list
	answer := append([]byte{'a'}, question[1:head]...)
	answer = binary.BigEndian.AppendUint64(answer, f.clock())
	answer = append(answer, f.meta.ID...)
	for _, n := range list.Members() {
		if strings.HasPrefix(n.Name, string(question[head:])+"/") {
			_ = list.SendToAddress(n.FullAddress(), answer)
		}
	}
}
