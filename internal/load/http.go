package load

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// mostText is the greatest number of bytes that a client reads of an answer. 100,000 numbers of 20 digits are shorter.
const mostText = 16 << 20

// HTTP requests numbers as plain text on its own persistent connection. It
// does only the necessary work, so that the result measures the server. The caller must close it.
type HTTP struct {
	link
	request []byte
	count   uint64
	body    bytes.Buffer
}

// NewHTTP returns a client that requests count numbers at a path with its query, at the address host:port. timeout
// bounds each connection attempt and each call.
func NewHTTP(address, method, path string, count uint64, timeout time.Duration, access Access) *HTTP {
	request := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, address)
	if method == http.MethodPost {
		request = append(request, "Content-Length: 0\r\n"...)
	}
	if access.Token != "" {
		request = fmt.Appendf(request, "Authorization: Bearer %s\r\n", access.Token)
	}
	return &HTTP{link: link{address: address, timeout: timeout, access: access}, request: append(request, "\r\n"...), count: count}
}

// Call implements Caller.
func (c *HTTP) Call(ctx context.Context, got *Receipt) error {
	return c.exchange(ctx, c.request, func(in *bufio.Reader) error { return c.read(in, got) })
}

// read reads an answer.
func (c *HTTP) read(in *bufio.Reader, got *Receipt) error {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	c.body.Reset()
	if _, err := c.body.ReadFrom(io.LimitReader(resp.Body, mostText)); err != nil {
		_ = resp.Body.Close()
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.Close { // the server closes the connection
		defer c.Close()
	}
	if resp.StatusCode != http.StatusOK {
		return httpRefusal(resp.StatusCode, c.body.String())
	}
	return c.numbers(got)
}

// numbers records the number on each line.
func (c *HTTP) numbers(got *Receipt) error {
	text, before := c.body.Bytes(), got.numbers
	if !got.Checked() {
		got.Count(uint64(bytes.Count(text, []byte{'\n'}))) //nolint:gosec // a count is not negative
		return expected(got.numbers-before, c.count)
	}
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte{'\n'})
		n, err := parseNumber(string(line))
		if err != nil {
			return &Refusal{Reason: "NO_NUMBER", Text: fmt.Sprintf("answer %q: expected a number; do not check a sequence with a format for duplicates", line)}
		}
		got.Number(n)
	}
	return expected(got.numbers-before, c.count)
}

// parseNumber parses an ID, or a number of a sequence, as 64 bits.
func parseNumber(text string) (uint64, error) {
	if strings.HasPrefix(text, "-") {
		n, err := strconv.ParseInt(text, 10, 64)
		return uint64(n), err //nolint:gosec // the same bits
	}
	return strconv.ParseUint(text, 10, 64)
}

// httpRefusal returns the refusal of an answer. Its reason is the one that a member's answer begins with, otherwise
// the HTTP status.
func httpRefusal(status int, text string) error {
	text = strings.TrimSpace(text)
	reason, _, found := strings.Cut(text, ":")
	if !found || reason == "" || strings.ContainsFunc(reason, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') }) {
		reason = fmt.Sprintf("HTTP_%d", status)
	}
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return &Refusal{Reason: reason, Text: fmt.Sprintf("%s (%d %s)", text, status, http.StatusText(status))}
}
