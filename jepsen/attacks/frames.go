package attacks

import (
	"encoding/binary"

	"google.golang.org/protobuf/proto"
)

// The types of HTTP/2 frames.
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

// The flags of HTTP/2 frames.
const (
	flagEndStream  = 0x1
	flagEndHeaders = 0x4
)

// preface is the beginning of an HTTP/2 connection, with empty settings.
var preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + string(frame(frameSettings, 0, 0, nil))

// frame is one frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind)) //nolint:gosec // attacks send little
	return append(binary.BigEndian.AppendUint32(append(head, flags), stream), payload...)
}

// literal is a name or a value of a header, as it is.
func literal(text string) []byte {
	const most = 0x7f // the largest length in one byte
	if len(text) < most {
		return append([]byte{byte(len(text))}, text...) //nolint:gosec // below most
	}
	return append(binary.AppendUvarint([]byte{most}, uint64(len(text)-most)), text...) //nolint:gosec // not negative
}

// begin is the headers of a gRPC call. Without a token, there is no authorization.
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

// message is a message of a gRPC call. The call takes no other message after the last one.
func message(stream uint32, m proto.Message, last bool) []byte {
	raw, err := proto.Marshal(m)
	if err != nil {
		panic(err) // attacks make the message
	}
	head := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(raw))) //nolint:gosec // attacks send little
	var flags byte
	if last {
		flags = flagEndStream
	}
	return frame(frameData, flags, stream, append(head, raw...))
}

// stream is the number of a client's call, from 0 on.
func stream(call int) uint32 { return uint32(2*call + 1) } //nolint:gosec // calls are few
