package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"math/big"
)

// The labels of the keys that a secret derives. They are a format: members of all versions must derive the same
// keys.
const (
	labelFingerprint = "snowraft fingerprint"
	labelGossip      = "snowraft gossip key"
	labelAuthority   = "snowraft authority key"
	labelReceipt     = "snowraft receipt key"
)

// derive returns size bytes that only holders of the secret know, by HKDF-SHA256.
func (s Secret) derive(label string, size int) []byte {
	key, err := hkdf.Key(sha256.New, s.raw()[:], nil, label, size)
	if err != nil {
		panic(err) // the size is a constant that HKDF allows
	}
	return key
}

// authorityKey returns the key of the certificate authority. 48 bytes, reduced modulo the order less one, are
// as good as uniform (FIPS 186-5, A.2.1).
func (s Secret) authorityKey() *ecdsa.PrivateKey {
	one := big.NewInt(1)
	d := new(big.Int).SetBytes(s.derive(labelAuthority, 48))
	d.Mod(d, new(big.Int).Sub(elliptic.P256().Params().N, one))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d.Add(d, one).FillBytes(make([]byte, 32)))
	if err != nil {
		panic(err) // the number is from 1 to the order less one
	}
	return key
}
