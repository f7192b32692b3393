//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/snowraft/snowraft/client"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// The ports of members.
const (
	apiPort   = 7700
	httpPort  = 7701
	redisPort = 7704
)

// snowraftSystems are three members with default settings. Their applications use all ways to take numbers.
func snowraftSystems(o options) []system {
	member := func(name, title, settings string, command func(p *play, app int) *spec) system {
		return system{name: name, title: title, settings: settings, version: output(o.snowraft, "--version"),
			start: func(ctx context.Context, p *play) (func(int) *spec, error) {
				err := startSnowraft(ctx, p, o.snowraft)
				return func(app int) *spec { return command(p, app) }, err
			}}
	}
	client := func(name string) func(*play, int) *spec {
		return func(p *play, _ int) *spec { return driver(name, p.addresses(apiPort)) }
	}
	script := func(program string, args ...string) func(*play, int) *spec {
		return func(p *play, _ int) *spec {
			return &spec{path: program, args: append(args, p.addresses(httpPort)),
				env: []string{"PYTHONPATH=" + filepath.Join(o.root, "clients", "python", "src"), "PYTHONDONTWRITEBYTECODE=1"}}
		}
	}
	// The shell prints the clock, because `snowraft worker run` starts no application with a wrong one.
	worker := func(name, library string, app *spec) system {
		return member(name, library+" under `snowraft worker run`", "defaults, `--restart always`", func(p *play, _ int) *spec {
			return &spec{path: "/bin/sh", family: true, args: slices.Concat([]string{"-c", `date +@%s%3N; exec "$0" "$@"`, o.snowraft,
				"worker", "run", "--addr", p.addresses(apiPort), "--restart", "always", "--arg", "{worker}", "--", app.path}, app.args)}
		})
	}
	folder := filepath.Join(o.root, "bench", "proof")
	return []system{
		member("snowraft", "Snowraft, IDs by request", "defaults", client("snowraft")),
		member("snowraft-go", "Snowraft, generator in Go", "defaults", client("snowraft-generator")),
		member("snowraft-java", "Snowraft, generator in Java", "defaults", func(p *play, _ int) *spec {
			return java(o, "snowraft", p.addresses(httpPort))
		}),
		member("snowraft-typescript", "Snowraft, generator in TypeScript", "defaults", script("/usr/bin/node", filepath.Join(folder, "drive.mjs"))),
		member("snowraft-python", "Snowraft, generator in Python", "defaults", script("/usr/bin/python3", filepath.Join(folder, "drive.py"))),
		member("snowraft-strict", "Snowraft, strict sequence", "defaults", client("snowraft-strict")),
		member("snowraft-redis", "Snowraft, `INCR` by go-redis", "defaults", func(p *play, _ int) *spec { return driver("snowraft-redis", p.addresses(redisPort)) }),
		worker("snowraft-worker", "bwmarrin/snowflake", driver("bwmarrin")),
		worker("snowraft-worker-sonyflake", "sony/sonyflake", driver("sonyflake")),
		worker("snowraft-worker-mybatis-plus", "MyBatis-Plus `Sequence`", java(o, "mybatis-plus")),
		worker("snowraft-worker-hutool", "Hutool `Snowflake`", java(o, "hutool")),
		worker("snowraft-worker-tsid", "tsid-creator", java(o, "tsid")),
	}
}

// startSnowraft starts the members and waits until each issues IDs.
func startSnowraft(ctx context.Context, p *play, program string) error {
	var seeds []string
	for i := range 3 {
		b, err := p.host(ctx, fmt.Sprint("member", i+1))
		if err != nil {
			return err
		}
		p.servers = append(p.servers, b)
		seeds = append(seeds, b.IP+":7703")
	}
	for _, b := range p.servers {
		at := func(port int) string { return fmt.Sprint(b.IP, ":", port) }
		if err := b.start(&spec{path: program, args: []string{
			"serve", "--name", b.Name, "--data-dir", b.dir, "--insecure", "--bootstrap-expect", "3", "--join", strings.Join(seeds, ","),
			"--api-addr", at(apiPort), "--http-addr", at(httpPort), "--raft-addr", at(7702), "--gossip-addr", at(7703), "--redis-addr", at(redisPort),
		}}); err != nil {
			return err
		}
	}
	p.primary = func(ctx context.Context) (*box, error) { return leader(ctx, p.servers) }
	c, err := client.New(strings.Split(p.addresses(apiPort), ","))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := until(ctx, "the members issue IDs", func() bool { _, err := c.NextID(ctx); return err == nil }); err != nil {
		return err
	}
	_, err = c.CreateSequence(ctx, client.SequenceSpec{Name: "orders"})
	return err
}

// addresses returns the addresses of the servers with this port, with commas between them.
func (p *play) addresses(port int) string {
	var all []string
	for _, b := range p.servers {
		all = append(all, b.IP+":"+strconv.Itoa(port))
	}
	return strings.Join(all, ",")
}

// leader returns the member that another one knows as the leader.
func leader(ctx context.Context, members []*box) (*box, error) {
	var failed error
	for _, m := range members {
		conn, err := grpc.NewClient(m.IP+":"+strconv.Itoa(apiPort), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, err
		}
		limited, cancel := context.WithTimeout(ctx, patience)
		status, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(limited, &snowraftv1.GetStatusRequest{})
		cancel()
		failed = errors.Join(failed, err, conn.Close())
		for _, b := range members {
			if err == nil && b.Name == status.GetLeaderName() {
				return b, nil
			}
		}
	}
	return nil, fmt.Errorf("no member knows the leader: %w", failed)
}

// taking returns a function that makes a source of a client for the addresses in the first argument.
func taking(of func(c *client.Client) (source, error)) func(args []string) (source, error) {
	return func(args []string) (source, error) {
		c, err := client.New(strings.Split(args[0], ","))
		if err != nil {
			return nil, err
		}
		return of(c)
	}
}

func text(n int64, err error) (string, error) { return strconv.FormatInt(n, 10), err }

func driveIDs(c *client.Client) (source, error) {
	return func(ctx context.Context) (string, error) { return text(c.NextID(ctx)) }, nil
}

func driveGenerator(c *client.Client) (source, error) {
	holder, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	g, err := client.NewGenerator(c, client.WithGeneratorHolder(holder))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (string, error) { return text(g.Next(ctx)) }, nil
}

func driveStrict(c *client.Client) (source, error) {
	orders := c.Sequence("orders")
	return func(ctx context.Context) (string, error) { return text(orders.Next(ctx)) }, nil
}

// driveSnowraftRedis calls INCR at any member.
func driveSnowraftRedis(args []string) (source, error) {
	addresses := strings.Split(args[0], ",")
	var clients []*redis.Client
	for _, a := range addresses {
		clients = append(clients, redis.NewClient(&redis.Options{
			Addr: a, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience, MaxRetries: -1, PoolSize: 1,
		}))
	}
	at := 0
	return func(ctx context.Context) (string, error) {
		n, err := clients[at].Incr(ctx, "orders").Result()
		if err != nil {
			at = (at + 1) % len(clients) // the next call is at the next member
		}
		return text(n, err)
	}, nil
}
