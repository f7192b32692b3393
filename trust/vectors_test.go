package trust

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/test/vectors"
)

// pinVectors is pins.json. Its keys are drawn when the file is written, and belong to nothing.
type pinVectors struct {
	About       string        `json:"about"`
	Authorities []caVector    `json:"authorities"`
	Servers     []chainVector `json:"servers"`
	Tokens      []tokenVector `json:"tokens"`
}

type caVector struct {
	Pin string `json:"pin"`
	PEM string `json:"pem"`
}

// chainVector is a server with the certificates of its handshake, and what a client with pins makes of it.
type chainVector struct {
	About      string   `json:"about"`
	Pins       []string `json:"pins"`
	ServerName string   `json:"serverName"`
	Chain      []string `json:"chain"`
	Accept     bool     `json:"accept"`
}

type tokenVector struct {
	Text  string `json:"text"`
	Valid bool   `json:"valid"`
	ID    uint64 `json:"id,string,omitempty"`
	Pin   string `json:"pin,omitempty"`
}

func TestPinVectors(t *testing.T) {
	var v pinVectors
	if vectors.Read(t, "..", "pins.json", &v) {
		v = newPinVectors()
	}
	if len(v.Servers) == 0 || len(v.Tokens) == 0 {
		t.Fatal("pins.json is empty")
	}
	for i := range v.Authorities {
		a := fixed(byte(100 * i)).Authority()
		v.Authorities[i] = caVector{a.Pin(), string(a.PEM())}
	}
	for i := range v.Servers {
		s := &v.Servers[i]
		var state tls.ConnectionState
		for _, text := range s.Chain {
			certs, err := parseCertificates([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			state.PeerCertificates = append(state.PeerCertificates, certs...)
		}
		config := pinned(s.Pins)
		s.ServerName, s.Accept = config.ServerName, config.VerifyConnection(state) == nil
	}
	for i := range v.Tokens {
		text := v.Tokens[i].Text
		token, err := ParseToken(text)
		v.Tokens[i] = tokenVector{text, err == nil, token.ID, token.Pin}
	}
	vectors.Check(t, "..", "pins.json", v)
}

func newPinVectors() pinVectors {
	a, b := fixed(0).Authority(), fixed(100).Authority()
	named := *a.cert // the name of a, with the key of b
	named.PublicKey = b.key.Public()
	forged := Authority{key: b.key, cert: b.sign(&named, &named, b.key.Public(), nil)}
	member := Peer{Role: RoleMember, ID: "a"}
	server := a.leaf(member, x509.ExtKeyUsageServerAuth).Leaf
	past := a.hostLeaf([]string{"ids.example.com"}, time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)).Leaf
	future := a.hostLeaf([]string{"ids.example.com"}, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)).Leaf
	client := a.leaf(member, x509.ExtKeyUsageClientAuth).Leaf
	stranger := b.leaf(member, x509.ExtKeyUsageServerAuth).Leaf
	impostor := forged.mint(&x509.Certificate{NotBefore: beginning, NotAfter: ending, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}).Leaf

	onlyA, both := []string{a.Pin()}, []string{b.Pin(), a.Pin()}
	secret := [32]byte{0: 1, 31: 255}
	text, pinless := Token{ID: 17, Secret: secret, Pin: a.Pin()}.Text(), Token{ID: 1<<64 - 1, Secret: secret}.Text()
	return pinVectors{
		About:       "Pins, the certificates of servers and tokens: what a client accepts; see README.md",
		Authorities: make([]caVector, 2),
		Servers: []chainVector{
			{About: "a member of the cluster", Pins: onlyA, Chain: chain(server, a.cert)},
			{About: "one of two pins", Pins: both, Chain: chain(server, a.cert)},
			{About: "a certificate that is no longer valid", Pins: onlyA, Chain: chain(past, a.cert)},
			{About: "a certificate that is not valid yet", Pins: onlyA, Chain: chain(future, a.cert)},
			{About: "the pinned authority after another one", Pins: onlyA, Chain: chain(server, b.cert, a.cert)},
			{About: "another cluster", Pins: onlyA, Chain: chain(stranger, b.cert)},
			{About: "a certificate by another authority, with the pinned one appended", Pins: onlyA, Chain: chain(stranger, a.cert)},
			{About: "a certificate with the name of the pinned authority, by another key", Pins: onlyA, Chain: chain(impostor, a.cert)},
			{About: "the authority is missing", Pins: onlyA, Chain: chain(server)},
			{About: "the authority alone", Pins: onlyA, Chain: chain(a.cert)},
			{About: "the certificate of a client", Pins: onlyA, Chain: chain(client, a.cert)},
			{About: "no certificate", Pins: onlyA, Chain: []string{}},
		},
		Tokens: []tokenVector{
			{Text: text},
			{Text: pinless},
			{Text: strings.ToUpper(text)},
			{Text: text + "_"},
			{Text: text[:len(text)-1]},
			{Text: strings.Replace(text, "_17_", "_18_", 1)},
			{Text: strings.Replace(text, "_17_", "_017_", 1)},
			{Text: strings.Replace(text, "_17_", "_0_", 1)},
			{Text: strings.TrimPrefix(text, "snowraft_")},
			{Text: pinless + "_"},
			{Text: " " + pinless},
			{Text: ""},
		},
	}
}

// chain returns certificates as PEM.
func chain(certs ...*x509.Certificate) (all []string) {
	for _, cert := range certs {
		all = append(all, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})))
	}
	return all
}
