//go:build linux

package lab

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Waiting returns the number of bytes received on connections to one of the member's ports that the member has not read
// yet. A stopped process will read them first.
func (m *Member) Waiting(port int) (waiting int64, err error) {
	err = m.Host.Do(func() error {
		f, err := os.Open("/proc/thread-self/net/tcp") // file of the thread's network namespace
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // read only
		for s := bufio.NewScanner(f); ; {
			if !s.Scan() {
				return s.Err()
			}
			n, err := unread(s.Text(), port)
			if err != nil {
				return err
			}
			waiting += n
		}
	})
	return waiting, err
}

// unread returns the number of unread bytes in a line of /proc/net/tcp about an established connection to the port. It
// returns 0 for other lines.
func unread(line string, port int) (int64, error) {
	const established = "01"
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[3] != established || !strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
		return 0, nil
	}
	_, received, _ := strings.Cut(fields[4], ":")
	n, err := strconv.ParseInt(received, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("read /proc/net/tcp: %w", err)
	}
	return n, nil
}
