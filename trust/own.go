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
	now               atomic.Pointer[ownPair]
}

type ownPair struct {
	certPEM, keyPEM []byte
	cert            tls.Certificate
}

// LoadOwnCertificate reads a certificate and its key from PEM files.
func LoadOwnCertificate(certFile, keyFile string) (*OwnCertificate, error) {
	o := &OwnCertificate{certFile: certFile, keyFile: keyFile}
	if _, err := o.Reload(); err != nil {
		return nil, err
	}
	return o, nil
}

// Reload reads the files again and reports whether the certificate changed. An error, such as between the changes of
// the two files, leaves the certificate unchanged.
func (o *OwnCertificate) Reload() (changed bool, err error) {
	pair := &ownPair{}
	if pair.certPEM, err = readFile(o.certFile); err != nil {
		return false, fmt.Errorf("certificate %q: cannot be read: %w", o.certFile, err)
	}
	if pair.keyPEM, err = readFile(o.keyFile); err != nil {
		return false, fmt.Errorf("key %q: cannot be read: %w", o.keyFile, err)
	}
	old := o.now.Load()
	if old != nil && bytes.Equal(old.certPEM, pair.certPEM) && bytes.Equal(old.keyPEM, pair.keyPEM) {
		return false, nil
	}
	if pair.cert, err = tls.X509KeyPair(pair.certPEM, pair.keyPEM); err != nil {
		return false, fmt.Errorf("certificate %q with key %q: %w", o.certFile, o.keyFile, err)
	}
	o.now.Store(pair)
	return true, nil
}

// NotAfter returns the end of the certificate's validity. Only clients check it; an expired certificate stops
// nothing here.
func (o *OwnCertificate) NotAfter() time.Time { return o.now.Load().cert.Leaf.NotAfter }
