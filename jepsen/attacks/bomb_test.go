package attacks

import (
	"bytes"
	"compress/lzw"
	"io"
	"testing"
)

func TestBombUnpacks(t *testing.T) {
	t.Parallel()
	n, err := io.Copy(io.Discard, lzw.NewReader(bytes.NewReader(bomb(16<<20)), lzw.LSB, 8))
	if err != nil || n < 16<<20 {
		t.Errorf("bomb unpacked to %d bytes, %v, want at least %d", n, err, 16<<20)
	}
}
