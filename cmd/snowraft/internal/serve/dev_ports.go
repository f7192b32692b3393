package serve

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

const (
	// portStep is how far the ports of neighbouring members of dev are apart.
	portStep = 10
	// highestPortBase leaves room for the ports of the last member.
	highestPortBase = 65535 - (devMembers-1)*portStep - (cli.RedisPort - cli.APIPort)
)

// devPorts are the addresses of one member of dev.
type devPorts struct{ api, http, raft, gossip, redis string }

func portsOf(base, member int) devPorts {
	at := func(port int) string {
		return net.JoinHostPort(cli.Localhost, strconv.Itoa(base+member*portStep+port-cli.APIPort))
	}
	return devPorts{api: at(cli.APIPort), http: at(cli.HTTPPort), raft: at(cli.RaftPort), gossip: at(cli.GossipPort), redis: at(cli.RedisPort)}
}

// checkPorts reports which of the ports is taken, before anything is started,
// and which base would do.
func checkPorts(ctx context.Context, base int) error {
	taken, why := firstTaken(ctx, base)
	if why == nil {
		return nil
	}
	for other := range offers(base) {
		if _, err := firstTaken(ctx, other); err == nil {
			return fmt.Errorf("port %s cannot be used (%w): choose others with --port-base %d, where all are free", taken, cli.Innermost(why), other)
		}
	}
	return fmt.Errorf("port %s cannot be used (%w): choose others with --port-base", taken, cli.Innermost(why))
}

// offers yields bases to offer instead of base: a hundred higher each, then from
// below all of the ports that systems hand out by themselves.
func offers(base int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for other := base + 100; other <= highestPortBase; other += 100 {
			if !yield(other) {
				return
			}
		}
		for other := cli.APIPort; other < base; other += 100 {
			if !yield(other) {
				return
			}
		}
	}
}

// firstTaken returns the first port of the members from base on that cannot be
// listened at, and why.
func firstTaken(ctx context.Context, base int) (port string, err error) {
	var lc net.ListenConfig
	for i := range devMembers {
		p := portsOf(base, i)
		for _, address := range []string{p.api, p.http, p.raft, p.gossip, p.redis} {
			_, port, _ := net.SplitHostPort(address)
			l, err := lc.Listen(ctx, "tcp", address)
			if err != nil {
				return port, err
			}
			_ = l.Close()
			if address != p.gossip {
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
