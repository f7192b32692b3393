package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Redis sends INCR over the Redis protocol on its own connection. The caller must close it.
type Redis struct {
	link
	request []byte
	batch   int
}

// NewRedis returns a client that pipelines batch INCR commands for a key, at least one, and
// waits for all answers. address is host:port. timeout bounds each connection attempt and
// each call.
func NewRedis(address, key string, batch int, timeout time.Duration, access Access) *Redis {
	l := link{address: address, timeout: timeout, access: access, greet: access.login}
	return &Redis{link: l, request: bytes.Repeat(command("INCR", key), batch), batch: batch}
}

// command encodes a command with one argument.
func command(name, argument string) []byte {
	return fmt.Appendf(nil, "*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(name), name, len(argument), argument)
}

// Call implements Caller.
func (c *Redis) Call(ctx context.Context, got *Receipt) error {
	return c.exchange(ctx, c.request, func(in *bufio.Reader) error { return c.read(in, got) })
}

// read reads the answers to all sent commands, even after a refusal.
func (c *Redis) read(in *bufio.Reader, got *Receipt) error {
	var refused error
	for range c.batch {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte("\r\n"))
		switch {
		case len(line) > 1 && line[0] == ':':
			n, err := strconv.ParseInt(string(line[1:]), 10, 64)
			if err != nil {
				return fmt.Errorf("answer %q: expected a number", line)
			}
			got.Number(uint64(n)) //nolint:gosec // the same bits
		case len(line) > 1 && line[0] == '-':
			text := string(line[1:])
			reason, _, _ := strings.Cut(text, " ")
			refused = &Refusal{Reason: reason, Text: text}
		default:
			return fmt.Errorf("answer %q: expected a number of the Redis protocol", line)
		}
	}
	return refused
}
