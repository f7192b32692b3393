package frontend

const (
	// connsOfPort is the number of connections that all ports together may have for each port, unless the process may open too few
	// files.
	connsOfPort = 10_000
	// keptFiles is the number of files that connections of clients never take: they are for other members, for administration,
	// for the log, and for files that are read again.
	keptFiles = 256
)

// slots returns the number of connections of all ports together with that number of open files. It warns if that is fewer than
// usual.
func (s *Server) slots(files uint64) int {
	ports := uint64(2) // API and HTTP
	if s.cfg.Ports.Redis != nil {
		ports++
	}
	if s.cfg.Ports.Thrift != nil {
		ports++
	}
	most := ports * connsOfPort
	slots := min(max(files, 2*keptFiles)-keptFiles, most)
	if slots < most {
		s.cfg.Logger.Warn("few open files allowed; ports take fewer connections. Raise the limit (ulimit -n, LimitNOFILE of systemd)",
			"open_files", files, "connections", slots, "otherwise", most, "enough", most+keptFiles)
	}
	return int(slots)
}
