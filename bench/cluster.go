package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/snowraft/snowraft/internal/load"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// member is a cluster member or a gateway, in a process of its own.
type member struct {
	*child
	name                           string
	api, http, raft, gossip, redis string
	environ, args                  []string
}

// startCluster starts a new cluster of size members with the measured program, and waits
// until all of them issue IDs. environ is additional environment variables of the members.
func (e *env) startCluster(ctx context.Context, size int, started *closers, environ ...string) ([]*member, error) {
	var members []*member
	for i := range size {
		m, err := e.newMember(ctx, fmt.Sprintf("m%d", i+1), environ)
		if err != nil {
			return nil, err
		}
		m.args = append(m.args, "--bootstrap-expect", fmt.Sprint(size))
		members = append(members, m)
	}
	for _, m := range members {
		m.joins(members)
		if err := m.launch(e, started); err != nil {
			return nil, err
		}
	}
	for _, m := range members {
		if err := m.await(ctx, m.ready); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// newMember returns a member that is not started.
func (e *env) newMember(ctx context.Context, name string, environ []string) (*member, error) {
	m := &member{name: name, environ: environ}
	for _, address := range []*string{&m.api, &m.http, &m.raft, &m.gossip, &m.redis} {
		var err error
		if *address, err = e.freeAddress(ctx); err != nil {
			return nil, err
		}
	}
	data, err := e.temp(name)
	m.args = []string{
		"serve", "--name", m.name, "--data-dir", data, "--log-level", "error",
		"--api-addr", m.api, "--http-addr", m.http, "--raft-addr", m.raft, "--gossip-addr", m.gossip, "--redis-addr", m.redis,
	}
	return m, err
}

// newGateway returns a gateway to members that is not started.
func (e *env) newGateway(ctx context.Context, members []*member) (*member, error) {
	m, err := e.newMember(ctx, "gateway", nil)
	if err != nil {
		return nil, err
	}
	m.args = []string{
		"gateway", "--name", m.name, "--members", strings.Join(apis(members), ","), "--log-level", "error",
		"--api-addr", m.api, "--http-addr", m.http, "--redis-addr", m.redis,
	}
	return m, nil
}

// joins sets the other members as the addresses that the member joins.
func (m *member) joins(members []*member) {
	var others []string
	for _, other := range members {
		if other != m {
			others = append(others, other.gossip)
		}
	}
	if len(others) > 0 {
		m.args = append(m.args, "--join", strings.Join(others, ","))
	}
}

// launch starts the process, or restarts it after it has exited.
func (m *member) launch(e *env, started *closers) (err error) {
	again := m.child != nil
	if m.child, err = e.start(m.name, m.environ, nil, e.snowraft, m.args...); err == nil && !again {
		started.add(func() error { return m.stop() })
	}
	return err
}

// apis returns the API addresses of members, for clients.
func apis(members []*member) (all []string) {
	for _, m := range members {
		all = append(all, m.api)
	}
	return all
}

// ready returns nil if the member issues IDs.
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
	conn, err := load.Dial(m.api, load.Access{})
	if err != nil {
		return err
	}
	return errors.Join(do(conn), conn.Close())
}

// sequence creates a sequence.
func (m *member) sequence(ctx context.Context, name string, mode snowraftv1.SequenceMode) error {
	return m.with(func(conn *grpc.ClientConn) error {
		return until(ctx, func(ctx context.Context) error { // the first leader of a busy machine may lose its leadership
			_, err := snowraftv1.NewSequenceServiceClient(conn).CreateSequence(ctx, &snowraftv1.CreateSequenceRequest{
				Sequence: &snowraftv1.Sequence{Name: name, Mode: mode},
			})
			return err
		})
	})
}

// startWide starts a cluster of one member, with wideLayout.
func (e *env) startWide(ctx context.Context, started *closers) (*member, error) {
	members, err := e.startCluster(ctx, 1, started)
	if err != nil {
		return nil, err
	}
	return members[0], members[0].wide(ctx)
}

// wide creates wideLayout, which does not limit the measured rate.
func (m *member) wide(ctx context.Context) error { return m.layout(ctx, wideLayout, 38, 3, 22) }

// layout creates a layout with the given numbers of time, worker and sequence bits.
func (m *member) layout(ctx context.Context, name string, timeBits, worker, sequence uint32) error {
	return m.with(func(conn *grpc.ClientConn) error {
		_, err := snowraftv1.NewLayoutServiceClient(conn).CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: &snowraftv1.Layout{
			Name: name,
			Fields: []*snowraftv1.Field{
				{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: timeBits}, {Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: worker},
				{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: sequence},
			},
			UnitMs: 1, EpochAtMs: wideEpoch.UnixMilli(),
		}})
		return err
	})
}

// leaderFirst returns the members with the leader first.
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

// freeAddress returns an address of the loopback interface that is free for TCP and UDP. Its port is below
// the ephemeral ports of the system, so that it is still free when a process is restarted.
func (e *env) freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000))
		if e.given[address] {
			continue
		}
		l, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			continue // port in use
		}
		u, err := lc.ListenPacket(ctx, "udp", address)
		_ = l.Close()
		if err == nil {
			_ = u.Close()
			e.given[address] = true
			return address, nil
		}
	}
	return "", errors.New("no port is free for TCP and UDP")
}
