package cluster

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"slices"

	"github.com/snowraft/snowraft/cluster/peer"
)

// memberProtocol is the protocol that a member announces (ALPN) when it connects to a Raft port with TLS. Any other program,
// such as a client with a wrong port, announces another protocol or none.
const memberProtocol = "snowraft-raft"

// announced returns a configuration of a server that finds out whether the client announces itself as a member.
func announced(config *tls.Config) (_ *tls.Config, member *bool) {
	member = new(bool)
	choose := config.GetConfigForClient
	config.GetConfigForClient = func(client *tls.ClientHelloInfo) (*tls.Config, error) {
		*member = slices.Contains(client.SupportedProtos, memberProtocol)
		return choose(client)
	}
	return config, member
}

// announces reports whether a TLS client announces itself as a member to a node without a secret. head are the bytes of the
// client that were read before.
func announces(conn net.Conn, head []byte) bool {
	config, member := announced(&tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return nil, peer.ErrEncrypts
	}})
	_ = tls.Server(heardBefore{conn, io.MultiReader(bytes.NewReader(head), conn)}, config).Handshake() // fails, because there is no certificate
	return *member
}

// heardBefore is a connection with another source of what it reads.
type heardBefore struct {
	net.Conn
	from io.Reader
}

func (h heardBefore) Read(b []byte) (int, error) { return h.from.Read(b) }
