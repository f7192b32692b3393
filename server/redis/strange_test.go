package redis_test

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/snowraft/snowraft/internal/lines"
	"github.com/snowraft/snowraft/server/redis"
)

// written is a log that several connections write.
type written struct {
	mu sync.Mutex
	bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Buffer.Write(b)
}

// TestStrangersFillNoLog connects repeatedly without speaking the protocol.
func TestStrangersFillNoLog(t *testing.T) {
	t.Parallel()
	var log written
	_, addr := start(t, redis.Config{Backend: &fake{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 100 {
		for _, said := range []string{"*1\r\nx", "POST / HTTP/1.1\r\n"} {
			c := dial(t, addr)
			c.send(said)
			_, _ = io.ReadAll(c)
			_ = c.Close()
		}
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if n := bytes.Count(log.Bytes(), []byte("\n")); n != lines.Most {
		t.Errorf("%d lines in the log, want %d", n, lines.Most)
	}
}
