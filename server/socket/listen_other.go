//go:build !linux

package socket

import (
	"context"
	"errors"
	"net"
)

// Listen fails: other systems create sockets with a mode that is too wide at first.
func Listen(context.Context, File) (net.Listener, error) {
	return nil, errors.New("sockets with a mode are supported on Linux only; set an address instead")
}
