package attacks

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
)

// patience bounds each step of an attack.
const patience = 5 * time.Second

// dial connects to a member. The connection is closed when ctx ends. Its deadline is patience from now, unless the caller
// sets another one.
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dialer(ctx, network).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, conn.SetDeadline(time.Now().Add(patience))
}

// say sends some bytes over a new connection, and reads until the member closes the connection or the deadline passes.
func say(ctx context.Context, address string, said []byte) error {
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // only the answer counts
	if _, err = conn.Write(said); err == nil {
		_, err = io.Copy(io.Discard, conn)
	}
	if err != nil && !refused(err) {
		return err
	}
	return nil
}

// refused reports whether an error of a connection means that the member refused or closed the connection.
func refused(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNREFUSED)
}

// Silence keeps this many connections open until ctx ends, and sends nothing. For each connection that the member closes,
// it opens another one: immediately, or after 5 s if the member closed the connection within 1 s. It returns after the
// first attempt to open each connection.
func Silence(ctx context.Context, address string, connections int) error {
	dialer := dialer(ctx, "tcp")
	for range connections {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil && !refused(err) {
			return err
		}
		go func() {
			for ctx.Err() == nil {
				pause := patience
				if silent := conn; silent != nil {
					opened := time.Now()
					forget := context.AfterFunc(ctx, func() { _ = silent.Close() })
					_, _ = io.Copy(io.Discard, silent)
					forget()
					_ = silent.Close()
					if time.Since(opened) > time.Second {
						pause = 0
					}
				}
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return
				}
				conn, _ = dialer.DialContext(ctx, "tcp", address) // nil if refused
			}
		}()
	}
	return nil
}

// packed returns a value in the encoding of memberlist and raft.
func packed(v any) []byte {
	var b bytes.Buffer
	handle := &codec.MsgpackHandle{}
	handle.TimeNotBuiltin = true
	if err := codec.NewEncoder(&b, handle).Encode(v); err != nil {
		panic(err) // all messages of attacks are constants
	}
	return b.Bytes()
}

// framed returns a message of the handshake on the Raft port.
func framed(body []byte) []byte {
	frame := binary.BigEndian.AppendUint16([]byte("SNOWRAFT\x01"), uint16(len(body))) //nolint:gosec // far below 64 KiB
	return append(frame, body...)
}
