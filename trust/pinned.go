package trust

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// parseCertificates returns the certificates of a PEM text, which may be empty.
func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("CA: PEM block of type %q: expected CERTIFICATE", block.Type)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("CA: %w", err)
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 && len(text) > 0 {
		return nil, errors.New("CA: no certificate in PEM found")
	}
	return certs, nil
}

// pinned returns the configuration of a client that trusts the authorities with these pins.
func pinned(pins []string) *tls.Config {
	slices.Sort(pins)
	pins = slices.Compact(pins)
	config := base(tls.VersionTLS13)
	config.ServerName = strings.Join(pins[:min(len(pins), maxSecrets)], pinSeparator)
	config.InsecureSkipVerify = true // VerifyConnection verifies, without a clock and by pin
	config.VerifyConnection = func(state tls.ConnectionState) error {
		chain := state.PeerCertificates
		if len(chain) == 0 {
			return errNoCertificate
		}
		for _, ca := range chain[1:] {
			if !slices.Contains(pins, pinOf(ca)) {
				continue
			}
			pool := x509.NewCertPool()
			pool.AddCert(ca)
			return issued(chain[0], pool, x509.ExtKeyUsageServerAuth)
		}
		_, err := verify(chain, nil, x509.ExtKeyUsageServerAuth)
		return err
	}
	return config
}
