package frontend

import (
	"math"
	"syscall"
)

const (
	// maxConns bounds the connections of a port, unless the process may open too few files.
	maxConns = 10_000
	// keptFiles is the number of files that connections of clients never take: they are for other members, for administration,
	// for the log, and for files that are read again.
	keptFiles = 256
)

// openFiles returns the number of files that the process may open.
func openFiles() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxUint64
	}
	return uint64(limit.Cur) //nolint:unconvert // FreeBSD: signed, and never negative
}

// connections returns the number of connections that each of a number of ports may have with that number of open files.
func connections(files uint64, ports int) int {
	most := uint64(ports) * maxConns //nolint:gosec // a few ports
	files = max(files, 2*keptFiles) - keptFiles
	return int(min(files, most)) / ports //nolint:gosec // at most 40,000
}

// setConnections sets the number of connections of each port, and warns if the number of open files lowers it.
func (s *Server) setConnections(files uint64) {
	ports := 2 // API and HTTP
	if s.ports.Redis != nil {
		ports++
	}
	if s.ports.Thrift != nil {
		ports++
	}
	if s.maxConns = connections(files, ports); s.maxConns < maxConns {
		s.logger.Warn("few open files allowed; ports take fewer connections. Raise the limit (ulimit -n, LimitNOFILE of systemd)",
			"open_files", files, "connections_per_port", s.maxConns, "otherwise", maxConns, "enough", ports*maxConns+keptFiles)
	}
}
