package position

import (
	"bytes"
	"testing"
)

func TestEncoding(t *testing.T) {
	p := Position{
		Cluster: [16]byte{1, 15: 2}, Life: 3, Index: 1 << 40, Nonce: [16]byte{4, 15: 5},
		HashIndex: 1<<40 - 1, Hash: [16]byte{6, 15: 7}, WindowEnd: -8,
	}
	b := p.Append([]byte("x"))
	if len(b) != 1+Size {
		t.Fatalf("%d bytes, want %d", len(b), 1+Size)
	}
	if got, err := Parse(b[1:]); err != nil || got != p {
		t.Errorf("%+v, %v, want %+v", got, err, p)
	}
	for _, bad := range [][]byte{nil, b[2:], append(bytes.Clone(b), 0)} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%d bytes are accepted", len(bad))
		}
	}
	p.HashIndex = p.Index + 1
	if _, err := Parse(p.Append(nil)); err == nil {
		t.Error("a hash beyond the index is accepted")
	}
}

func TestOrder(t *testing.T) {
	ascending := []Position{{}, {Index: 1}, {Index: 2}, {Life: 1}, {Life: 1, Index: 1}}
	for i, p := range ascending {
		for j, q := range ascending {
			if p.Before(q) != (i < j) {
				t.Errorf("%+v before %+v: %v", p, q, p.Before(q))
			}
		}
	}
}
