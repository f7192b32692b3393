package redis

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
)

// Unread returns the number of bytes of unread answers.
func (s *Server) Unread() (size int) {
	s.Each(func(c *conn, _ net.Conn) {
		c.w.mu.Lock()
		size += c.w.size
		c.w.mu.Unlock()
	})
	return size
}

// Busy returns the number of connections with unanswered commands.
func (s *Server) Busy() (count int) {
	s.Each(func(c *conn, _ net.Conn) {
		if c.state.Load()&3 == waitsForBackend {
			count++
		}
	})
	return count
}

// KeysKept returns the number of keys that a connection keeps after a number of different keys.
func KeysKept(asked int) int {
	var k keys
	for i := range asked {
		if s, err := k.get(fmt.Appendf(nil, "key-%d", i)); err != nil || s != fmt.Sprintf("key-%d", i) {
			return -1
		}
	}
	return len(k.all)
}

// Feed returns a text of the commands in b if b comes in parts of a size.
func Feed(b []byte, size int) string {
	var out bytes.Buffer
	var have []byte
	for len(b) > 0 {
		part := b[:min(size, len(b))]
		b = b[len(part):]
		have = append(have, part...)
		for {
			args, n, err := parse(have, nil)
			if errors.Is(err, errIncomplete) {
				break
			}
			if err != nil {
				fmt.Fprintf(&out, "%v", err)
				return out.String()
			}
			fmt.Fprintf(&out, "%q ", args)
			have = have[n:]
		}
	}
	return out.String()
}

// Commands returns the sorted names of the implemented commands.
func Commands() []string { return slices.Sorted(maps.Keys(commands)) }
