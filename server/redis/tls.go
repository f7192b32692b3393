package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"time"
)

const (
	// handshakeTimeout bounds a TLS handshake.
	handshakeTimeout = 10 * time.Second
	// tlsRecord is the first byte of a TLS connection. No command begins with it.
	tlsRecord = 0x16
)

// handshake performs the TLS handshake of a TLS connection.
func (c *conn) handshake() error {
	secured, ok := c.net.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.s.Lasts, handshakeTimeout)
	defer cancel()
	err := secured.HandshakeContext(ctx)
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil {
		if c.s.strange.Allow() {
			c.s.cfg.Logger.Info("connection of Redis client without TLS rejected", "client", c.net.RemoteAddr())
		}
		_, _ = plain.Conn.Write([]byte("-ERR this port speaks TLS only; connect with TLS, for example redis-cli --tls\r\n"))
	}
	return err
}
