package redis

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/redcon"

	"github.com/snowraft/snowraft/trust"
)

// info answers INFO [section ...] in the form of Redis, with the fields that clients look for and with Snowraft's own
// section.
func (c *conn) info(args [][]byte) {
	i := c.s.cfg.Backend.Info()
	sections := [][]string{
		{"Server",
			"redis_version:" + redisVersion, "redis_mode:standalone", "os:" + runtime.GOOS + " " + runtime.GOARCH,
			fmt.Sprintf("uptime_in_seconds:%d", int64(i.Uptime/time.Second)),
			fmt.Sprintf("uptime_in_days:%d", int64(i.Uptime/(24*time.Hour))),
			"server_name:snowraft"},
		{"Clients", fmt.Sprintf("connected_clients:%d", c.s.Clients()), fmt.Sprintf("maxclients:%d", c.s.cfg.MaxClients)},
		{"Persistence", "loading:0"},
		// Every member accepts INCR, and clients read that from the role.
		{"Replication", "role:master", "connected_slaves:0"},
		{"Cluster", "cluster_enabled:0"},
		{"Snowraft",
			"snowraft_version:" + i.Version, "member:" + i.Member, "member_id:" + i.MemberID,
			"raft_role:" + i.Role, "leader:" + i.Leader},
	}
	if c.caller.Authorize(trust.RightReadCluster, "") == nil {
		last := len(sections) - 1
		sections[last] = append(sections[last], "cluster_id:"+i.ClusterID)
	}
	wanted := make(map[string]bool)
	for _, arg := range args[1:] {
		wanted[strings.ToLower(string(arg))] = true
	}
	all := len(wanted) == 0 || wanted["all"] || wanted["everything"] || wanted["default"]
	var parts []string
	for _, s := range sections {
		if all || wanted[strings.ToLower(s[0])] {
			parts = append(parts, "# "+strings.Join(s, "\r\n")+"\r\n")
		}
	}
	c.verbatim(strings.Join(parts, "\r\n"))
}

// time answers with the member's clock in seconds and microseconds, at a resolution of one millisecond.
func (c *conn) time([][]byte) {
	millis := c.s.cfg.Clock().Wall
	c.out = redcon.AppendAny(c.out, []int64{millis / 1000, millis % 1000 * 1000})
}

// configGet answers with the settings that redis-benchmark and client libraries request. The values describe this server:
// issued numbers are on the disks of a majority, which corresponds to appendonly in Redis.
func (c *conn) configGet(args [][]byte) {
	var found []string
	for _, s := range [][2]string{
		{"appendonly", "yes"}, {"databases", "1"}, {"maxclients", fmt.Sprint(c.s.cfg.MaxClients)}, {"save", ""}, {"timeout", "0"},
	} {
		if slices.ContainsFunc(args[2:], func(arg []byte) bool { return string(arg) == "*" || strings.ToLower(string(arg)) == s[0] }) {
			found = append(found, s[0], s[1])
		}
	}
	c.object(len(found) / 2)
	for _, text := range found {
		c.out = redcon.AppendBulkString(c.out, text)
	}
}

func (c *conn) refuseConfig(args [][]byte) {
	c.refuse("ERR CONFIG " + strings.ToUpper(string(args[1])) + " is not served: a member is configured by its flags, see snowraft serve --help")
}
