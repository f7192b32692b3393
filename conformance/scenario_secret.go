package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rotated replaces a secret in its own cluster, whose members show the operator's certificate to clients without a pin.
func rotated(ctx context.Context, p *player) (err error) {
	c := &cluster{program: p.open.program, dir: filepath.Join(p.dir, p.unique("cluster"))}
	for _, name := range memberNames {
		c.members = append(c.members, &process{name: name, host: loopback, port: p.ports.take(4)})
	}
	cert, err := selfSigned()
	if err != nil {
		return err
	}
	ca, key := c.dir+".crt", c.dir+".key"
	if err := writeCertificate(cert, ca, key); err != nil {
		return err
	}
	c.flags = []string{"--tls-cert", ca, "--tls-key", key}
	if err := c.begin(ctx, true); err != nil {
		return err
	}
	defer c.stop()
	old, err := c.token(ctx, "app", "ids:issue:default")
	if err != nil {
		return err
	}
	bare := old[:strings.LastIndex(old, "_")]
	open := func(client string, with args) error {
		with["client"], with["addresses"], with["timeout_ms"] = client, c.addresses(), 5000
		return p.call("open", with, nil)
	}
	serves := func(clients ...string) (err error) {
		for _, client := range clients {
			_, problem := p.take("ids", args{"client": client}, 10)
			err = errors.Join(err, problem)
		}
		return err
	}
	if err := errors.Join(open("old", args{"token": old}), open("ca", args{"token": bare, "ca": ca}), serves("old", "ca")); err != nil {
		return fmt.Errorf("with one secret: %w", err)
	}

	first, second, err := c.sign(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(open("again", args{"token": old}), open("new", args{"token": bare + "_" + second.Pin}), serves("old", "again", "new", "ca")); err != nil {
		return fmt.Errorf("while members know both secrets: %w", err)
	}
	if err := c.restart(ctx); err != nil {
		return err
	}
	if err := serves("old", "again", "new", "ca"); err != nil {
		return fmt.Errorf("after members that know both secrets restarted: %w", err)
	}
	if err := c.needed(ctx, first.Fingerprint); err != nil {
		return err
	}

	if err := c.replace(second.line); err != nil {
		return err
	}
	if _, err := c.secrets(ctx, 1, func(s secret) bool { return len(s.KnownBy) == len(c.members) }); err != nil {
		return err
	}
	// A client that is connected notices only at its next connection.
	refused := func(client string) error {
		_, err := p.refused("ids", args{"client": client, "count": 1}, "PIN_MISMATCH", "UNAVAILABLE", "TIMEOUT")
		return err
	}
	if err := errors.Join(open("late", args{"token": old}), refused("late"), c.restart(ctx), refused("old"), refused("again")); err != nil {
		return fmt.Errorf("with the pin of the removed secret: %w", err)
	}
	if err := errors.Join(serves("new", "ca"), p.unheard(old, cert)); err != nil {
		return fmt.Errorf("after the old secret was removed: %w", err)
	}
	return nil
}

// secret is a line of the file, and what members report of it.
type secret struct {
	line        []byte
	Fingerprint string   `json:"fingerprint"`
	Pin         string   `json:"pin"`
	KnownBy     []string `json:"knownBy"`
	SignedBy    []string `json:"signedBy"`
	NeededBy    []struct {
		Host string `json:"host"`
	} `json:"neededBy"`
}

// sign adds a secret to the file, and moves it to the top once all members know both. It returns when all sign with it.
func (c *cluster) sign(ctx context.Context) (first, second secret, err error) {
	if first.line, err = os.ReadFile(c.secret); err != nil {
		return first, second, err
	}
	if _, err := c.command(ctx, "secret", "create", "--out", c.secret+".new"); err != nil {
		return first, second, err
	}
	if second.line, err = os.ReadFile(c.secret + ".new"); err != nil {
		return first, second, err
	}
	if err := c.replace(first.line, second.line); err != nil {
		return first, second, err
	}
	known, err := c.secrets(ctx, 2, func(s secret) bool { return len(s.KnownBy) == len(c.members) })
	if err != nil {
		return first, second, err
	}
	first.Fingerprint, second.Pin = known[0].Fingerprint, known[1].Pin
	if err := c.replace(second.line, first.line); err != nil {
		return first, second, err
	}
	_, err = c.secrets(ctx, 2, func(s secret) bool { return s.Pin != second.Pin || len(s.SignedBy) == len(c.members) })
	return first, second, err
}

// replace replaces the secrets of all members.
func (c *cluster) replace(lines ...[]byte) error {
	if err := os.WriteFile(c.secret+".next", slices.Concat(lines...), 0o600); err != nil { //nolint:gosec // a file of this suite
		return err
	}
	return os.Rename(c.secret+".next", c.secret)
}

// needed waits until a member reports that a client needs a secret.
func (c *cluster) needed(ctx context.Context, fingerprint string) error {
	_, err := c.secrets(ctx, 2, func(s secret) bool { return s.Fingerprint != fingerprint || len(s.NeededBy) > 0 })
	return err
}

// secrets waits until there are count secrets in the order of the file, each as wanted.
func (c *cluster) secrets(ctx context.Context, count int, wanted func(secret) bool) (all []secret, err error) {
	err = eventually(ctx, func() error {
		out, err := c.admin(ctx, "secret", "list", "-o", "json")
		if err != nil {
			return err
		}
		var list struct {
			Secrets []secret `json:"secrets"`
		}
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			return err
		}
		all = list.Secrets
		if len(all) != count || slices.ContainsFunc(all, func(s secret) bool { return !wanted(s) }) {
			return fmt.Errorf("secrets %+v", all)
		}
		return nil
	})
	return all, err
}

// restart restarts all members, which ends the connections of clients.
func (c *cluster) restart(ctx context.Context) error {
	c.stop()
	for _, m := range c.members {
		if err := c.start(m); err != nil {
			return err
		}
	}
	return c.ready(ctx)
}

// writeCertificate writes a certificate and its key as PEM.
func writeCertificate(cert *tls.Certificate, certFile, keyFile string) error {
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600),
	)
}
