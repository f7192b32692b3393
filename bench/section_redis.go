package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The figures of redisProtocol.
const (
	single    = "INCR/s"
	pipelined = "INCR/s, pipelined"
)

// redisProtocol compares INCR with Redis, through the client that comes with Redis. It compares relaxed
// sequences with a Redis without persistence, and strict sequences with a Redis that syncs each write.
func redisProtocol() section {
	const (
		memory = "Redis without persistence"
		disk   = "Redis that syncs each write (`appendfsync always`)"
	)
	return section{name: "redis", title: "INCR over the Redis protocol", measure: func(ctx context.Context, e *env) (t *table, err error) {
		if err := installed("redis-server", "redis-benchmark"); err != nil {
			return nil, err
		}
		var started closers
		defer started.close(&err)
		inMemory, err := e.startRedis(ctx, &started, "--appendonly", "no")
		if err != nil {
			return nil, err
		}
		onDisk, err := e.startRedis(ctx, &started, "--appendonly", "yes", "--appendfsync", "always")
		if err != nil {
			return nil, err
		}
		members, err := e.startCluster(ctx, 3, &started)
		if err != nil {
			return nil, err
		}
		if members, err = leaderFirst(ctx, members); err != nil {
			return nil, err
		}
		leader, follower := members[0], members[1]
		const relaxed, strict = "bench:relaxed", "bench:strict"
		if err := leader.sequence(ctx, relaxed, snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED); err != nil {
			return nil, err
		}
		if err := leader.sequence(ctx, strict, snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT); err != nil {
			return nil, err
		}
		const goal = "a strict sequence, at the leader"
		return comparison{
			heading: "`redis-benchmark -c 50`, three members",
			contenders: []contender{
				{name: memory, turn: incr(inMemory, "bench")},
				{name: "a relaxed sequence, at the leader", against: memory, turn: incr(leader.redis, relaxed)},
				{name: "a relaxed sequence, at a follower", against: memory, turn: incr(follower.redis, relaxed)},
				{name: disk, turn: incr(onDisk, "bench")},
				{name: goal, against: disk, turn: incr(leader.redis, strict)},
				{name: "a strict sequence, at a follower", against: disk, turn: incr(follower.redis, strict)},
			},
			columns: []column{
				{"`INCR` per second without pipelining", single, false, amount}, {"relative to Redis", single, true, ratio},
				{"`INCR` per second with `-P 16`", pipelined, false, amount}, {"relative to Redis", pipelined, true, ratio},
			},
			targets: []target{{text: "for strict sequences at the leader without pipelining, at least the rate of Redis", of: goal, figure: single, ratio: true, atLeast: 1, format: ratio}},
		}.measure(ctx, e)
	}}
}

// installed returns the reason to skip a section if a program that comes with Redis is missing.
func installed(programs ...string) error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return &skippedError{program + " is not installed (Debian: redis-server redis-tools)"}
		}
	}
	return nil
}

// startRedis starts a Redis.
func (e *env) startRedis(ctx context.Context, started *closers, args ...string) (address string, err error) {
	if address, err = e.freeAddress(ctx); err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	data, err := e.temp("redis")
	if err != nil {
		return "", err
	}
	c, err := e.start("redis", nil, nil, "redis-server", append([]string{"--bind", host, "--port", port, "--dir", data, "--save", ""}, args...)...)
	if err != nil {
		return "", err
	}
	started.add(c.stop)
	return address, c.await(ctx, func(ctx context.Context) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// incr returns a turn of redis-benchmark: half of the time without pipelining, half
// with it. The first turn, which does not count, measures the number of requests that fit into
// a turn.
func incr(address, key string) turn {
	turns := []turn{incrOnly(address, key, single), incrOnly(address, key, pipelined)}
	return func(ctx context.Context, d time.Duration) (figures, error) {
		measured := figures{}
		for _, turn := range turns {
			f, err := turn(ctx, d/2)
			if err != nil {
				return nil, err
			}
			maps.Copy(measured, f)
		}
		return measured, nil
	}
}

// incrOnly returns a turn of redis-benchmark that measures one figure.
func incrOnly(address, key, figure string) turn {
	rate, pipeline := 20_000.0, 1
	if figure == pipelined {
		rate, pipeline = 100_000, 16
	}
	return func(ctx context.Context, d time.Duration) (_ figures, err error) {
		rate, err = redisBenchmark(ctx, address, key, pipeline, max(1000, int(rate*d.Seconds())))
		return figures{figure: rate}, err
	}
}

var perSecond = regexp.MustCompile(`([0-9.]+) requests per second`)

// redisBenchmark returns the number of INCRs per second.
func redisBenchmark(ctx context.Context, address, key string, pipeline, requests int) (float64, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	out, err := exec.CommandContext(ctx, "redis-benchmark", "-h", host, "-p", port, "-c", "50", //nolint:gosec // fixed but for numbers
		"-n", strconv.Itoa(requests), "-P", strconv.Itoa(pipeline), "-q", "INCR", key).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w: %s", err, out)
	}
	found := perSecond.FindAllSubmatch(out, -1)
	if len(found) == 0 {
		return 0, fmt.Errorf("redis-benchmark: no rate in %q", out)
	}
	return strconv.ParseFloat(string(found[len(found)-1][1]), 64)
}
