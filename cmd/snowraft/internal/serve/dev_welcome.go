package serve

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/id"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// devID is an ID that a member of dev issued.
type devID struct {
	id.Decoded
	from string
}

// welcome prints commands to try, the addresses of the members and a few IDs. The first ten lines fit a terminal of 80 columns and
// contain the first commands, except for the token of a secured cluster.
func (h *Host) welcome(ctx context.Context, f *fleet, took time.Duration) error {
	var ids []devID
	for _, m := range f.members {
		issued, err := someIDs(ctx, m, f.access, 2)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		ids = append(ids, issued...)
	}
	data := f.dir + ", deleted on exit"
	if f.cfg.dataDir != "" {
		data = f.dir + ", kept"
	}
	first := f.members[0]
	_, redisPort, err := net.SplitHostPort(first.RedisAddr())
	if err != nil {
		return err
	}
	addr := ""
	if f.cfg.portBase != cli.APIPort {
		addr = " --addr " + first.APIAddr()
	}
	curl, redis, hints := "curl", "redis-cli -p "+redisPort, ""
	if s := f.secured; s != nil {
		hints = s.hints(h.program)
		curl = "curl --cacert " + s.ca + " -H \"authorization: Bearer $SNOWRAFT_TOKEN\""
		redis = "redis-cli --tls --cacert " + s.ca + " -p " + redisPort
		data += "; the secret is in " + s.secret
	}
	scheme := " " + f.scheme()
	out := h.Printer(cli.OutputText)
	return out.Answer(nil,
		cli.Line("Console: %s", out.Style.Bold(f.scheme()+first.HTTPAddr()+"/")),
		cli.Line("A Snowraft cluster of three members, ready after %.1f s", took.Seconds()),
		cli.Line("%s", out.Style.Bold("Try in a second terminal:")+hints+`
  `+curl+scheme+first.HTTPAddr()+`/id
  `+h.program+` id -n 5`+addr+`
  `+h.program+` seq create orders`+addr+`
  `+h.program+` seq next orders -n 3`+addr+`
  `+h.program+` top`+addr+`
  `+h.program+` decode `+cli.Decimal(ids[0].ID)+`
  `+h.program+` whois `+cli.Decimal(ids[0].ID)+addr+`
  `+curl+` -X POST`+scheme+first.HTTPAddr()+`/seq/orders
  `+redis+` INCR visits
  `+h.program+` status`+addr+`
  `+h.program+` member list`+addr+`
  `+curl+scheme+first.HTTPAddr()+`/metrics`),
		cli.Table(f.members, []string{"MEMBER", "API (gRPC)", "HTTP", "RAFT", "GOSSIP", "REDIS", "THRIFT"}, func(m devMember) []any {
			return []any{m.name, m.APIAddr(), m.HTTPAddr(), m.RaftAddr(), m.GossipAddr(), m.RedisAddr(), m.ThriftAddr()}
		}),
		cli.Table(ids, []string{"ID", "TIME", "WORKER", "SEQUENCE", "ISSUED BY"}, func(i devID) []any {
			return []any{i.ID, cli.Stamp(i.TickAtMS), i.Worker, i.Sequence, i.from}
		}),
		cli.Line("In this cluster, INCR creates the sequence of an unknown key. By default, a cluster rejects that."),
		cli.Line("Data in %s. Press Ctrl-C to stop.", data),
	)
}

func (f *fleet) scheme() string {
	if f.secured != nil {
		return "https://"
	}
	return "http://"
}

// someIDs requests n IDs from a member over the network, like any client.
func someIDs(ctx context.Context, m devMember, access cli.Access, n uint32) ([]devID, error) {
	r, err := cli.Dial([]string{m.APIAddr()}, cli.DefaultTimeout, access)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	resp, err := r.IDs.GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: n, Packed: new(true)})
	if err != nil {
		return nil, err
	}
	var ids []devID
	for _, issued := range resp.GetIds() {
		d, err := id.DecodeIn(snowflake.Default(), uint64(issued)) //nolint:gosec // never negative
		if err != nil {
			return nil, err
		}
		ids = append(ids, devID{Decoded: d, from: m.name})
	}
	return ids, nil
}
