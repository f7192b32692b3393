package attacks

import (
	"context"
	"encoding/binary"
	"slices"

	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// mostStreams is the maximum number of concurrent calls on one connection, the limit of a member.
const mostStreams = 1000

const (
	methodGenerate = "/snowraft.v1.IdService/GenerateIds"
	methodStream   = "/snowraft.v1.IdService/StreamIds"
	methodWatch    = "/grpc.health.v1.Health/Watch"
)

// perhaps returns the token without rights or no token, at random.
func (v visit) perhaps() string {
	if v.IntN(2) == 0 {
		return ""
	}
	return v.Token
}

// frames sends frames on a new connection to the API, and discards the answers until ctx ends.
func (v visit) frames(ctx context.Context, frames ...[]byte) {
	v.send(ctx, v.API, slices.Concat(append([][]byte{[]byte(preface)}, frames...)...), "h2")
}

// silentCalls begins calls and never sends their message.
func (v visit) silentCalls(ctx context.Context) {
	token := v.perhaps()
	var said [][]byte
	for i := range v.some(mostStreams) {
		said = append(said, begin(stream(i), methodGenerate, token))
	}
	v.frames(ctx, said...)
}

// openStreams begins streams of IDs and requests none.
func (v visit) openStreams(ctx context.Context) {
	token := v.perhaps()
	var said [][]byte
	for i := range v.some(mostStreams) {
		said = append(said, begin(stream(i), methodStream, token))
	}
	v.frames(ctx, said...)
}

// watches begins many health watches, which need no token.
func (v visit) watches(ctx context.Context) {
	token := v.perhaps()
	var said [][]byte
	for i := range v.some(mostStreams) {
		said = append(said, begin(stream(i), methodWatch, token), message(stream(i), &grpc_health_v1.HealthCheckRequest{}, true))
	}
	v.frames(ctx, said...)
}

// rapidReset makes calls and resets each one immediately.
func (v visit) rapidReset(ctx context.Context) {
	token := v.perhaps()
	var said [][]byte
	for i := range v.some(mostStreams) {
		said = append(said, begin(stream(i), methodGenerate, token), message(stream(i), &snowraftv1.GenerateIdsRequest{}, true),
			frame(frameReset, 0, stream(i), []byte{0, 0, 0, 8}))
	}
	v.frames(ctx, said...)
}

// controlFrames sends many frames that belong to no call, some of which require answers. It reads the answers or not.
func (v visit) controlFrames(ctx context.Context) {
	all := [][]byte{
		frame(frameSettings, 0, 0, nil),
		frame(frameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 4}, v.Uint32()>>1)), // initial window of streams
		frame(frameSettings, 0, 0, binary.BigEndian.AppendUint32([]byte{0, 1}, v.Uint32()>>1)), // size of the header table
		frame(framePing, 0, 0, make([]byte, 8)),
		frame(framePriority, 0, 1, make([]byte, 5)),
		frame(frameWindow, 0, 0, []byte{0, 0, 0, 1}),
		frame(frameData, 0, 1, nil),
		frame(frameContinuation, 0, 1, nil),
		frame(framePush, 0, 1, make([]byte, 4)),
		frame(frameAway, 0, 0, make([]byte, 8)),
		frame(byte(v.Uint32()&0xff), byte(v.Uint32()&0xff), v.Uint32()>>1, v.noise(100)),
	}
	said := []byte(preface)
	for one := all[v.IntN(len(all))]; len(said) < 64<<10; {
		said = append(said, one...)
		if v.IntN(100) == 0 {
			one = all[v.IntN(len(all))]
		}
	}
	if v.IntN(2) == 0 {
		v.send(ctx, v.API, said, "h2")
		return
	}
	conn, err := v.open(ctx, v.API, "h2")
	if err != nil {
		return
	}
	_, _ = conn.Write(said)
	<-ctx.Done()
}

// hugeHeaders sends a header that never ends.
func (v visit) hugeHeaders(ctx context.Context) {
	if v.Secured {
		block := append([]byte{0, 1, 'x', 0x7f}, binary.AppendUvarint(nil, 1<<20)...)
		v.frames(ctx, frame(frameHeaders, 0, 1, block), slices.Concat(slices.Repeat([][]byte{frame(frameContinuation, 0, 1, make([]byte, 16<<10))}, 64)...))
		return
	}
	_, _ = HugeHeaders(ctx, v.API, 1, 1<<20)
}

// powerlessCalls calls all methods with a valid token that has no rights.
func (v visit) powerlessCalls(ctx context.Context) { v.calls(ctx, func() string { return v.Token }) }

// laterTokens calls all methods with well-formed tokens that no member knows, a different one for each call.
func (v visit) laterTokens(ctx context.Context) { v.calls(ctx, v.later) }

// calls invokes all methods, each with a new result of token.
func (v visit) calls(ctx context.Context, token func() string) {
	all := methods()
	var said [][]byte
	for i := range v.some(mostStreams) {
		said = append(said, begin(stream(i), all[i%len(all)], token()), message(stream(i), &emptypb.Empty{}, true))
	}
	v.frames(ctx, said...)
}

// methods returns the full names of all methods of the API.
func methods() []string {
	var all []string
	protoregistry.GlobalFiles.RangeFilesByPackage("snowraft.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				all = append(all, "/"+string(service.FullName())+"/"+string(service.Methods().Get(j).Name()))
			}
		}
		return true
	})
	return all
}

// later returns the text of a token whose ID the cluster may assign later.
func (v visit) later() string {
	known, _ := trust.ParseToken(v.Token) // ID 0 if v has no token
	return trust.Token{ID: known.ID + 1 + v.Uint64N(1<<uint(v.IntN(40))), Secret: trust.NewTokenSecret()}.Text()
}
