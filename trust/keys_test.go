package trust

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// write replaces a secret file.
func write(t *testing.T, path string, secrets ...Secret) {
	t.Helper()
	var content strings.Builder
	for _, s := range secrets {
		content.WriteString(s.Line() + "\n")
	}
	if err := os.WriteFile(path, []byte(content.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// openFile returns the keys of a new secret file.
func openFile(t *testing.T, secrets ...Secret) (*Keys, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	write(t, path, secrets...)
	k, err := OpenKeys(path)
	if err != nil {
		t.Fatal(err)
	}
	return k, path
}

func changed(k <-chan struct{}) bool {
	select {
	case <-k:
		return true
	default:
		return false
	}
}

func TestKeysReload(t *testing.T) {
	t.Parallel()
	older, newer := fixed(1), fixed(2)
	k, path := openFile(t, older)
	authority := k.Authorities()[0]
	for _, step := range []struct {
		file    []Secret
		signing Secret
		changed bool
	}{
		{[]Secret{older}, older, false},
		{[]Secret{newer, older}, older, true}, // a new file alone does not change the signing secret
		{[]Secret{older, newer}, older, true},
		{[]Secret{newer}, newer, true},
		{[]Secret{newer, older}, newer, true},
	} {
		write(t, path, step.file...)
		change := k.Changed()
		got, err := k.Reload()
		if err != nil || got != step.changed || changed(change) != step.changed {
			t.Errorf("file %v: Reload() = %t, %v, want %t", step.file, got, err, step.changed)
		}
		if !slices.EqualFunc(k.All(), step.file, Secret.Equal) || !k.Signing().Equal(step.signing) {
			t.Errorf("file %v: keys %v, signing %v, want %v", step.file, k, k.Signing(), step.signing)
		}
		if at := slices.IndexFunc(step.file, older.Equal); at >= 0 && step.signing.Equal(older) && k.Authorities()[at] != authority {
			t.Errorf("file %v: the authority was derived again", step.file)
		}
	}
	for _, wrong := range []string{"", "x", older.Line()[:40]} {
		if err := os.WriteFile(path, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		change := k.Changed()
		if got, err := k.Reload(); err == nil || got || changed(change) || len(k.All()) != 2 {
			t.Errorf("a wrong file: Reload() = %t, %v, keys %v", got, err, k)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Reload(); err == nil || len(k.All()) != 2 {
		t.Errorf("no file: Reload() = %v, keys %v", err, k)
	}
}

func TestKeysSign(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1), fixed(2))
	change := k.Changed()
	if k.Sign(fixed(3).Fingerprint()) || !k.Sign(fixed(1).Fingerprint()) || changed(change) {
		t.Error("Sign of an unknown secret, or of the signing one, changes something")
	}
	if !k.Sign(fixed(2).Fingerprint()) || !changed(change) || !k.Signing().Equal(fixed(2)) {
		t.Errorf("signing %v after Sign of the second", k.Signing())
	}
	if k.Fingerprints()[0] != fixed(1).Fingerprint() {
		t.Error("Sign changes the order")
	}
}

func TestKeysNeedSecrets(t *testing.T) {
	t.Parallel()
	if _, err := NewKeys(); err == nil {
		t.Error("no error without a secret")
	}
	if _, err := NewKeys(fixed(1), fixed(2), fixed(3), fixed(4), fixed(5)); err == nil {
		t.Error("no error with five secrets")
	}
}

// The side that drops a secret closes the connections that it verified with the secret, and no others.
func TestReloadClosesConnections(t *testing.T) {
	t.Parallel()
	older, newer := fixed(1), fixed(2)
	for name, droppedByServer := range map[string]bool{"server": true, "client": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, path := openFile(t, older, newer)
			server, clients := k, [2]*Keys{keysOf(t, older), keysOf(t, newer)}
			raw := listen(t)
			if !droppedByServer {
				server, clients = keysOf(t, older, newer), [2]*Keys{k, k}
			}
			s := serve(t, server.MemberServer("a"), server.Listener(raw))
			api := serve(t, ServerTLS{Keys: server, MemberID: "a", Now: time.Now}.Config(), server.Listener(listen(t)))
			var conns [2][]net.Conn
			for i, client := range clients {
				client.Sign([]Secret{older, newer}[i].Fingerprint())
				for _, addr := range []string{s.addr, api.addr} {
					conn, err := net.Dial("tcp", addr)
					if err != nil {
						t.Fatal(err)
					}
					secured, err := client.ConnectMember(t.Context(), conn, "b", "a")
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = secured.Close() }()
					if err := echo(secured); err != nil {
						t.Fatal(err)
					}
					conns[i] = append(conns[i], secured)
				}
			}
			token, err := ClientTLS{CA: older.Authority().PEM()}.Config()
			if err != nil {
				t.Fatal(err)
			}
			anyone, err := tls.Dial("tcp", api.addr, token)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = anyone.Close() }()
			write(t, path, newer)
			if _, err := k.Reload(); err != nil {
				t.Fatal(err)
			}
			if err := echo(anyone); err != nil {
				t.Errorf("the connection without a client certificate: %v", err)
			}
			for i := range conns[0] {
				if err := echo(conns[0][i]); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection of the removed secret: %v, want an end", err)
				}
				if err := echo(conns[1][i]); err != nil {
					t.Errorf("the connection of the secret that stays: %v", err)
				}
			}
		})
	}
}

func TestClosedConnectionsAreForgotten(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	s := serve(t, k.MemberServer("a"), k.Listener(listen(t)))
	for range 3 {
		conn, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		secured, err := k.ConnectMember(t.Context(), conn, "b", "a")
		if err != nil {
			t.Fatal(err)
		}
		_ = secured.Close()
		ended(t, conn)
	}
	here, _ := net.Pipe()
	late := k.Track(here)
	_ = late.Close()
	k.bind(late, fixed(1).Fingerprint())
	deadline := time.After(patience)
	for {
		k.conns.mu.Lock()
		left := len(k.conns.conns)
		k.conns.mu.Unlock()
		if left == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d connections are kept", left)
		case <-time.After(time.Millisecond):
		}
	}
}

// A handshake that ends just after the removal of its secret must not leave an open connection.
func TestConnectionOfRemovedSecretIsClosed(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	here, there := net.Pipe()
	k.bind(k.Track(here), fixed(2).Fingerprint())
	ended(t, there)
}

func TestConnectMemberClosesFailedConnection(t *testing.T) {
	t.Parallel()
	k := keysOf(t, fixed(1))
	s := serve(t, keysOf(t, fixed(2)).MemberServer("a"), nil)
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.ConnectMember(t.Context(), conn, "b", "a"); err == nil {
		t.Fatal("a stranger passes")
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("the connection is open")
	}
}

// fakeFile returns to each Reload the value that the test sends.
type fakeFile chan reloaded

type reloaded struct {
	changed bool
	err     error
}

func (f fakeFile) Reload() (bool, error) {
	r := <-f
	return r.changed, r.err
}

func TestWatchReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		file, hup, reports := make(fakeFile), make(chan int), make(chan error, 10)
		go Watch(ctx, file, WatchInterval, hup, func(err error) { reports <- err })
		step := func(changed bool, err error, want int) {
			t.Helper()
			file <- reloaded{changed, err}
			synctest.Wait()
			if len(reports) != want {
				t.Fatalf("%d reports, want %d", len(reports), want)
			}
			if want > 0 {
				if got := <-reports; got != err { //nolint:errorlint // the same value
					t.Errorf("reported %v, want %v", got, err)
				}
			}
		}
		start := time.Now()
		step(false, nil, 0)
		step(true, nil, 1)
		step(false, os.ErrNotExist, 1)
		step(false, os.ErrNotExist, 0)
		step(false, os.ErrPermission, 1)
		step(false, nil, 0)
		step(false, os.ErrPermission, 1)
		if passed := time.Since(start); passed != 7*WatchInterval {
			t.Errorf("7 checks took %v", passed)
		}
		hup <- 1
		step(true, nil, 1)
		if passed := time.Since(start); passed != 7*WatchInterval {
			t.Errorf("the check after a signal came %v later", passed)
		}
		end()
	})
}
