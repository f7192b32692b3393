package load

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"
	"time"
)

// FuzzAnswers checks that the readers of answers return for any input, and
// count no more numbers than the input can hold.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(":5\r\n:-6\r\n"))
	f.Add([]byte("-CLOCK_BEHIND by 5 s\r\n:7\r\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n5\n6\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n5\n\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\nCLOCK_BEHIND: by 5 s\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		redis := NewRedis("", "key", 2, time.Second, Access{})
		plain := NewHTTP("", http.MethodGet, "/", 2, time.Second, Access{})
		for _, read := range []func(*bufio.Reader, *Receipt) error{redis.read, plain.read} {
			for _, checked := range []bool{true, false} {
				got := &Receipt{}
				if checked {
					got.check, got.step = startChecker(NewSeen(1, 100), 1), 1
				}
				err := read(bufio.NewReader(bytes.NewReader(answer)), got)
				if got.numbers > uint64(len(answer)) {
					t.Errorf("%d numbers in %d bytes", got.numbers, len(answer))
				}
				if err == nil && got.numbers != 2 {
					t.Errorf("%d numbers without an error, want 2", got.numbers)
				}
				if checked {
					got.flush()
					if v := got.check.end(); v.Checked+v.Skipped != got.numbers {
						t.Errorf("%+v, want %d numbers", v, got.numbers)
					}
				}
			}
		}
	})
}
