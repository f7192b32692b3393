package trust

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// What a secret derives is a format: members of all versions, built by all versions of Go, must derive the same.
func TestDerivationIsFixed(t *testing.T) {
	t.Parallel()
	s := fixed(1)
	a := s.Authority()
	got := fmt.Sprintf("%s\nfingerprint %s\ngossip %s\npin %s\n%s", s.Line(), s.Fingerprint(),
		hex.EncodeToString(s.GossipKey()), a.Pin(), a.PEM())
	const path = "testdata/derivation.golden"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("derived\n%s\nwant\n%s", got, want)
	}
	if again := s.Authority(); string(again.PEM()) != string(a.PEM()) {
		t.Errorf("derived another certificate the second time:\n%s", again.PEM())
	}
}

func TestAuthorityCertificate(t *testing.T) {
	t.Parallel()
	s := NewSecret()
	a := s.Authority()
	cert := a.Certificate()
	if err := cert.CheckSignatureFrom(cert); err != nil {
		t.Errorf("the certificate is not signed by itself: %v", err)
	}
	hash := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	if want := encoding.EncodeToString(hash[:]); a.Pin() != want || len(want) != 52 {
		t.Errorf("Pin() = %s, want %s", a.Pin(), want)
	}
	if !isAuthority(cert) {
		t.Errorf("isAuthority(%s) = false, want true", cert.Subject)
	}
	if leaf := a.leaf(Peer{Role: RoleMember, ID: "a"}, x509.ExtKeyUsageServerAuth); isAuthority(leaf.Leaf) {
		t.Error("isAuthority(leaf) = true, want false")
	}
	if other := NewSecret().Authority(); other.Pin() == a.Pin() || other.fingerprint == a.fingerprint {
		t.Error("two secrets derive one authority")
	}
}
