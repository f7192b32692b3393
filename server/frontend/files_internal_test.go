package frontend

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// Connections of clients leave files for other members and administration, however few the process may open.
func TestConnectionsFollowOpenFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files uint64
		ports int
		want  int
	}{
		{1 << 63, 4, 40_000},
		{1 << 20, 4, 40_000},
		{65_536, 4, 40_000},
		{30_256, 3, 30_000},
		{30_253, 3, 29_997},
		{1024, 3, 768},
		{1024, 2, 768},
		{64, 4, 256},
	} {
		var log bytes.Buffer
		s := &Server{cfg: Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Ports: &Ports{}}}
		if c.ports > 2 {
			s.cfg.Ports.Redis = new(net.TCPListener)
		}
		if c.ports > 3 {
			s.cfg.Ports.Thrift = new(net.TCPListener)
		}
		got := s.slots(c.files)
		if got != c.want {
			t.Errorf("%d files, %d ports: %d connections, want %d", c.files, c.ports, got, c.want)
		}
		if c.files >= 2*keptFiles && uint64(got)+keptFiles > c.files {
			t.Errorf("%d connections leave fewer than %d of %d files", got, keptFiles, c.files)
		}
		if strings.Contains(log.String(), "few open files allowed") != (got < c.ports*connsOfPort) {
			t.Errorf("%d files, %d ports: %d connections; the log says %q", c.files, c.ports, got, log.String())
		}
	}
}
