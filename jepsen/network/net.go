//go:build linux

package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const bridge = "br0"

var errClosed = errors.New("the network is closed")

// A Net is a bridge with hosts on it. It may be used by several goroutines at the
// same time.
type Net struct {
	harness *Host

	mu     sync.Mutex
	hosts  map[string]*Host // by name, with the harness
	faults map[*Fault]struct{}
	slots  uint32 // of delays, a bit for each
	closed bool

	chains atomic.Int64 // how many had a name
}

// New makes the bridge in the network namespace of this process, with the address
// [HarnessIP]. It refuses a namespace in which there is a network already: it is to
// be one of this process's own.
func New(ctx context.Context) (*Net, error) {
	if err := refuseForeign(); err != nil {
		return nil, err
	}
	home, err := homeSpace()
	if err != nil {
		return nil, err
	}
	// Without an address of its own the bridge would take the lowest of its ports',
	// and hosts would send to the one before.
	err = home.ip(ctx, nil,
		"link set dev lo up",
		"link add name "+bridge+" address 02:77:00:00:00:fe type bridge mcast_snooping 0",
		"link set dev "+bridge+" addrgenmode none",
		"addr add "+HarnessIP+"/24 dev "+bridge,
		"link set dev "+bridge+" up")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the bridge: %w", err), home.close())
	}
	// What passes the bridge from host to host is none of the harness's own rules.
	// Kernels without this filter have no such file.
	_ = home.do(func() error { return os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("0"), 0o600) })
	harness := &Host{Name: Harness, IP: HarnessIP, space: home, device: bridge}
	return &Net{harness: harness, hosts: map[string]*Host{Harness: harness}, faults: map[*Fault]struct{}{}}, nil
}

// refuseForeign refuses a namespace in which some network is up. Interfaces that are
// down and have no address are what the kernel gives to new namespaces.
func refuseForeign() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list the network interfaces: %w", err)
	}
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil {
			return fmt.Errorf("list the addresses of %s: %w", i.Name, err)
		}
		loopback := i.Flags&net.FlagLoopback != 0
		if !loopback && (i.Flags&net.FlagUp != 0 || len(addrs) > 0 || i.Name == bridge) {
			return fmt.Errorf("this network namespace has the interface %s: start the process in a new one (CLONE_NEWNET)", i.Name)
		}
	}
	return nil
}

// AddHost makes a host with the address 10.77.0.<number>, number from 1 to 200. The
// name, of at most 15 characters, is also that of its port on the bridge.
func (n *Net) AddHost(ctx context.Context, name string, number int) (*Host, error) {
	return n.AddHostOf(ctx, name, number, 1)
}

// AddHostOf makes a host with several addresses, those of number and of the numbers after it. Faults between hosts hit
// only the first one.
func (n *Net) AddHostOf(ctx context.Context, name string, number, addresses int) (*Host, error) {
	if number < 1 || number+addresses-1 > maxNumber {
		return nil, fmt.Errorf("the host %s has the number %d: it must be from 1 to %d", name, number, maxNumber+1-addresses)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, errClosed
	}
	h := &Host{Name: name, IP: address(number), device: "eth0"}
	for i := 1; i < addresses; i++ {
		h.more = append(h.more, address(number+i))
	}
	for _, other := range n.hosts {
		if other.Name == h.Name || slices.ContainsFunc(h.Addresses(), func(ip string) bool { return slices.Contains(other.Addresses(), ip) }) {
			return nil, fmt.Errorf("there is a host %s (%s) already", other.Name, other.IP)
		}
	}
	var err error
	if h.space, err = newSpace(); err != nil {
		return nil, err
	}
	if err := n.plug(ctx, h, number); err != nil {
		return nil, errors.Join(fmt.Errorf("make the host %s: %w", name, err), h.space.close())
	}
	n.hosts[name] = h
	return h, nil
}

func address(number int) string { return fmt.Sprintf("10.77.0.%d", number) }

// plug connects the host to the bridge. Its packets have at most the size that a
// real network's have: the sixty times larger ones of segmentation offload would be
// lost and slowed down as one.
func (n *Net) plug(ctx context.Context, h *Host, number int) error {
	err := n.harness.space.ip(ctx, h.space.file,
		fmt.Sprintf("link add name %s type veth peer name %s address 02:77:00:00:00:%02x netns /proc/self/fd/3",
			h.Name, h.device, number),
		"link set dev "+h.Name+" addrgenmode none",
		"link set dev "+h.Name+" gso_max_segs 1 master "+bridge+" up")
	if err != nil {
		return err
	}
	err = h.space.ip(ctx, nil,
		"link set dev lo up",
		"link set dev "+h.device+" addrgenmode none",
		"addr add "+h.IP+"/24 dev "+h.device,
		"link set dev "+h.device+" gso_max_segs 1 up")
	if err != nil {
		return err
	}
	for _, ip := range h.more {
		if err := h.space.ip(ctx, nil, "addr add "+ip+"/24 dev "+h.device); err != nil {
			return err
		}
	}
	return errors.Join(n.harness.space.running(ctx, h.Name), h.space.running(ctx, h.device))
}

// running waits until the device takes packets, which on a busy machine is a moment
// after it was told to. What is sent before is lost, and tried again a second later.
func (s *space) running(ctx context.Context, device string) error {
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		var i *net.Interface
		err := s.do(func() (err error) { i, err = net.InterfaceByName(device); return err })
		if err != nil || i.Flags&net.FlagRunning != 0 {
			return err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for the device %s: %w", device, ctx.Err())
		}
	}
}

// Host returns the host of that name, which may be [Harness].
func (n *Net) Host(name string) (*Host, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h, found := n.hosts[name]
	if !found {
		return nil, fmt.Errorf("there is no host %q", name)
	}
	return h, nil
}

// Close heals all faults, removes the bridge and unplugs the hosts, which are gone
// when the processes in them have ended. It may be called twice.
func (n *Net) Close() error {
	n.mu.Lock()
	closed := n.closed
	n.closed = true // so that no fault begins
	n.mu.Unlock()
	if closed {
		return nil
	}
	healed := n.HealAll(context.Background())
	n.mu.Lock()
	defer n.mu.Unlock()
	// First the devices: with the last of a host's files the kernel removes them too.
	commands := []string{"link del dev " + bridge}
	for name := range n.hosts {
		if name != Harness {
			commands = append(commands, "link del dev "+name)
		}
	}
	failed := []error{healed, n.harness.space.ip(context.Background(), nil, commands...)}
	for _, h := range n.hosts {
		failed = append(failed, h.space.close())
	}
	return errors.Join(failed...)
}
