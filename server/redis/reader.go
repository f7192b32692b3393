package redis

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/limits"
)

// Limits for the input of a client. Redis accepts larger input, but no command of this server needs it.
const (
	minBufferBytes = 4 << 10
	maxArguments   = 1024
	maxNumberBytes = 20 // bytes of a count or a length as text
)

// errIncomplete means that the rest of a command has not arrived.
var errIncomplete = errors.New("incomplete")

// protocolError describes input that is not RESP. The connection cannot continue after it.
type protocolError string

// errTooBig means that a command does not fit the buffer.
const errTooBig = protocolError("too big request")

// errTLS means that a client speaks TLS on a port without TLS.
const errTLS = protocolError("this port does not speak TLS")

func (e protocolError) Error() string { return "Protocol error: " + string(e) }

// parse reads one command from b, appends its words to args, and returns the length of the command in bytes. The words are
// parts of b. An empty command has no words and gets no answer. The error is errIncomplete or a protocolError.
//
// The package has its own parser because redcon's Reader has three faults: it panics on a bulk length near the largest int
// where no caller can recover, calls itself once per packet, and accepts commands of any length.
func parse(b []byte, args [][]byte) ([][]byte, int, error) {
	if len(b) == 0 {
		return args, 0, errIncomplete
	}
	if b[0] == tlsRecord {
		return args, 0, errTLS
	}
	if b[0] != '*' {
		return parseInline(b, args)
	}
	count, at, err := parseNumber(b, 1, "multibulk")
	if err != nil {
		return args, 0, err
	}
	if count > maxArguments {
		return args, 0, protocolError("invalid multibulk length")
	}
	for ; count > 0; count-- {
		if at == len(b) {
			return args, 0, errIncomplete
		}
		if b[at] != '$' {
			return args, 0, protocolError(fmt.Sprintf("expected '$', got '%c'", printable(b[at])))
		}
		size, from, err := parseNumber(b, at+1, "bulk")
		if err != nil {
			return args, 0, err
		}
		if size < 0 || size > limits.RequestBytes-int64(from)-2 {
			return args, 0, protocolError("invalid bulk length")
		}
		until := from + int(size)
		if len(b) < until+2 {
			return args, 0, errIncomplete
		}
		// The line end after a bulk string is not checked, as in Redis.
		args = append(args, b[from:until])
		at = until + 2
	}
	return args, at, nil
}

// parseNumber reads a count or length up to the end of its line, and returns it with the position of the next line.
func parseNumber(b []byte, at int, what string) (n int64, next int, err error) {
	line := b[at:]
	if len(line) > maxNumberBytes+2 {
		line = line[:maxNumberBytes+2]
	}
	end := bytes.IndexByte(line, '\r')
	if end < 0 {
		if len(line) == maxNumberBytes+2 {
			return 0, 0, protocolError("too big " + strings.Replace(what, "multi", "m", 1) + " count string")
		}
		return 0, 0, errIncomplete
	}
	if at+end+1 >= len(b) {
		return 0, 0, errIncomplete
	}
	n, ok := parseInt(line[:end])
	if !ok {
		return 0, 0, protocolError("invalid " + what + " length")
	}
	return n, at + end + 2, nil
}

// parseInt reads a decimal int64 in the only form that Redis accepts: without plus, leading zeros or spaces.
func parseInt(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || b[0] == '+' {
		return 0, false
	}
	padded := len(b) > 1 && (b[0] == '0' || b[0] == '-' && b[1] == '0')
	return n, !padded
}

func printable(c byte) rune {
	if c < ' ' || c > '~' {
		return '?'
	}
	return rune(c)
}
