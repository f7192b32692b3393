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

var errClosed = errors.New("network is closed")

// A Net is a bridge with the hosts on it. Its methods may be called from any goroutine.
type Net struct {
	harness *Host

	mu     sync.Mutex
	hosts  map[string]*Host // keyed by name, includes the harness
	faults map[*Fault]struct{}
	slots  uint32 // one bit per present delay
	closed bool

	chains atomic.Int64 // number of names that newChain has used
}

// New makes the bridge in the network namespace of this process, with the address [HarnessIP]. The namespace must belong
// to this process alone: New rejects a namespace that already has a network.
func New(ctx context.Context) (*Net, error) {
	if err := refuseForeign(); err != nil {
		return nil, err
	}
	home, err := homeSpace()
	if err != nil {
		return nil, err
	}
	// Without a fixed MAC address the bridge would take the lowest address of its ports. Each new port could change that
	// address, while hosts would still send to the previous one.
	err = home.ip(ctx, nil,
		"link set dev lo up",
		"link add name "+bridge+" address 02:77:00:00:00:fe type bridge mcast_snooping 0",
		"link set dev "+bridge+" addrgenmode none",
		"addr add "+HarnessIP+"/24 dev "+bridge,
		"link set dev "+bridge+" up")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make bridge: %w", err), home.close())
	}
	// The harness's rules must not apply to packets that pass the bridge from host to host. Kernels without this filter
	// do not have the file.
	_ = home.do(func() error { return os.WriteFile("/proc/sys/net/bridge/bridge-nf-call-iptables", []byte("0"), 0o600) })
	harness := &Host{Name: Harness, IP: HarnessIP, space: home, device: bridge}
	return &Net{harness: harness, hosts: map[string]*Host{Harness: harness}, faults: map[*Fault]struct{}{}}, nil
}

// refuseForeign returns an error if the namespace has a network. It accepts interfaces that are down and have no address,
// because the kernel adds such interfaces to new namespaces.
func refuseForeign() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list network interfaces: %w", err)
	}
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil {
			return fmt.Errorf("list addresses of %s: %w", i.Name, err)
		}
		loopback := i.Flags&net.FlagLoopback != 0
		if !loopback && (i.Flags&net.FlagUp != 0 || len(addrs) > 0 || i.Name == bridge) {
			return fmt.Errorf("network namespace has the interface %s; start the process in a new one (CLONE_NEWNET)", i.Name)
		}
	}
	return nil
}

// AddHost makes a host with the address 10.77.0.<number>, number from 1 to 200. The name is also the name of the host's
// port on the bridge, and has at most 15 characters.
func (n *Net) AddHost(ctx context.Context, name string, number int) (*Host, error) {
	return n.AddHostOf(ctx, name, number, 1)
}

// AddHostOf makes a host with several addresses, the first 10.77.0.<number> and the others consecutive. Faults between
// hosts affect only the first address.
func (n *Net) AddHostOf(ctx context.Context, name string, number, addresses int) (*Host, error) {
	if number < 1 || number+addresses-1 > maxNumber {
		return nil, fmt.Errorf("host %s: number %d: expected a number from 1 to %d", name, number, maxNumber+1-addresses)
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
			return nil, fmt.Errorf("host %s (%s) exists; choose another name and number", other.Name, other.IP)
		}
	}
	var err error
	if h.space, err = newSpace(); err != nil {
		return nil, err
	}
	if err := n.plug(ctx, h, number); err != nil {
		return nil, errors.Join(fmt.Errorf("make host %s: %w", name, err), h.space.close())
	}
	n.hosts[name] = h
	return h, nil
}

func address(number int) string { return fmt.Sprintf("10.77.0.%d", number) }

// plug connects the host to the bridge. It turns off segmentation offload, so that packets are at most as large as in a
// real network. Offload makes packets sixty times larger, and a fault would lose or slow each of them as a whole.
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

// running waits until the device accepts packets. On a busy machine that is a moment after the device was set up. TCP
// would resend packets lost before then only after 1 s.
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
			return fmt.Errorf("wait for device %s: %w", device, ctx.Err())
		}
	}
}

// Host returns the host with this name, which may be [Harness].
func (n *Net) Host(name string) (*Host, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	h, found := n.hosts[name]
	if !found {
		return nil, fmt.Errorf("unknown host %q", name)
	}
	return h, nil
}

// Close heals all faults, removes the bridge and disconnects the hosts. The kernel removes each host when its last process
// exits. Close may be called twice.
func (n *Net) Close() error {
	n.mu.Lock()
	closed := n.closed
	n.closed = true // no further fault can begin
	n.mu.Unlock()
	if closed {
		return nil
	}
	healed := n.HealAll(context.Background())
	n.mu.Lock()
	defer n.mu.Unlock()
	// Devices go first, because the kernel removes them too when the last file of a host's namespace is closed.
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
