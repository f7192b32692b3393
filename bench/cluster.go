package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// member is a member of a cluster, a process of its own.
type member struct {
	*child
	name                           string
	api, http, raft, gossip, redis string
}

// startCluster starts a new cluster with the program that is measured, of so many
// members, and waits until all of them issue IDs.
func (e *env) startCluster(ctx context.Context, size int, started *closers) ([]*member, error) {
	var members []*member
	for i := range size {
		m := &member{name: fmt.Sprintf("m%d", i+1)}
		for _, address := range []*string{&m.api, &m.http, &m.raft, &m.gossip, &m.redis} {
			var err error
			if *address, err = freeAddress(ctx); err != nil {
				return nil, err
			}
		}
		members = append(members, m)
	}
	for _, m := range members {
		data, err := e.temp(m.name)
		if err != nil {
			return nil, err
		}
		args := []string{
			"serve", "--name", m.name, "--data-dir", data, "--bootstrap-expect", fmt.Sprint(size), "--log-level", "error",
			"--api-addr", m.api, "--http-addr", m.http, "--raft-addr", m.raft, "--gossip-addr", m.gossip, "--redis-addr", m.redis,
		}
		var others []string
		for _, other := range members {
			if other != m {
				others = append(others, other.gossip)
			}
		}
		if len(others) > 0 {
			args = append(args, "--join", strings.Join(others, ","))
		}
		if m.child, err = e.start(m.name, nil, e.snowraft, args...); err != nil {
			return nil, err
		}
		started.add(m.stop)
	}
	for _, m := range members {
		if err := m.await(ctx, m.ready); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// ready asks whether the member issues IDs.
func (m *member) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.http+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", m.name, resp.Status)
	}
	return nil
}

// with calls do with a connection to the member's API.
func (m *member) with(do func(*grpc.ClientConn) error) error {
	conn, err := load.Dial(m.api)
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close())
}

// sequence creates a sequence.
func (m *member) sequence(ctx context.Context, name string, mode snowraftv1.SequenceMode) error {
	return m.with(func(conn *grpc.ClientConn) error {
		_, err := snowraftv1.NewSequenceServiceClient(conn).CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{
			Sequence: &snowraftv1.Sequence{Name: name, Mode: mode},
		})
		return err
	})
}

// leaderFirst orders members with the leader first.
func leaderFirst(ctx context.Context, members []*member) ([]*member, error) {
	var leader string
	err := members[0].with(func(conn *grpc.ClientConn) error {
		resp, err := snowraftv1.NewClusterServiceClient(conn).GetStatus(ctx, &snowraftv1.GetStatusRequest{})
		leader = resp.GetLeaderName()
		return err
	})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(members, func(m *member) bool { return m.name == leader })
	if i < 0 {
		return nil, fmt.Errorf("the leader is %q, expected one of the members", leader)
	}
	return slices.Concat(members[i:], members[:i]), nil
}

// freeAddress returns an address of the loopback interface that is free now, for
// TCP and UDP.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	for range 100 {
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		u, err := lc.ListenPacket(ctx, "udp", l.Addr().String())
		_ = l.Close()
		if err == nil {
			_ = u.Close()
			return l.Addr().String(), nil
		}
	}
	return "", fmt.Errorf("no port is free for TCP and UDP")
}
