package attacks

import (
	"context"
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/snowraft/snowraft/internal/limits"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// StealWorkers tries to extend and release the workers of other holders. As the nonce, it uses each text in the answers
// of ListWorkers and WhoIs that has the length of a nonce or of its hash. It lists the requests that the cluster accepted.
func StealWorkers(ctx context.Context, conn grpc.ClientConnInterface, layout string, id int64) (stolen []string, err error) {
	workers := snowraftv1.NewWorkerServiceClient(conn)
	list, err := workers.ListWorkers(ctx, &snowraftv1.ListWorkersRequest{Layout: layout})
	if err != nil {
		return nil, err
	}
	who, err := snowraftv1.NewIdServiceClient(conn).WhoIs(ctx, &snowraftv1.WhoIsRequest{Layout: layout, Id: id})
	if err != nil {
		return nil, err
	}
	nonces := [][]byte{make([]byte, 16)}
	for _, shown := range []proto.Message{list, who} {
		raw, err := proto.Marshal(shown)
		if err != nil {
			return nil, err
		}
		nonces = append(nonces, texts(raw, 16, 32)...)
	}
	for _, w := range append(list.GetWorkers(), who.GetGrant()) {
		for _, nonce := range nonces {
			_, err := workers.ExtendWindow(ctx, &snowraftv1.ExtendWindowRequest{
				Layout: layout, Worker: w.GetWorker(), Token: w.GetToken(), Nonce: nonce, UntilTick: w.GetUntilTick(),
				ClockAtMs: time.Now().UnixMilli(), WindowMs: 1000, ExtensionId: 1,
			})
			if err == nil {
				stolen = append(stolen, fmt.Sprintf("worker %d extended", w.GetWorker()))
			}
			_, err = workers.ReleaseWorker(ctx, &snowraftv1.ReleaseWorkerRequest{
				Layout: layout, Worker: w.GetWorker(), Token: w.GetToken(), Nonce: nonce, UntilTick: w.GetUntilTick(), NextTick: w.GetFromTick(),
			})
			if err == nil {
				stolen = append(stolen, fmt.Sprintf("worker %d released", w.GetWorker()))
			}
		}
	}
	return stolen, nil
}

// texts returns all texts of these lengths, in bytes, at any depth of an encoded message.
func texts(raw []byte, lengths ...int) (found [][]byte) {
	for len(raw) > 0 {
		_, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return found
		}
		raw = raw[n:]
		if n = protowire.ConsumeFieldValue(1, kind, raw); n < 0 {
			return found
		}
		if kind == protowire.BytesType {
			text, _ := protowire.ConsumeBytes(raw)
			if slices.Contains(lengths, len(text)) {
				found = append(found, text)
			}
			found = append(found, texts(text, lengths...)...)
		}
		raw = raw[n:]
	}
	return found
}

// ReturnBlocks tries to return the blocks of other holders: it guesses the token of each block, from 0 to index. It
// returns the number of returns that the cluster accepted.
func ReturnBlocks(ctx context.Context, conn grpc.ClientConnInterface, sequence string, index, unused uint64) (taken int, err error) {
	client := snowraftv1.NewSequenceServiceClient(conn)
	for token := range index + 1 {
		_, err := client.ReturnBlock(ctx, &snowraftv1.ReturnBlockRequest{Sequence: sequence, Token: token, Unused: unused})
		switch status.Code(err) {
		case codes.OK:
			taken++
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			return taken, err
		}
	}
	return taken, nil
}

// mostFailed is the number of calls that may fail for want of a healthy member.
const mostFailed = 100

// TakeWorkers tries to acquire this many workers, each for another holder. It returns the number of granted workers.
func TakeWorkers(ctx context.Context, conn grpc.ClientConnInterface, layout string, workers int) (taken int, err error) {
	client := snowraftv1.NewWorkerServiceClient(conn)
	for i, failed := 0, 0; i < workers; i++ {
		_, err := client.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{
			Layout: layout, Holder: fmt.Sprintf("stranger-%d", i), Nonce: fmt.Appendf(nil, "%016d", i),
			ClockAtMs: time.Now().UnixMilli(), WindowMs: limits.DefaultWindow.Milliseconds(), // longer than the attack takes
		})
		switch status.Code(err) {
		case codes.OK:
			taken++
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			if failed++; failed == mostFailed {
				return taken, err
			}
			i-- // once more, with the present time: a busy machine may delay a call until its time is too old
		}
	}
	return taken, nil
}

// MakeLayouts tries to create this many layouts, which no caller can delete. It returns the number of created layouts.
func MakeLayouts(ctx context.Context, conn grpc.ClientConnInterface, layouts int) (made int, err error) {
	client := snowraftv1.NewLayoutServiceClient(conn)
	fields := []*snowraftv1.Field{
		{Kind: snowraftv1.FieldKind_FIELD_KIND_TIME, Bits: 41},
		{Kind: snowraftv1.FieldKind_FIELD_KIND_WORKER, Bits: 10},
		{Kind: snowraftv1.FieldKind_FIELD_KIND_SEQUENCE, Bits: 12},
	}
	for i := range layouts {
		_, err := client.CreateLayout(ctx, &snowraftv1.CreateLayoutRequest{Layout: &snowraftv1.Layout{
			Name: fmt.Sprintf("stranger-%d", i), Fields: fields, UnitMs: 1,
		}})
		switch status.Code(err) {
		case codes.OK:
			made++
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			return made, err
		}
	}
	return made, nil
}
