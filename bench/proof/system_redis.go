//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The primary of Redis at first, and the name that the Sentinels have for it.
const sentinelName = "mymaster"

// redisSystems are a primary and two replicas, each with a Sentinel, with the values of redis.io's guide to Sentinel
// (down-after-milliseconds 5000, failover-timeout 60000, quorum 2).
func redisSystems() []system {
	const title = "Redis with Sentinel, `INCR`"
	all := []struct{ name, settings, conf, drive string }{
		{"redis", "defaults (snapshots to disk)", "", "redis"},
		{"redis-everysec", "`appendonly yes`, `appendfsync everysec`", "appendonly yes\nappendfsync everysec\n", "redis"},
		{"redis-always", "`appendonly yes`, `appendfsync always`", "appendonly yes\nappendfsync always\n", "redis"},
		{"redis-wait", "the same, `min-replicas-to-write 1`, and a number counts only after `WAIT 1`",
			"appendonly yes\nappendfsync always\nmin-replicas-to-write 1\nmin-replicas-max-lag 10\n", "redis-wait"},
	}
	var systems []system
	for _, s := range all {
		systems = append(systems, system{
			name: s.name, title: title, settings: s.settings, version: output("redis-server", "--version"),
			start: func(ctx context.Context, p *play) (func(int) *spec, error) {
				addresses, err := startRedis(ctx, p, s.conf)
				return func(int) *spec { return driver(s.drive, addresses) }, err
			},
		})
	}
	return systems
}

// startRedis returns the addresses of the Sentinels, with commas between them.
func startRedis(ctx context.Context, p *play, conf string) (string, error) {
	var sentinels []string
	for i := range 3 {
		b, err := p.host(ctx, fmt.Sprint("redis", i+1))
		if err != nil {
			return "", err
		}
		p.servers = append(p.servers, b)
		first := p.servers[0].IP
		server := fmt.Sprintf("bind %s\nport 6379\nprotected-mode no\ndir %s\n%s", b.IP, b.dir, conf)
		if i > 0 {
			server += fmt.Sprintf("replicaof %s 6379\n", first)
		}
		sentinel := fmt.Sprintf("bind %s\nport 26379\nprotected-mode no\ndir %s\nsentinel monitor %[3]s %s 6379 2\n"+
			"sentinel down-after-milliseconds %[3]s 5000\nsentinel failover-timeout %[3]s 60000\nsentinel parallel-syncs %[3]s 1\n",
			b.IP, b.dir, sentinelName, first)
		var cast []*spec
		for name, text := range map[string]string{"redis.conf": server, "sentinel.conf": sentinel} {
			path := filepath.Join(b.dir, name)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return "", err
			}
			s := &spec{path: "/usr/bin/redis-server", args: []string{path}}
			if name == "sentinel.conf" {
				s.args = append(s.args, "--sentinel")
			}
			cast = append(cast, s)
		}
		if err := b.start(cast...); err != nil {
			return "", err
		}
		sentinels = append(sentinels, b.IP+":26379")
	}
	p.primary = func(ctx context.Context) (*box, error) { return redisPrimary(ctx, p, sentinels) }
	return strings.Join(sentinels, ","), until(ctx, "Redis has two replicas and three Sentinels", func() bool {
		for _, address := range sentinels {
			c := redis.NewSentinelClient(&redis.Options{Addr: address})
			state, err := c.Master(ctx, sentinelName).Result()
			_ = c.Close()
			if err != nil || state["num-slaves"] != "2" || state["num-other-sentinels"] != "2" {
				return false
			}
		}
		return true
	})
}

// redisPrimary returns the server that the first Sentinel to answer names.
func redisPrimary(ctx context.Context, p *play, sentinels []string) (*box, error) {
	var failed error
	for _, address := range sentinels {
		c := redis.NewSentinelClient(&redis.Options{Addr: address, DialTimeout: patience, ReadTimeout: patience})
		at, err := c.GetMasterAddrByName(ctx, sentinelName).Result()
		failed = errors.Join(failed, err, c.Close())
		if err != nil {
			continue
		}
		for _, b := range p.servers {
			if b.IP == at[0] {
				return b, nil
			}
		}
	}
	return nil, fmt.Errorf("no Sentinel knows the primary: %w", failed)
}

// driveRedis calls INCR at the primary that the Sentinels name.
func driveRedis(wait bool) func(args []string) (source, error) {
	return func(args []string) (source, error) {
		c := redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: sentinelName, SentinelAddrs: strings.Split(args[0], ","),
			DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
			MaxRetries: -1, // INCR is not idempotent
			PoolSize:   1,
		})
		return func(ctx context.Context) (string, error) {
			if !wait {
				n, err := c.Incr(ctx, "orders").Result()
				return strconv.FormatInt(n, 10), err
			}
			// WAIT counts the replicas that have what its connection wrote.
			conn := c.Conn()
			defer func() { _ = conn.Close() }()
			n, err := conn.Incr(ctx, "orders").Result()
			if err != nil {
				return "", err
			}
			replicas, err := conn.Wait(ctx, 1, patience/2).Result()
			if err == nil && replicas < 1 {
				err = errors.New("no replica has it")
			}
			return strconv.FormatInt(n, 10), err
		}, nil
	}
}
