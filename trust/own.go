package trust

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"
)

// OwnCertificate is the operator's custom certificate for the clients of a process. Reload reads its files again.
type OwnCertificate struct {
	certFile, keyFile string
	clock             func() time.Time
	now               atomic.Pointer[ownPair]
	problem           atomic.Pointer[string]
}

type ownPair struct {
	certPEM, keyPEM []byte
	cert            tls.Certificate
}

// valid reports whether clients accept the certificate at a time.
func (p *ownPair) valid(at time.Time) bool {
	return !at.Before(p.cert.Leaf.NotBefore) && !at.After(p.cert.Leaf.NotAfter)
}

// LoadOwnCertificate reads a certificate and its key from PEM files. It also accepts a certificate that has expired.
func LoadOwnCertificate(certFile, keyFile string, clock func() time.Time) (*OwnCertificate, error) {
	o := &OwnCertificate{certFile: certFile, keyFile: keyFile, clock: clock}
	if _, err := o.Reload(); err != nil {
		return nil, err
	}
	return o, nil
}

// Reload reads the files again and reports whether the certificate changed. An error, such as between the changes of
// the two files, leaves the certificate unchanged. A certificate that is not valid now does not replace a valid one.
func (o *OwnCertificate) Reload() (changed bool, err error) {
	pair, err := o.read()
	text := ""
	if err != nil {
		text = err.Error()
	}
	o.problem.Store(&text)
	if pair == nil {
		return false, err
	}
	o.now.Store(pair)
	return true, nil
}

// read returns what the files hold; nil if the present certificate stays.
func (o *OwnCertificate) read() (pair *ownPair, err error) {
	pair = &ownPair{}
	if pair.certPEM, err = readFile(o.certFile); err != nil {
		return nil, fmt.Errorf("certificate %q: cannot be read: %w", o.certFile, err)
	}
	if pair.keyPEM, err = readFile(o.keyFile); err != nil {
		return nil, fmt.Errorf("key %q: cannot be read: %w", o.keyFile, err)
	}
	old := o.now.Load()
	if old != nil && bytes.Equal(old.certPEM, pair.certPEM) && bytes.Equal(old.keyPEM, pair.keyPEM) {
		return nil, nil
	}
	if pair.cert, err = tls.X509KeyPair(pair.certPEM, pair.keyPEM); err != nil {
		return nil, fmt.Errorf("certificate %q with key %q: %w", o.certFile, o.keyFile, err)
	}
	if at := o.clock(); old != nil && old.valid(at) && !pair.valid(at) {
		leaf := pair.cert.Leaf
		return nil, fmt.Errorf("certificate %q: valid only from %s to %s", o.certFile,
			leaf.NotBefore.UTC().Format(time.RFC3339), leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return pair, nil
}

// Problem returns the error of the last Reload; empty without one.
func (o *OwnCertificate) Problem() string { return *o.problem.Load() }

// NotAfter returns the end of the certificate's validity. Only clients check it; an expired certificate stops
// nothing here.
func (o *OwnCertificate) NotAfter() time.Time { return o.now.Load().cert.Leaf.NotAfter }
