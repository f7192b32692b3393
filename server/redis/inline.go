package redis

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/snowraft/snowraft/internal/limits"
)

// parseInline reads a command that a person typed: words on one line. Quotes may enclose spaces.
func parseInline(b []byte, args [][]byte) ([][]byte, int, error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if len(b) >= limits.RequestBytes {
			return args, 0, protocolError("too big inline request")
		}
		return args, 0, errIncomplete
	}
	line := b[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	if bytes.ContainsAny(line, `"'`) {
		line = bytes.Clone(line) // parseWord overwrites the line, and b may be parsed again
	}
	for {
		line = bytes.TrimLeft(line, " \t\r\v\f\x00")
		if len(line) == 0 {
			return args, end + 1, nil
		}
		if len(args) == maxArguments {
			return args, 0, protocolError("too many arguments in request")
		}
		word, rest, ok := parseWord(line)
		if !ok {
			return args, 0, protocolError("unbalanced quotes in request")
		}
		args = append(args, word)
		line = rest
	}
}

// parseWord reads the first word of a line that begins with a word. A word is never longer than its quoted form, so an
// unquoted word overwrites the input.
func parseWord(line []byte) (word, rest []byte, ok bool) {
	word = line[:0]
	var quote byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && space(c):
			return word, line[i:], true
		case quote == 0:
			word = append(word, c)
		case c == quote:
			// Only a space may follow.
			if i+1 < len(line) && !space(line[i+1]) {
				return nil, nil, false
			}
			return word, line[i+1:], true
		case c == '\\' && i+1 < len(line):
			c, i = unescape(line, i, quote)
			word = append(word, c)
		default:
			word = append(word, c)
		}
	}
	return word, nil, quote == 0
}

// unescape returns the byte that the escape sequence at i stands for, and the index of the sequence's last byte.
func unescape(line []byte, i int, quote byte) (byte, int) {
	next := line[i+1]
	if quote == '\'' {
		if next == '\'' {
			return next, i + 1
		}
		return '\\', i
	}
	if next == 'x' && i+3 < len(line) {
		if code, err := strconv.ParseUint(string(line[i+2:i+4]), 16, 8); err == nil {
			return byte(code), i + 3
		}
	}
	if at := strings.IndexByte("nrtba", next); at >= 0 {
		next = "\n\r\t\b\a"[at]
	}
	return next, i + 1
}

func space(c byte) bool {
	return c == ' ' || (c >= '\t' && c <= '\r') || c == 0
}
