package client

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// Errors of a dial name neither the operation nor an address of the network: the message that contains them names the member.
func TestDialErrorsOmitNetworkDetails(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	unknown := &net.DNSError{Err: "no such host", Name: "a.example.net", Server: "10.0.0.1:53", IsNotFound: true}
	failed := &net.DNSError{Err: "dial udp 10.0.0.1:53: connect: network is unreachable", Name: "a.example.net", Server: "10.0.0.1:53"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{refused, "connection refused"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: unknown}, "no such host"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: failed}, "the host name cannot be resolved"},
		{errors.New("another error"), "another error"},
	} {
		if got := innermost(c.err).Error(); got != c.want {
			t.Errorf("innermost(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}
