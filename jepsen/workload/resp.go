//go:build linux

package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// resp is a connection with the part of the Redis protocol that counters need. A client
// library is not suitable: it hides the connection of an answer, and repeats requests.
type resp struct {
	conn net.Conn
	r    *bufio.Reader
}

// errRefused is an error answer of the server; the connection still works.
var errRefused = errors.New("refused")

func newRESP(conn net.Conn) *resp { return &resp{conn: conn, r: bufio.NewReader(conn)} }

// send sends all commands in one write. The answers must arrive before the deadline of ctx.
func (r *resp) send(ctx context.Context, commands [][]string) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Time{} // no deadline
	}
	if err := r.conn.SetDeadline(deadline); err != nil {
		return err
	}
	var b []byte
	for _, words := range commands {
		b = fmt.Appendf(b, "*%d\r\n", len(words))
		for _, word := range words {
			b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	_, err := r.conn.Write(b)
	return err
}

// integer reads one answer: an integer, a text with an integer, or nil, which means 0. It
// returns errRefused for an error answer.
func (r *resp) integer() (int64, error) {
	line, err := r.line()
	if err != nil {
		return 0, err
	}
	switch {
	case line == "$-1":
		return 0, nil
	case strings.HasPrefix(line, "$"):
		text, err := r.line()
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(text, 10, 64)
	case strings.HasPrefix(line, ":"):
		return strconv.ParseInt(line[1:], 10, 64)
	case strings.HasPrefix(line, "-"):
		return 0, fmt.Errorf("%w: %s", errRefused, line[1:])
	default:
		return 0, fmt.Errorf("answer %q: expected an integer", line)
	}
}

func (r *resp) line() (string, error) {
	line, err := r.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(line, "\r\n"), nil
}

// authenticate sends a token and reads the answer.
func (r *resp) authenticate(ctx context.Context, token string) error {
	if err := r.send(ctx, [][]string{{"AUTH", token}}); err != nil {
		return err
	}
	line, err := r.line()
	if err == nil && line != "+OK" {
		err = fmt.Errorf("%w: %s", errRefused, strings.TrimPrefix(line, "-"))
	}
	return err
}
