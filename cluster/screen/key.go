package screen

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
)

const (
	nonceSize = 24
	tagSize   = 16
	// ownSize is the number of bytes of a nonce from which the frame's key is derived. The rest is the nonce of AES-GCM.
	ownSize = 12
)

// key is XAES-256-GCM (C2SP): each frame has its own AES-256-GCM key, derived from the key and half of the frame's nonce.
//
// All members seal with the one key of their secret for as long as they have the secret. Nothing can count frames over all
// starts of all members, so nonces are random. AES-GCM alone has nonces of 96 bits, which allow 2^32 random nonces. 50
// members that request each other's clocks once per second would exceed that in ten days, and two frames with one nonce
// let an attacker forge frames. With nonces of 192 bits, 2^80 frames are safe: the probability of two equal nonces is then 2^-32.
type key struct {
	block cipher.Block
	mask  [aes.BlockSize]byte
}

// NewKey returns the cipher XAES-256-GCM (C2SP) with a secret of 32 bytes: nonces have 24 bytes and must be random. The error
// is the wrong length of the secret.
func NewKey(secret []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	k := &key{block: block}
	block.Encrypt(k.mask[:], k.mask[:])
	var carry byte
	for i := len(k.mask) - 1; i >= 0; i-- {
		k.mask[i], carry = k.mask[i]<<1|carry, k.mask[i]>>7
	}
	k.mask[len(k.mask)-1] ^= carry * 0x87 // doubled, as in CMAC
	return k, nil
}

// frame returns the cipher of the frame with a nonce.
func (k *key) frame(nonce []byte) cipher.AEAD {
	var derived [2 * aes.BlockSize]byte
	for i := range 2 {
		half := derived[i*aes.BlockSize : (i+1)*aes.BlockSize]
		copy(half, []byte{0, byte(i + 1), 'X', 0})
		copy(half[aes.BlockSize-ownSize:], nonce[:ownSize])
		subtle.XORBytes(half, half, k.mask[:])
		k.block.Encrypt(half, half)
	}
	block, err := aes.NewCipher(derived[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size of GCM
	}
	return gcm
}

// NonceSize implements cipher.AEAD.
func (*key) NonceSize() int { return nonceSize }

// Overhead implements cipher.AEAD.
func (*key) Overhead() int { return tagSize }

// Seal implements cipher.AEAD.
func (k *key) Seal(dst, nonce, plain, about []byte) []byte {
	return k.frame(nonce).Seal(dst, nonce[ownSize:], plain, about)
}

// Open implements cipher.AEAD.
func (k *key) Open(dst, nonce, sealed, about []byte) ([]byte, error) {
	return k.frame(nonce).Open(dst, nonce[ownSize:], sealed, about)
}
