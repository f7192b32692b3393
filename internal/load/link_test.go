package load

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestCauseOmitsNetworkDetails(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, "connection reset by peer"},
		{io.EOF, "connection closed before the answer was complete"},
		{io.ErrUnexpectedEOF, "connection closed before the answer was complete"},
		{errors.New("another error"), "another error"},
	} {
		if got := cause(c.err); got != c.want {
			t.Errorf("cause(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}
