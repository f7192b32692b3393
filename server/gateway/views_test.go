package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// script is the connections to members. Stream i carries message i, and later streams carry the last one. At a stream with a nil
// message, the connection breaks.
type script struct {
	grpc.ClientConnInterface
	messages []*snowraftv1.Overview
	streams  int
}

func (s *script) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	o := s.messages[min(s.streams, len(s.messages)-1)]
	s.streams++
	return &once{overview: o}, nil
}

// once is a stream with one overview, or none. Then its connection breaks.
type once struct {
	grpc.ClientStream
	overview *snowraftv1.Overview
}

func (o *once) SendMsg(any) error { return nil }
func (o *once) CloseSend() error  { return nil }

func (o *once) RecvMsg(m any) error {
	if o.overview == nil {
		return status.Error(codes.Unavailable, "connection reset by peer")
	}
	m.(*snowraftv1.WatchOverviewResponse).Overview, o.overview = o.overview, nil
	return nil
}

// watcher is a caller that stores the members that composed its overviews.
type watcher struct {
	grpc.ServerStream
	ctx  context.Context
	from []string
}

func (w *watcher) Context() context.Context { return w.ctx }

func (w *watcher) Send(resp *snowraftv1.WatchOverviewResponse) error {
	w.from = append(w.from, resp.GetOverview().GetComposedBy())
	return nil
}

// A connection that breaks before the first overview does not mean that no member answers: another member is watched. The watch
// fails when no member has sent anything for viewWait.
func TestWatchOutlivesBrokenConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conns := &script{messages: []*snowraftv1.Overview{nil, {ComposedBy: "a"}, nil, nil, {ComposedBy: "b"}, nil}}
		v := &views{members: &members{conn: conns}, closing: context.Background()}
		caller := &watcher{ctx: t.Context()}
		began := time.Now()
		err := v.WatchOverview(new(snowraftv1.WatchOverviewRequest), caller)
		if e := rpc.FromError(err); e.Reason != rpc.NoLeader {
			t.Errorf("error %v, want %s", err, rpc.NoLeader)
		}
		if len(caller.from) != 2 || caller.from[0] != "a" || caller.from[1] != "b" {
			t.Errorf("overviews of %q, want those of a and b", caller.from)
		}
		if took := time.Since(began); took < viewWait || took > 2*viewWait {
			t.Errorf("the watch took %v, want %v after the last overview", took, viewWait)
		}
	})
}
