package serve

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

const (
	// portStep is the difference between the ports of successive members of dev.
	portStep = 10
	// thriftOffset puts the Thrift port after the other ports of a member. The conventional Thrift port is far below them.
	thriftOffset = cli.RedisPort - cli.APIPort + 1
	// highestPortBase is the highest base with room for the ports of the last member.
	highestPortBase = 65535 - (devMembers-1)*portStep - thriftOffset
)

// devAddress returns the address of a member's listener. port is the default port of the listener.
func devAddress(base, member, port int) string {
	offset := port - cli.APIPort
	if port == cli.ThriftPort {
		offset = thriftOffset
	}
	return net.JoinHostPort(cli.Localhost, strconv.Itoa(base+member*portStep+offset))
}

// checkPorts returns an error if a port of the members cannot be used. The error names the port
// and, if there is one, a base whose ports are free.
func checkPorts(ctx context.Context, base int) error {
	taken, why := firstTaken(ctx, base)
	if why == nil {
		return nil
	}
	for other := cli.APIPort; other <= highestPortBase; other += 100 { // below the ephemeral ports of all systems at first
		if _, err := firstTaken(ctx, other); err == nil {
			return fmt.Errorf("port %s cannot be used (%w); choose free ports with --port-base %d", taken, cli.Innermost(why), other)
		}
	}
	return fmt.Errorf("port %s cannot be used (%w); choose free ports with --port-base", taken, cli.Innermost(why))
}

// firstTaken returns the first port of the members of base that cannot be
// listened at, and the reason.
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
