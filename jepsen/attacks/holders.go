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

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// StealWorkers extends and releases the workers of others with all that the API shows of them: with each text
// of the length of a nonce or of its hash that is in an answer. It returns what the cluster did.
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

// texts are the texts of these lengths anywhere in a message.
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

// ReturnBlocks returns the blocks of others: it guesses that each entry of the log up to an index allocated one.
// It reports how many returns the cluster took.
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

// TakeWorkers acquires so many workers, each for another holder. It returns how many it got.
func TakeWorkers(ctx context.Context, conn grpc.ClientConnInterface, layout string, workers int) (taken int, err error) {
	client := snowraftv1.NewWorkerServiceClient(conn)
	for i := range workers {
		_, err := client.AcquireWorker(ctx, &snowraftv1.AcquireWorkerRequest{
			Layout: layout, Holder: fmt.Sprintf("stranger-%d", i), Nonce: fmt.Appendf(nil, "%016d", i),
			ClockAtMs: time.Now().UnixMilli(), WindowMs: time.Minute.Milliseconds(),
		})
		switch status.Code(err) {
		case codes.OK:
			taken++
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
			return taken, err
		}
	}
	return taken, nil
}

// MakeLayouts creates so many layouts, which no caller can delete. It returns how many there are then.
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
