package trust

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// The certificates and keys derived from a secret are a format: members of all versions, built by all versions of Go, must derive
// the same bytes.
func TestDerivationIsFixed(t *testing.T) {
	t.Parallel()
	s := fixed(1)
	a := s.Authority()
	receipts := receiptsOf(t, s)
	got := fmt.Sprintf("%s\nfingerprint %s\ngossip %s\npin %s\nreceipt %x\n%s", s.Line(), s.Fingerprint(),
		hex.EncodeToString(s.GossipKey()), a.Pin(), receipts.Make(somewhere), a.PEM())
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
		t.Errorf("the certificate is not self-signed: %v", err)
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

// An operator may pass any text as a host, and a certificate cannot hold every text.
func TestHostLeafOmitsInvalidHosts(t *testing.T) {
	t.Parallel()
	leaf := fixed(1).Authority().hostLeaf([]string{"", "a.example", "日本.example", "a b", "fe80::1%eth0", "2001:db8::1", "host:80", "localhost"}, judged).Leaf
	if want := []string{"localhost", "a.example"}; !slices.Equal(leaf.DNSNames, want) {
		t.Errorf("names %q, want %q", leaf.DNSNames, want)
	}
	if got := fmt.Sprint(leaf.IPAddresses); got != "[127.0.0.1 ::1 2001:db8::1]" {
		t.Errorf("addresses %s", got)
	}
}

// A member has only the identity in its certificate, whatever characters its ID has.
func TestLeafNamesItsPeer(t *testing.T) {
	t.Parallel()
	a := fixed(1).Authority()
	for _, want := range []Peer{
		{Role: RoleMember, ID: "01890000-0000-7000-8000-000000000001"}, {Role: RoleMember, ID: "a/b"}, {Role: RoleMember, ID: "../admin"},
		{Role: RoleMember, ID: "%2Fadmin"}, {Role: RoleMember, ID: "a?b#c"}, {Role: RoleMember, ID: "é あ"}, {Role: RoleMember, ID: "//admin"},
		{Role: RoleAdmin}, {Role: RoleNone},
	} {
		if got := named(a.leaf(want, x509.ExtKeyUsageClientAuth).Leaf); got != want {
			t.Errorf("the certificate of %+v names %+v", want, got)
		}
	}
}
