package attacks

import (
	"encoding/binary"

	"google.golang.org/protobuf/proto"
)

// Types of HTTP/2 frames.
const (
	frameData byte = iota
	frameHeaders
	framePriority
	frameReset
	frameSettings
	framePush
	framePing
	frameAway
	frameWindow
	frameContinuation
)

// Flags of HTTP/2 frames.
const (
	flagEndStream  = 0x1
	flagEndHeaders = 0x4
)

// preface is the client preface of an HTTP/2 connection, with empty settings.
var preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + string(frame(frameSettings, 0, 0, nil))

// frame returns one HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind)) //nolint:gosec // attacks send little
	return append(binary.BigEndian.AppendUint32(append(head, flags), stream), payload...)
}

// literal returns the uncompressed encoding of a header's name or value.
func literal(text string) []byte {
	const most = 0x7f // the largest length in one byte
	if len(text) < most {
		return append([]byte{byte(len(text))}, text...) //nolint:gosec // below most
	}
	return append(binary.AppendUvarint([]byte{most}, uint64(len(text)-most)), text...) //nolint:gosec // not negative
}

// begin returns the headers of a gRPC call. An empty token means no authorization header.
func begin(stream uint32, method, token string) []byte {
	headers := [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "attacker.example"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	}
	if token != "" {
		headers = append(headers, [2]string{"authorization", "Bearer " + token})
	}
	var block []byte
	for _, h := range headers {
		block = append(append(append(block, 0), literal(h[0])...), literal(h[1])...)
	}
	return frame(frameHeaders, flagEndHeaders, stream, block)
}

// message returns one message of a gRPC call. last closes the stream after the message.
func message(stream uint32, m proto.Message, last bool) []byte {
	raw, err := proto.Marshal(m)
	if err != nil {
		panic(err) // messages of attacks are valid
	}
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(raw))) //nolint:gosec // attacks send little
	var flags byte
	if last {
		flags = flagEndStream
	}
	return frame(frameData, flags, stream, append(head, raw...))
}

// stream returns the HTTP/2 stream of the client's call with this number; calls count from 0.
func stream(call int) uint32 { return uint32(2*call + 1) } //nolint:gosec // calls are few
