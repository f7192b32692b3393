package trust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"strings"
	"sync"
	"time"
)

const (
	organization  = "Snowraft"
	authorityName = "Snowraft cluster " // prefix of the fingerprint
	gossipKeySize = 32
)

// beginning and ending are the dates of all certificates except those for foreign clients. authoritySerial is
// the serial number of every authority. judged is the time at which certificates are verified.
var (
	beginning       = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	ending          = time.Date(2099, 12, 31, 23, 59, 59, 0, time.UTC)
	judged          = time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC)
	authoritySerial = big.NewInt(0x736e6f77) // "snow"
)

// GossipKey returns the key of gossip, 32 bytes, derived from the secret by HKDF-SHA256.
func (s Secret) GossipKey() []byte { return s.derive(labelGossip, gossipKeySize) }

// Authority is the certificate authority of a cluster secret. Every process that has the secret derives the same
// certificate, byte for byte, and mints the leaves that it needs in memory.
type Authority struct {
	key         *ecdsa.PrivateKey
	cert        *x509.Certificate
	pool        *x509.CertPool
	pin         string
	fingerprint string

	mu     sync.Mutex
	leaves map[string]*tls.Certificate // key: kind and ID; guarded by mu
}

// Authority derives the certificate authority of the secret: an ECDSA key on P-256 by HKDF-SHA256, and a certificate whose
// signature follows RFC 6979, so that it is the same everywhere.
func (s Secret) Authority() *Authority {
	key := s.authorityKey()
	a := &Authority{key: key, fingerprint: s.Fingerprint(), pool: x509.NewCertPool(), leaves: map[string]*tls.Certificate{}}
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic(err) // the key is on P-256
	}
	hash := sha256.Sum256(spki)
	a.pin = encoding.EncodeToString(hash[:])
	template := &x509.Certificate{
		SerialNumber:          authoritySerial,
		Subject:               pkix.Name{Organization: []string{organization}, CommonName: authorityName + a.fingerprint},
		NotBefore:             beginning,
		NotAfter:              ending,
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
		SubjectKeyId:          hash[:20],
		SignatureAlgorithm:    x509.ECDSAWithSHA256,
	}
	a.cert = a.sign(template, template, key.Public(), nil)
	a.pool.AddCert(a.cert)
	return a
}

// sign returns the certificate of a template. If random is nil, the signature is that of RFC 6979, which is
// always the same.
func (a *Authority) sign(template, parent *x509.Certificate, public any, random io.Reader) *x509.Certificate {
	der, err := x509.CreateCertificate(random, template, parent, public, a.key)
	if err != nil {
		panic(err) // this package makes the template and the keys
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return cert
}

// Certificate returns the certificate of the authority.
func (a *Authority) Certificate() *x509.Certificate { return a.cert }

// PEM returns the certificate for foreign clients.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// Pin returns the SHA-256 of the authority's public key as 52 characters of base32.
func (a *Authority) Pin() string { return a.pin }

// Fingerprint returns the fingerprint of the secret.
func (a *Authority) Fingerprint() string { return a.fingerprint }

// pinOf returns the pin of a certificate's public key.
func pinOf(cert *x509.Certificate) string {
	hash := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return encoding.EncodeToString(hash[:])
}

// isAuthority reports whether a certificate is the authority of a cluster secret: all of these have one form of
// subject and one serial number.
func isAuthority(cert *x509.Certificate) bool {
	return cert.IsCA && cert.SerialNumber.Cmp(authoritySerial) == 0 &&
		len(cert.Subject.Organization) == 1 && cert.Subject.Organization[0] == organization &&
		strings.HasPrefix(cert.Subject.CommonName, authorityName)
}

// mint returns a new leaf with its own key, followed by the authority's certificate.
func (a *Authority) mint(template *x509.Certificate) *tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // the curve is P-256, and randomness never fails
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		panic(err)
	}
	template.SerialNumber = serial.Add(serial, big.NewInt(1))
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.BasicConstraintsValid = true
	leaf := a.sign(template, a.cert, key.Public(), rand.Reader)
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw, a.cert.Raw}, PrivateKey: key, Leaf: leaf}
}

// cached returns the leaf of a kind and ID. It mints the leaf at the first call.
func (a *Authority) cached(kind string, template func() *x509.Certificate) *tls.Certificate {
	a.mu.Lock()
	defer a.mu.Unlock()
	leaf := a.leaves[kind]
	if leaf == nil {
		leaf = a.mint(template())
		a.leaves[kind] = leaf
	}
	return leaf
}
