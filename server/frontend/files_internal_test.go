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
		{1 << 63, 4, 10_000},
		{1 << 20, 4, 10_000},
		{65_536, 4, 10_000},
		{30_256, 3, 10_000},
		{30_253, 3, 9_999},
		{1024, 3, 256},
		{1024, 2, 384},
		{64, 4, 64},
	} {
		got := connections(c.files, c.ports)
		if got != c.want {
			t.Errorf("connections(%d, %d) = %d, want %d", c.files, c.ports, got, c.want)
		}
		if c.files >= 2*keptFiles && uint64(got*c.ports)+keptFiles > c.files {
			t.Errorf("%d ports with %d connections leave fewer than %d of %d files", c.ports, got, keptFiles, c.files)
		}
		var log bytes.Buffer
		s := &Server{logger: slog.New(slog.NewTextHandler(&log, nil)), ports: &Ports{}}
		if c.ports > 2 {
			s.ports.Redis = new(net.TCPListener)
		}
		if c.ports > 3 {
			s.ports.Thrift = new(net.TCPListener)
		}
		s.setConnections(c.files)
		if s.maxConns != got || strings.Contains(log.String(), "few open files allowed") != (got < maxConns) {
			t.Errorf("%d files, %d ports: %d connections; the log says %q", c.files, c.ports, s.maxConns, log.String())
		}
	}
}
