package server

import (
	"cmp"
	"time"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/server/backups"
)

// settings returns the settings in force for debug archives. No value is a secret or the content of a file.
func (s *Server) settings() map[string]any {
	c := s.cfg
	var schedule backups.Schedule
	if c.Backups != nil {
		schedule = *c.Backups
	}
	return map[string]any{
		"name":                     c.Name,
		"force-name":               c.ForceName,
		"data-dir":                 c.DataDir,
		"api-addr":                 c.APIAddr,
		"http-addr":                c.HTTPAddr,
		"raft-addr":                c.RaftAddr,
		"gossip-addr":              c.GossipAddr,
		"redis-addr":               c.RedisAddr,
		"thrift-addr":              c.ThriftAddr,
		"http-socket":              c.HTTPSocket.Path,
		"redis-socket":             c.RedisSocket.Path,
		"advertise-host":           c.AdvertiseHost,
		"http-hosts":               c.HTTPHosts,
		"join":                     c.Join,
		"bootstrap-expect":         c.BootstrapExpect,
		"nonvoter":                 c.Nonvoter,
		"lanes":                    c.Lanes,
		"promote-after":            cmp.Or(c.Timing.PromoteAfter, limits.DefaultPromoteAfter).String(),
		"initial-max-window":       given(c.MaxWindow),
		"initial-wait-threshold":   given(c.WaitThreshold),
		"initial-max-clock-offset": given(c.MaxClockOffset),
		"initial-rollback":         c.Rollback,
		"initial-redis-create":     c.RedisCreate,
		"initial-upgrades":         c.Upgrades,
		"secured":                  c.Keys != nil,
		"insecure":                 c.Insecure,
		"client-tls":               c.ClientTLS,
		"tls-hosts":                c.TLSHosts,
		"custom-certificate":       c.OwnCertificate != nil,
		"audit-log":                c.AuditLog != nil,
		"backup-every":             given(schedule.Every),
		"backup-keep":              schedule.Keep,
		"backup-max-age":           given(schedule.MaxAge),
		"traced":                   c.Tracer != nil,
		"advertised":               map[string]string{"api": s.APIAddr(), "http": s.HTTPAddr(), "raft": s.RaftAddr(), "gossip": s.GossipAddr()},
	}
}

// given formats an initial value; empty if the value was not given.
func given(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
