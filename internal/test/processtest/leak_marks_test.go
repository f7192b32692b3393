//go:build process

package processtest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/trust"
)

// marked holds secrets by description.
type marked map[string][]byte

// forms returns the forms in which a secret could appear.
func forms(secret []byte) map[string][]byte {
	return map[string][]byte{
		"raw":        secret,
		"hex":        []byte(hex.EncodeToString(secret)),
		"base32":     []byte(strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret))),
		"base64":     []byte(base64.RawStdEncoding.EncodeToString(secret)),
		"base64 URL": []byte(base64.RawURLEncoding.EncodeToString(secret)),
		"numbers":    []byte(strings.Trim(fmt.Sprintf("%d", secret), "[]")),
	}
}

// search fails the test if out contains a secret.
func (all marked) search(t *testing.T, where string, out []byte) {
	t.Helper()
	for what, secret := range all {
		for form, text := range forms(secret) {
			if bytes.Contains(out, text) {
				t.Errorf("%s has %s as %s", where, what, form)
			}
		}
	}
}

func random(t *testing.T, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

// secret marks the secret in a file and the values derived from it.
func (s *secretive) secret(t *testing.T, file string) {
	t.Helper()
	secrets, err := trust.ReadSecrets(file)
	if err != nil {
		t.Fatal(err)
	}
	s.secrets["the gossip key"] = secrets[0].GossipKey()
	line := strings.TrimPrefix(secrets[0].Line(), "snowraft-secret-1:")
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(line))
	if err != nil {
		t.Fatal(err)
	}
	s.secrets["the secret"] = raw[:32]
	s.secrets["the key of the CA"] = authorityKey(t, raw[:32], secrets[0].Authority())
}

// authorityKey derives the private key of the CA, which no function of the program returns.
func authorityKey(t *testing.T, secret []byte, a *trust.Authority) []byte {
	t.Helper()
	wide, err := hkdf.Key(sha256.New, secret, nil, "snowraft authority key", 48)
	if err != nil {
		t.Fatal(err)
	}
	one := big.NewInt(1)
	d := new(big.Int).SetBytes(wide)
	d.Mod(d, new(big.Int).Sub(elliptic.P256().Params().N, one))
	raw := d.Add(d, one).FillBytes(make([]byte, 32))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	if err != nil || !key.PublicKey.Equal(a.Certificate().PublicKey) {
		t.Fatalf("derived the key of another CA: %v", err)
	}
	return raw
}
