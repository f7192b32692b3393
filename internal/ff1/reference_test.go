package ff1

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"math/big"

	"pgregory.net/rapid"
)

// reference is Algorithm 7 of SP 800-38G, step by step.
func reference(t *rapid.T, key, tweak []byte, radix, length int, left, right uint64) (uint64, uint64) {
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	u, v := length/2, length-length/2
	power := func(exponent int) *big.Int {
		return new(big.Int).Exp(big.NewInt(int64(radix)), big.NewInt(int64(exponent)), nil)
	}
	b := (new(big.Int).Sub(power(v), big.NewInt(1)).BitLen() + 7) / 8
	d := 4*((b+3)/4) + 4
	p := []byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), 10, byte(u)}
	p = binary.BigEndian.AppendUint32(p, uint32(length))
	p = binary.BigEndian.AppendUint32(p, uint32(len(tweak)))
	a, other := new(big.Int).SetUint64(left), new(big.Int).SetUint64(right)
	for i := range 10 {
		q := append(bytes.Clone(tweak), make([]byte, ((-len(tweak)-b-1)%16+16)%16)...)
		q = append(append(q, byte(i)), other.FillBytes(make([]byte, b))...)
		r := make([]byte, 16)
		for input := append(bytes.Clone(p), q...); len(input) > 0; input = input[16:] {
			for j := range r {
				r[j] ^= input[j]
			}
			block.Encrypt(r, r)
		}
		y := new(big.Int).SetBytes(r[:d])
		m := v
		if i%2 == 0 {
			m = u
		}
		a, other = other, y.Mod(y.Add(y, a), power(m))
	}
	return a.Uint64(), other.Uint64()
}
