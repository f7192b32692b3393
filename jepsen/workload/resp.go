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

// resp is a connection that speaks as much of the Redis protocol as counters need. It is
// our own because a client library hides which connection an answer came over, and tries
// again by itself.
type resp struct {
	conn net.Conn
	r    *bufio.Reader
}

// errRefused is an answer that is an error: the connection is well.
var errRefused = errors.New("refused")

func newRESP(conn net.Conn) *resp { return &resp{conn: conn, r: bufio.NewReader(conn)} }

// send sends commands, all in one write. Words have no spaces. Answers have to come before
// the deadline of ctx.
func (r *resp) send(ctx context.Context, commands [][]string) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Time{} // none
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

// integer reads one answer, which is a number as an integer or as text, or nil: 0. It
// fails with errRefused if the answer is an error.
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
		return 0, fmt.Errorf("the answer %q is no number", line)
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
