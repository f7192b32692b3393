// Package ff1 permutes the strings of one length over one alphabet under a key: the mode FF1 of
// [NIST SP 800-38G], with AES.
//
// The package guarantees that a [Cipher] is a bijection, whatever its key: two strings never have the same
// image, and each image leads back to its string. That holds by construction, because FF1 is a Feistel network.
// Without the key, an image reveals nothing about its string that the other images do not reveal.
//
// A string of n numerals is given as its two halves, the first n/2 numerals and the rest. A half is the number
// that its numerals write, the most significant one first. Halves fit a uint64, so the package needs no big
// integers.
//
// [NIST SP 800-38G]: https://doi.org/10.6028/NIST.SP.800-38G
package ff1

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// MinStrings is the least number of strings that a Cipher permutes. SP 800-38G Revision 1 demands it, because a
// smaller domain can be learned by trying all of it.
const MinStrings = 1_000_000

const (
	rounds   = 10
	maxRadix = 1 << 16
)

// Cipher is FF1 for one key, tweak, radix and length. It never changes and is safe for concurrent use.
type Cipher struct {
	block       cipher.Block
	left, right uint64 // number of strings of each half: radix^(n/2) and radix^(n-n/2)
	bytes       int    // length of a half in the input of a round; b in the standard
	sum         int    // length of the part of a round's output that counts; d in the standard

	// mask is the input of a round's last AES block, except the number of the round and the half. All blocks
	// before are equal in all rounds, and are in it as the standard chains them.
	mask [aes.BlockSize]byte
}

// New returns the Cipher of strings of a length over radix numerals. The key has 16, 24 or 32 bytes. New fails if
// there are fewer than [MinStrings] strings, or if a half exceeds 64 bits.
func New(key, tweak []byte, radix, length int) (*Cipher, error) {
	if radix < 2 || radix > maxRadix || length < 2 {
		return nil, fmt.Errorf("ff1: strings of %d numerals of radix %d: expected at least 2 numerals of radix 2 to %d", length, radix, maxRadix)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("ff1: %w", err)
	}
	c := &Cipher{block: block}
	var fit bool
	if c.right, fit = power(uint64(radix), length-length/2); !fit {
		return nil, fmt.Errorf("ff1: strings of %d numerals of radix %d: half of one exceeds 64 bits", length, radix)
	}
	c.left, _ = power(uint64(radix), length/2)
	if over, strings := bits.Mul64(c.left, c.right); over == 0 && strings < MinStrings {
		return nil, fmt.Errorf("ff1: %d strings of %d numerals of radix %d: expected at least %d", strings, length, radix, MinStrings)
	}
	c.bytes = (bits.Len64(c.right-1) + 7) / 8
	c.sum = 4*((c.bytes+3)/4) + 4
	c.chain(tweak, uint32(radix), uint32(length)) //nolint:gosec // a longer string does not fit
	return c, nil
}

// power returns base^exponent; fit is false if that exceeds 64 bits.
func power(base uint64, exponent int) (product uint64, fit bool) {
	product = 1
	for range exponent {
		var over uint64
		if over, product = bits.Mul64(product, base); over != 0 {
			return 0, false
		}
	}
	return product, true
}

// chain computes the mask: the standard's P and all of its Q that is equal in all rounds.
func (c *Cipher) chain(tweak []byte, radix, length uint32) {
	p := []byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), rounds, byte(length / 2)} //nolint:gosec // the standard cuts them
	p = binary.BigEndian.AppendUint32(p, length)
	p = binary.BigEndian.AppendUint32(p, uint32(len(tweak))) //nolint:gosec // the standard cuts it
	equal := append(p, tweak...)
	for (len(equal)+1+c.bytes)%aes.BlockSize != 0 {
		equal = append(equal, 0)
	}
	equal = append(equal, make([]byte, 1+c.bytes)...) // the round and the half
	for ; len(equal) > aes.BlockSize; equal = equal[aes.BlockSize:] {
		c.mix(equal)
		c.block.Encrypt(c.mask[:], c.mask[:])
	}
	c.mix(equal)
}

func (c *Cipher) mix(block []byte) {
	for i := range c.mask {
		c.mask[i] ^= block[i]
	}
}

// Encrypt returns the image of a string.
func (c *Cipher) Encrypt(left, right uint64) (uint64, uint64) {
	var block [aes.BlockSize]byte
	for round := 0; round < rounds; round += 2 {
		left = add(left, c.round(&block, round, right, c.left), c.left)
		right = add(right, c.round(&block, round+1, left, c.right), c.right)
	}
	return left, right
}

// Decrypt returns the string that has an image.
func (c *Cipher) Decrypt(left, right uint64) (uint64, uint64) {
	var block [aes.BlockSize]byte
	for round := rounds - 2; round >= 0; round -= 2 {
		right = add(right, c.right-c.round(&block, round+1, left, c.right), c.right)
		left = add(left, c.left-c.round(&block, round, right, c.left), c.left)
	}
	return left, right
}

// round returns the standard's y modulo m, for one half. It uses block as memory.
func (c *Cipher) round(block *[aes.BlockSize]byte, number int, half, m uint64) uint64 {
	*block = c.mask
	block[aes.BlockSize-1-c.bytes] ^= byte(number) //nolint:gosec // 0 to 9
	low := block[aes.BlockSize-8:]
	binary.BigEndian.PutUint64(low, binary.BigEndian.Uint64(low)^half)
	c.block.Encrypt(block[:], block[:])
	high := uint64(0)
	if c.sum > 8 {
		high = uint64(binary.BigEndian.Uint32(block[:4]))
	}
	return bits.Rem64(high, binary.BigEndian.Uint64(block[c.sum-8:]), m)
}

// add returns a + b modulo m, for a < m and b <= m.
func add(a, b, m uint64) uint64 {
	if rest := m - b; a >= rest {
		return a - rest
	}
	return a + b
}
