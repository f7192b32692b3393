package serve

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

const (
	// portStep is the difference between the ports of neighboring members of dev.
	portStep = 10
	// thriftOffset puts Thrift after the other ports of a member: its conventional port is far from them, below the first.
	thriftOffset = cli.RedisPort - cli.APIPort + 1
	// highestPortBase leaves room for the ports of the last member.
	highestPortBase = 65535 - (devMembers-1)*portStep - thriftOffset
)

// devAddress returns the address of a listener of a member of dev, by the listener's default port.
func devAddress(base, member, port int) string {
	offset := port - cli.APIPort
	if port == cli.ThriftPort {
		offset = thriftOffset
	}
	return net.JoinHostPort(cli.Localhost, strconv.Itoa(base+member*portStep+offset))
}

// checkPorts reports which of the ports is taken, before anything is started,
// and which base would do.
func checkPorts(ctx context.Context, base int) error {
	taken, why := firstTaken(ctx, base)
	if why == nil {
		return nil
	}
	for _, other := range offers(base) {
		if _, err := firstTaken(ctx, other); err == nil {
			return fmt.Errorf("port %s cannot be used (%w); choose free ports with --port-base %d", taken, cli.Innermost(why), other)
		}
	}
	return fmt.Errorf("port %s cannot be used (%w); choose free ports with --port-base", taken, cli.Innermost(why))
}

// offers lists bases to offer instead of base: a hundred higher each, then from
// below all of the ports that systems hand out by themselves.
func offers(base int) (bases []int) {
	for other := base + 100; other <= highestPortBase; other += 100 {
		bases = append(bases, other)
	}
	for other := cli.APIPort; other < base; other += 100 {
		bases = append(bases, other)
	}
	return bases
}

// firstTaken returns the first port of the members from base on that cannot be
// listened at, and why.
func firstTaken(ctx context.Context, base int) (port string, err error) {
	var lc net.ListenConfig
	for i := range devMembers {
		for _, listener := range listeners {
			address := devAddress(base, i, listener.port)
			_, port, _ := net.SplitHostPort(address)
			l, err := lc.Listen(ctx, "tcp", address)
			if err != nil {
				return port, err
			}
			_ = l.Close()
			if listener.port != cli.GossipPort {
				continue
			}
			u, err := lc.ListenPacket(ctx, "udp", address)
			if err != nil {
				return port, err
			}
			_ = u.Close()
		}
	}
	return "", nil
}
