package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/snowraft/snowraft/server/redis"
)

// GatewayConfig describes a gateway.
type GatewayConfig struct {
	// Name is what INFO calls the gateway; empty: the host name.
	Name string
	// Members are API addresses of members; some suffice.
	Members []string

	// Bind addresses, host:port; port 0 picks a free one.
	APIAddr  string
	HTTPAddr string
	// RedisAddr is where Redis clients connect; empty: nowhere.
	RedisAddr string
	// RedisCreate is as in Config.
	RedisCreate string

	Logger  *slog.Logger
	Version string
}

func (c GatewayConfig) withDefaults() (GatewayConfig, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Name == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("name: %w", err)
		}
		c.Name = name
	}
	if len(c.Members) == 0 {
		return c, errors.New("addr is empty: a gateway needs the API address of a member")
	}
	if _, err := redis.ParseCreateMode(c.RedisCreate); err != nil {
		return c, fmt.Errorf("redis-%w", err)
	}
	return c, nil
}

func (c GatewayConfig) listen(ctx context.Context) (_ *ports, err error) {
	p := &ports{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	for _, l := range []struct {
		to         *net.Listener
		addr, flag string
	}{
		{&p.api, c.APIAddr, "api-addr"}, {&p.http, c.HTTPAddr, "http-addr"}, {&p.redis, c.RedisAddr, "redis-addr"},
	} {
		if l.to == &p.redis && l.addr == "" {
			continue
		}
		if *l.to, err = listenAt(ctx, l.flag, l.addr); err != nil {
			return nil, err
		}
	}
	return p, nil
}
