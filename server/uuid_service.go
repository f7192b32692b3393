package server

import (
	"context"
	"fmt"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// uuidTextBytes is the length of a UUID as text.
const uuidTextBytes = 36

// GenerateUuids issues IDs and writes them as UUIDs.
func (i *idService) GenerateUuids(ctx context.Context, req *snowraftv1.GenerateUuidsRequest) (*snowraftv1.GenerateUuidsResponse, error) {
	count := max(req.GetCount(), 1)
	if limit := uint32(limits.Texts); count > limit {
		return nil, invalid(fmt.Sprintf("count is %d, at most %d UUIDs are issued a call", count, limit))
	}
	layout, err := i.s.member.Layout(ctx, req.GetLayout())
	if err != nil {
		return nil, err
	}
	issuer, err := i.s.member.Issuer(ctx, layout.Name())
	if err != nil {
		return nil, err
	}
	cluster := i.s.ClusterID()
	if cluster == "" { // it tells this cluster's UUIDs from those of others
		return nil, member.ErrNoLeader
	}
	scratch := ranges.Get().(*[]allocator.Range)
	defer ranges.Put(scratch)
	taken, err := issuer.Take(ctx, (*scratch)[:0], count, 0)
	*scratch = taken
	if err != nil {
		return nil, err
	}
	i.s.metrics.issued(count)
	uuids, err := writeUUIDs(taken, count, layout, snowflake.NewUUIDTag(cluster, layout.Name()))
	if err != nil {
		return nil, err
	}
	return &snowraftv1.GenerateUuidsResponse{Uuids: uuids}, nil
}

// writeUUIDs writes count IDs into one text, which all UUIDs are parts of. An ID of now
// always fits a UUID, until the year 10889.
func writeUUIDs(taken []allocator.Range, count uint32, layout *snowflake.Layout, tag snowflake.UUIDTag) ([]string, error) {
	buf := make([]byte, 0, uuidTextBytes*int(count))
	for _, r := range taken {
		for id := range r.All() {
			u, err := layout.UUID(id, tag)
			if err != nil {
				return nil, err
			}
			buf = u.Append(buf)
		}
	}
	text := string(buf)
	uuids := make([]string, 0, count)
	for ; text != ""; text = text[uuidTextBytes:] {
		uuids = append(uuids, text[:uuidTextBytes])
	}
	return uuids, nil
}
