package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/load"
	"github.com/snowraft/snowraft/snowflake"
)

// maxPipeline is the most commands that a client sends at once.
const maxPipeline = 10_000

func (a *app) benchRedisCommand() *cobra.Command {
	return a.bench(&cobra.Command{
		Use:   "redis KEY",
		Short: "Measure INCR over the Redis protocol",
		Long: `Sends INCR of a key from --clients clients, each on a connection of its own. With
--batch, a client sends that many at once and waits for all answers, as clients that
pipeline do; latency is that of the whole batch. A key that is no sequence becomes
one, as members are configured to do.

It measures a Redis as well: name its address.`,
		Example: `  snowraft bench redis orders
  snowraft bench redis orders --clients 50 --batch 16
  snowraft bench redis orders --addr 127.0.0.1:6379`,
		Args: arguments("KEY"),
	}, callTarget{
		noun: "numbers", port: redisPort,
		batch: maxPipeline, batchHelp: "how many INCRs are sent at once",
		open: func(ctx context.Context, cfg benchConfig, args []string) (*benchClients, error) {
			return ownConnections(ctx, cfg, func(address string, batch int) closingCaller {
				return load.NewRedis(address, args[0], batch, cfg.timeout)
			})
		},
	})
}

func (a *app) benchHTTPCommand() *cobra.Command {
	var (
		layout string
		post   bool
	)
	cmd := &cobra.Command{
		Use:   "http [SEQUENCE]",
		Short: "Measure IDs or numbers as plain text over HTTP",
		Long: `Asks for /id, or for /seq/NAME if a sequence is named, from --clients clients, each
on a connection of its own that is kept. With --batch, an answer has that many lines.
Numbers of a sequence with a format can't be checked for duplicates.`,
		Example: `  snowraft bench http
  snowraft bench http orders --clients 100 --batch 10
  snowraft bench http --post --addr 10.0.0.1:7701,10.0.0.2:7701`,
		Args: arguments("[SEQUENCE]"),
	}
	addLayoutFlag(cmd, &layout)
	cmd.Flags().BoolVar(&post, "post", false, "ask with POST instead of GET")
	return a.bench(cmd, callTarget{
		noun: "numbers", port: httpPort,
		batch: limits.Texts, batchHelp: "how many IDs or numbers a request asks for",
		open: func(ctx context.Context, cfg benchConfig, args []string) (*benchClients, error) {
			path, method, query := "/id", http.MethodGet, url.Values{}
			if layout != snowflake.Default().Name() {
				query.Set("layout", layout)
			}
			if len(args) > 0 {
				if cmd.Flags().Changed("layout") {
					return nil, usagef("--layout: expected without a SEQUENCE")
				}
				path = "/seq/" + strings.ReplaceAll(url.PathEscape(args[0]), "%2F", "/")
			}
			if post {
				method = http.MethodPost
			}
			return ownConnections(ctx, cfg, func(address string, batch int) closingCaller {
				query, full := maps.Clone(query), path
				if batch > 1 {
					query.Set("n", strconv.Itoa(batch))
				}
				if len(query) > 0 {
					full += "?" + query.Encode()
				}
				return load.NewHTTP(address, method, full, uint64(batch), cfg.timeout) //nolint:gosec // its flag is at least 1
			})
		},
	})
}

// closingCaller is a client with a connection of its own.
type closingCaller interface {
	load.Caller
	Close()
}

// ownConnections makes clients with a connection each, after one call to each address
// that has to succeed.
func ownConnections(ctx context.Context, cfg benchConfig, open func(address string, batch int) closingCaller) (*benchClients, error) {
	for _, address := range cfg.addresses {
		c := open(address, 1)
		err := c.Call(ctx, &load.Receipt{})
		c.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", address, err)
		}
	}
	b := &benchClients{connections: cfg.clients, step: 1, signed: true}
	var opened []closingCaller
	for i := range cfg.clients {
		c := open(cfg.addresses[i%len(cfg.addresses)], cfg.batch)
		opened = append(opened, c)
		b.callers = append(b.callers, c)
	}
	b.close = func() {
		for _, c := range opened {
			c.Close()
		}
	}
	return b, nil
}
