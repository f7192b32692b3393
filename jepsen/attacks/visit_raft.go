package attacks

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"

	"github.com/snowraft/snowraft/trust"
)

// raftHandshake shakes hands as a member of another cluster, without TLS.
func (v visit) raftHandshake(ctx context.Context) {
	for range v.some(10) {
		from := stranger()
		from.Cluster = stranger().ID
		conn, err := greet(v.from(ctx), v.Target.Raft, from, stranger().ID)
		if err == nil {
			_ = conn.Close()
		}
	}
}

// raftSecret shakes hands over TLS as a member with another secret, on the Raft port or on the API port.
func (v visit) raftSecret(ctx context.Context) {
	address := v.Target.Raft
	if v.IntN(4) == 0 {
		address = v.API
	}
	from := stranger()
	config, err := ofAnotherSecret(from.ID)
	if err != nil {
		return
	}
	hello, err := json.Marshal(map[string]any{"from": from, "to": stranger().ID})
	if err != nil {
		return
	}
	for range v.some(10) {
		conn, err := dial(v.from(ctx), "tcp", address)
		if err != nil {
			return
		}
		over := tls.Client(conn, config)
		if over.HandshakeContext(ctx) == nil {
			_, _ = over.Write(framed(hello))
			_, _ = io.Copy(io.Discard, over)
		}
		_ = conn.Close()
	}
}

// ofAnotherSecret returns the TLS configuration of a member that has another secret. It presents its certificate to any
// server, and accepts the certificate of any server.
func ofAnotherSecret(id string) (*tls.Config, error) {
	secret := trust.NewSecret()
	keys, err := trust.NewKeys(secret)
	if err != nil {
		return nil, err
	}
	config := keys.MemberClient(id)
	config.VerifyConnection = nil
	own, certificate := secret.Authority().Certificate().RawSubject, config.GetClientCertificate
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return certificate(&tls.CertificateRequestInfo{AcceptableCAs: [][]byte{own}})
	}
	return config, nil
}
