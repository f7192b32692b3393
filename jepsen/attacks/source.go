package attacks

import (
	"context"
	"net"
	"strings"
	"time"
)

// connects bounds the time until a member, which may be busy, accepts a connection.
const connects = 30 * time.Second

type sourceKey struct{}

// From returns a context in which attacks connect from this IP address of their host.
func From(ctx context.Context, ip string) context.Context {
	return context.WithValue(ctx, sourceKey{}, net.ParseIP(ip))
}

// dialer returns a dialer for a network. It connects from the address in ctx, if ctx has one.
func dialer(ctx context.Context, network string) *net.Dialer {
	d := &net.Dialer{Timeout: connects}
	ip, _ := ctx.Value(sourceKey{}).(net.IP)
	switch {
	case ip == nil:
	case strings.HasPrefix(network, "udp"):
		d.LocalAddr = &net.UDPAddr{IP: ip}
	default:
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	return d
}
