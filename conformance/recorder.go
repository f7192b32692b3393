package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"sync"
	"time"
)

// recorder is a server that records what clients send: an impostor with a certificate of its own, or one without TLS.
type recorder struct {
	address string
	listens net.Listener
	answer  []byte // to each request

	mu   sync.Mutex
	seen bytes.Buffer
}

// listen returns a listener at a free port, which is one above another one that stays free.
func listen(p *ports) (net.Listener, error) {
	var err error
	for range 20 {
		var l net.Listener
		if l, err = net.Listen("tcp", at(p.take(2)+1)); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// record starts a recorder with a certificate, or without TLS.
func (s *suite) record(cert *tls.Certificate) (*recorder, error) {
	l, err := listen(s.ports)
	if err != nil {
		return nil, err
	}
	r := &recorder{address: l.Addr().String(), listens: l}
	body := []byte("{}")
	if cert != nil {
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
		if body, err = json.Marshal(map[string]string{"ca": string(ca)}); err != nil {
			return nil, err
		}
		r.listens = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12})
	}
	r.answer = fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	go r.accept()
	return r, nil
}

// selfSigned returns a certificate for loopback, which is a CA too.
func selfSigned() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "operator"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func (r *recorder) accept() {
	for {
		c, err := r.listens.Accept()
		if err != nil {
			return
		}
		go r.read(c)
	}
}

// read records the bytes of a client, and answers each part with the CA of the impostor.
func (r *recorder) read(c net.Conn) {
	defer func() { _ = c.Close() }()
	buf := make([]byte, 16<<10)
	for {
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		n, err := c.Read(buf)
		r.mu.Lock()
		r.seen.Write(buf[:n])
		r.mu.Unlock()
		if err != nil {
			return
		}
		_, _ = c.Write(r.answer)
	}
}

// heard reports whether a client sent a text.
func (r *recorder) heard(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Contains(r.seen.Bytes(), []byte(text))
}
