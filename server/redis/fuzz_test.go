package redis_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/server/redis"
)

// FuzzConnection sends any bytes over a real connection, in two parts. The server must not panic, and must close the
// connection. It must answer in RESP2 everything before the first invalid input.
func FuzzConnection(f *testing.F) {
	for _, seed := range []string{
		"*2\r\n$4\r\nINCR\r\n$1\r\na\r\n*3\r\n$6\r\nINCRBY\r\n$1\r\na\r\n$2\r\n10\r\n",
		"INCR a\r\nGET a\r\nEXISTS a b\r\nPING\r\nECHO \"a\\x00b\" \r\n",
		"HELLO 2 AUTH default x SETNAME me\r\nCLIENT INFO\r\nSELECT 0\r\nAUTH x\r\n",
		"COMMAND\r\nTIME\r\nCOMMAND DOCS\r\nCOMMAND INFO incr x\r\nINFO\r\nCONFIG GET *\r\n",
		"SNOWRAFT.ID\r\nRESET\r\nSNOWRAFT.ID default COUNT 3\r\nQUIT\r\n",
		"*1\r\n$9223372036854775807\r\n", "*9223372036854775807\r\n", "*-1\r\n", "*1\r\n$-5\r\n\r\n", "$3 PING\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "MULTI\r\nSET a 1\r\nEXEC\r\n", "'\\'' \"\\x4\"\r\n",
	} {
		f.Add([]byte(seed), uint(len(seed)/2))
	}
	var log bytes.Buffer
	l := listen(f, "127.0.0.1:0")
	// Only a panic logs an error.
	s := startOn(f, redis.Config{
		Backend: &fake{}, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})),
	}, l)
	f.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil || log.Len() > 0 {
			f.Errorf("Close: %v; the log: %s", err, &log)
		}
	})
	searching := flag.Lookup("test.fuzz").Value.String() != ""
	f.Fuzz(func(t *testing.T, in []byte, cut uint) {
		if bytes.Contains(bytes.ToLower(in), []byte("100000")) {
			t.Skip() // 100,000 IDs are many bytes
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if searching { // a search does not end a hung input itself
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		}
		n := int(cut % uint(len(in)+1))
		for _, part := range [][]byte{in[:n], in[n:]} {
			_, _ = c.Write(part) // the server may have closed the connection
		}
		_ = c.(*net.TCPConn).CloseWrite()
		out, err := io.ReadAll(c)
		if err != nil && !strings.Contains(err.Error(), "reset by peer") {
			t.Fatal(err)
		}
		if err == nil && !isRESP2(out) {
			t.Fatalf("%q was answered by %q", in, out)
		}
	})
}

// isRESP2 reports whether b consists of whole answers.
func isRESP2(b []byte) bool {
	for len(b) > 0 {
		n := answerLen(b)
		if n == 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// answerLen returns the length of the answer at the beginning of b; 0 if there is none.
func answerLen(b []byte) int {
	line, _, ok := bytes.Cut(b, []byte("\r\n"))
	if !ok || len(line) == 0 || bytes.ContainsAny(line, "\r\n") {
		return 0
	}
	at := len(line) + 2
	if line[0] == '+' || line[0] == '-' {
		return at
	}
	n, ok := 0, len(line) > 1
	for i, c := range line[1:] {
		switch {
		case c == '-' && i == 0:
		case c < '0' || c > '9':
			ok = false
		default:
			n = n*10 + int(c-'0')
		}
	}
	switch {
	case !ok:
		return 0
	case line[0] == ':' || string(line) == "$-1":
		return at
	case line[0] == '$':
		if len(b) < at+n+2 || string(b[at+n:at+n+2]) != "\r\n" {
			return 0
		}
		return at + n + 2
	case line[0] == '*':
		for range n {
			size := answerLen(b[at:])
			if size == 0 {
				return 0
			}
			at += size
		}
		return at
	}
	return 0
}

// FuzzCut sends the same bytes at once and byte by byte. The answers must be equal.
func FuzzCut(f *testing.F) {
	f.Add([]byte("*2\r\n$4\r\nINCR\r\n$1\r\na\r\nECHO 'x y'\r\n*1\r\n$3\r\nGET\r\n\r\n*0\r\nPING\n*x\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		if got, want := redis.Feed(in, 1), redis.Feed(in, len(in)+1); got != want {
			t.Errorf("byte by byte %q, at once %q", got, want)
		}
	})
}
