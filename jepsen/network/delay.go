//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"time"
)

// maxDelays is the greatest number of simultaneous delays. Each delay owns one bit of the marks of packets.
const maxDelays = 31

// Delay makes bytes on TCP connections arrive later, by delay plus a random part of jitter. For each pair it delays the
// connections that From opens to the port of To, in both directions. It keeps the order of the bytes, and does not reduce
// the throughput while at most 64 MiB are in transit in a direction. Datagrams are not delayed.
//
// An open connection cannot be moved to or from a relay, so it is reset when the delay begins and when it is healed. The
// reset occurs at From, whose host notifies To. A new connection seems open to From at once, because a relay in From's host
// accepts it. It is reset if To cannot be reached. The relay sends through the same network and with the address of From.
// Other faults therefore apply to its packets too, and delays add up. Connections from a host to itself cannot be delayed.
func (n *Net) Delay(ctx context.Context, pairs []Pair, port int, delay, jitter time.Duration) (*Fault, error) {
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("port %d: expected a number from 1 to 65535", port)
	}
	if delay < 0 || jitter < 0 {
		return nil, fmt.Errorf("delay %s and jitter %s must not be negative", delay, jitter)
	}
	peers := map[*Host][]*Host{}
	for _, p := range pairs {
		from, to, err := n.ends(p)
		if err != nil {
			return nil, err
		}
		peers[from] = append(peers[from], to)
	}
	slot, free, err := n.takeSlot()
	if err != nil {
		return nil, err
	}
	parts := []part{{
		begin: func(context.Context) error { return nil },
		end:   func(context.Context) error { free(); return nil },
	}}
	for from, to := range peers {
		// A relay marks its packets with the bits of its own delay and of all earlier delays. Those earlier relays have
		// already handled the connection.
		r := newRelay(from, 1<<(slot+1)-1, delay, jitter)
		d := &detour{from: from, to: to, port: port, bit: 1 << slot, chain: n.newChain("nat", "OUTPUT"), relay: r}
		parts = append(parts, part{
			begin: d.begin, end: d.end,
			hits: func(context.Context) (int64, error) { return r.taken.Load(), nil },
		})
	}
	f, err := n.begin(ctx, parts)
	if err != nil {
		free()
	}
	return f, err
}

// takeSlot allocates the number of a delay, greater than those of all present delays. It also returns a function that
// frees the number.
func (n *Net) takeSlot() (slot int, free func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slot = bits.Len32(n.slots)
	if slot == maxDelays {
		return 0, nil, fmt.Errorf("at most %d delays at a time; heal one first", maxDelays)
	}
	n.slots |= 1 << slot
	return slot, sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.slots &^= 1 << slot
	}), nil
}

// A detour is the part of a delay in one host: it redirects new connections to the peers to a relay in the host.
type detour struct {
	from  *Host
	to    []*Host
	port  int
	bit   int
	chain *chain
	relay *relay
}

func (d *detour) begin(ctx context.Context) error {
	relayPort, err := d.relay.start()
	if err != nil {
		return err
	}
	for _, to := range d.to {
		d.chain.rules = append(d.chain.rules, fmt.Sprintf(
			"-d %s -p tcp -m tcp --dport %d --syn -m mark ! --mark %#x/%#x -j REDIRECT --to-ports %d",
			to.IP, d.port, d.bit, d.bit, relayPort))
	}
	if err := d.chain.make(ctx, d.from); err != nil {
		d.relay.stop()
		return err
	}
	if err := d.reset(ctx); err != nil {
		return errors.Join(err, d.end(ctx))
	}
	return nil
}

// reset resets the open connections to the peers.
func (d *detour) reset(ctx context.Context) error {
	var peers []string
	for _, to := range d.to {
		peers = append(peers, to.IP)
	}
	return d.from.Run(ctx, "ss", resetting(peers, d.port)...)
}

// resetting returns the arguments of ss that reset all connections to a port of the peers.
func resetting(peers []string, port int) []string {
	return []string{"-KHnt", "state", "connected", fmt.Sprintf("dport = %d and ( dst %s )", port, strings.Join(peers, " or dst "))}
}

// end resets the relay's connections before it removes the rules. With the last rule the kernel forgets the redirections,
// and a later reset would not reach its connection.
func (d *detour) end(ctx context.Context) error {
	d.relay.refuse()
	if err := d.chain.remove(ctx, d.from); err != nil {
		return err
	}
	d.relay.stop()
	return nil
}
