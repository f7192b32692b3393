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

// Redis sends INCR over the Redis protocol, on a connection of its own. Close it.
type Redis struct {
	link
	request []byte
	batch   int
}

// NewRedis returns a client that sends batch INCRs of a key at once, at least one,
// as clients that pipeline do, and waits for all answers.
func NewRedis(address, key string, batch int, timeout time.Duration) *Redis {
	one := fmt.Appendf(nil, "*2\r\n$4\r\nINCR\r\n$%d\r\n%s\r\n", len(key), key)
	return &Redis{link: link{address: address, timeout: timeout}, request: bytes.Repeat(one, batch), batch: batch}
}

// Call implements Caller.
func (c *Redis) Call(ctx context.Context, got *Receipt) error {
	return c.exchange(ctx, c.request, func(in *bufio.Reader) error { return c.read(in, got) })
}

// read reads the answers to all that was sent, also after a refusal.
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
				return fmt.Errorf("the answer is %q, expected a number", line)
			}
			got.Number(uint64(n)) //nolint:gosec // the same bits
		case len(line) > 1 && line[0] == '-':
			text := string(line[1:])
			reason, _, _ := strings.Cut(text, " ")
			refused = &Refusal{Reason: reason, Text: text}
		default:
			return fmt.Errorf("the answer is %q, expected a number of the Redis protocol", line)
		}
	}
	return refused
}
