package main

import (
	"context"
	"fmt"
	"time"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// devID is an ID that a member of dev has issued.
type devID struct {
	decoded
	from string
}

// welcome prints where the members are, a few IDs and what to try next.
func (a *app) welcome(ctx context.Context, f *fleet, took time.Duration) error {
	var ids []devID
	for _, m := range f.members {
		issued, err := someIDs(ctx, m, 2)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		ids = append(ids, issued...)
	}
	data := f.dir + ", removed at the end"
	if f.cfg.dataDir != "" {
		data = f.dir + ", kept"
	}
	addr := ""
	if f.cfg.portBase != apiPort {
		addr = " --addr " + f.members[0].APIAddr()
	}
	out := a.printer(outputText)
	return out.answer(nil,
		line("A Snowraft cluster of three members, ready after %.1f s", took.Seconds()),
		table(f.members,
			column[devMember]{"MEMBER", func(m devMember) string { return m.name }},
			column[devMember]{"API (gRPC)", func(m devMember) string { return m.APIAddr() }},
			column[devMember]{"HTTP", func(m devMember) string { return m.HTTPAddr() }},
			column[devMember]{"RAFT", func(m devMember) string { return m.RaftAddr() }},
			column[devMember]{"GOSSIP", func(m devMember) string { return m.GossipAddr() }},
			column[devMember]{"REDIS", func(m devMember) string { return m.RedisAddr() }},
		),
		table(ids,
			column[devID]{"ID", func(i devID) string { return decimal(i.ID) }},
			column[devID]{"TIME", func(i devID) string { return i.Time }},
			column[devID]{"WORKER", func(i devID) string { return decimal(i.Worker) }},
			column[devID]{"SEQUENCE", func(i devID) string { return decimal(i.Sequence) }},
			column[devID]{"ISSUED BY", func(i devID) string { return i.from }},
		),
		line("%s", out.style.bold("Try in a second terminal:")+`
  snowraft id -n 5`+addr+`
  snowraft decode `+decimal(ids[0].ID)+`
  snowraft whois `+decimal(ids[0].ID)+addr+`
  snowraft seq create orders`+addr+`
  snowraft seq next orders -n 3`+addr+`
  snowraft status`+addr+`
  snowraft member list`+addr+`
  curl http://`+f.members[0].HTTPAddr()+`/metrics`),
		line("Data in %s. Ctrl-C ends it.", data),
	)
}

// someIDs asks a member for n IDs, over the network as any client does.
func someIDs(ctx context.Context, m devMember, n uint32) ([]devID, error) {
	c := newClient([]string{m.APIAddr()}, defaultTimeout)
	defer c.close()
	resp, err := snowraftv1.NewIdServiceClient(c).GenerateIds(ctx, &snowraftv1.GenerateIdsRequest{Count: n, Packed: true})
	if err != nil {
		return nil, err
	}
	var ids []devID
	for _, id := range resp.GetIds() {
		d, err := decodeIn(snowflake.Default(), id)
		if err != nil {
			return nil, err
		}
		ids = append(ids, devID{decoded: d, from: m.name})
	}
	return ids, nil
}
