package cluster

import (
	"io"
	"net"
	"testing"
)

func TestPeekLetsOnlyMembersThrough(t *testing.T) {
	label := "\xf4\x0asnowraft/1"
	for _, c := range []struct {
		name, said string
		passes     bool
	}{
		{"a ping", label + "\x00rest", true},
		{"an exchange of state", label + "\x06rest", true},
		{"a user message", label + "\x08rest", false},
		{"something compressed", label + "\x09rest", false},
		{"something encrypted", label + "\x0arest", false},
		{"an exchange without a label", "\x06rest", false},
		{"a cut label", "\xf4\xffsnow", false},
		{"silence", "", false},
	} {
		a, b := net.Pipe()
		looked := make(chan struct{})
		go func() {
			_, _ = a.Write([]byte(c.said))
			if c.passes {
				<-looked // a pipe whose other end is closed takes no deadlines
			}
			_ = a.Close()
		}()
		conn, err := peek(b)
		close(looked)
		if (err == nil) != c.passes {
			t.Errorf("%s: %v", c.name, err)
		}
		if err == nil {
			if got, _ := io.ReadAll(conn); string(got) != c.said {
				t.Errorf("%s: %q came through", c.name, got)
			}
		}
		_ = b.Close()
	}
}
