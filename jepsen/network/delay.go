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

// maxDelays is the greatest number of delays at the same time: each has a bit of the
// marks of packets.
const maxDelays = 31

// Delay has what is sent over TCP connections arrive later, by delay and a random
// part of jitter: connections that From opens to the port of To, for each of the
// pairs, in both directions. The order is kept, and the bytes on their way may be
// many: a delayed connection is no slower otherwise. Datagrams are not delayed.
//
// A connection that is open is reset when the delay begins and when it is healed, as
// it can't be moved: in the end at From, which tells the other one. A new connection
// seems open to From at once, as a relay in its own host accepts it, and is reset if
// To can't be reached. What the relay sends goes through the same network as
// before, with the address of From, so other faults hold for it too, and delays add
// up. Connections from a host to itself can't be delayed.
func (n *Net) Delay(ctx context.Context, pairs []Pair, port int, delay, jitter time.Duration) (*Fault, error) {
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("the port %d can't be delayed: it must be from 1 to 65535", port)
	}
	if delay < 0 || jitter < 0 {
		return nil, fmt.Errorf("a delay of %s and up to %s more is no delay", delay, jitter)
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
		// A relay's packets bear the bits of its own delay and of those before, which
		// have had the connection already.
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

// takeSlot returns the number of a delay, above those of all others that are there,
// and a function that returns it.
func (n *Net) takeSlot() (slot int, free func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slot = bits.Len32(n.slots)
	if slot == maxDelays {
		return 0, nil, fmt.Errorf("there are %d delays already: heal one first", maxDelays)
	}
	n.slots |= 1 << slot
	return slot, sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.slots &^= 1 << slot
	}), nil
}

// A detour is the part of a delay that is in one host: new connections to others go
// to a relay in this host.
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

// reset resets the connections that are open.
func (d *detour) reset(ctx context.Context) error {
	var peers []string
	for _, to := range d.to {
		peers = append(peers, to.IP)
	}
	return d.from.Run(ctx, "ss", resetting(peers, d.port)...)
}

// resetting returns the arguments of ss that reset the connections to a port of peers.
func resetting(peers []string, port int) []string {
	return []string{"-KHnt", "state", "connected", fmt.Sprintf("dport = %d and ( dst %s )", port, strings.Join(peers, " or dst "))}
}

// end first resets what the relay carries: with the last rule the kernel forgets what
// was redirected, and a reset would not reach the one that it is for.
func (d *detour) end(ctx context.Context) error {
	d.relay.refuse()
	if err := d.chain.remove(ctx, d.from); err != nil {
		return err
	}
	d.relay.stop()
	return nil
}
