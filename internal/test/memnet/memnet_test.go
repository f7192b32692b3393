package memnet_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/memberlist"
	"golang.org/x/net/nettest"

	"github.com/snowraft/snowraft/internal/test/memnet"
)

// ends returns the dialed and the accepted end of a new stream.
func ends(t *testing.T, n *memnet.Network) (dialed, accepted *memnet.Conn) {
	t.Helper()
	l, err := n.Host("10.0.0.2").Listen(t.Context(), "tcp", "10.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d, err := n.Host("10.0.0.1").DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = d.Close(), a.Close() })
	return d.(*memnet.Conn), a.(*memnet.Conn)
}

// The connections keep the contract of net.Conn, in real time.
func TestConnIsANetConn(t *testing.T) {
	t.Parallel()
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		d, a := ends(t, memnet.New())
		return d, a, func() { _, _ = d.Close(), a.Close() }, nil
	})
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	d, a := ends(t, memnet.New())
	if d.RemoteAddr().String() != a.LocalAddr().String() || d.LocalAddr().String() != a.RemoteAddr().String() {
		t.Errorf("%v to %v, and %v to %v", d.LocalAddr(), d.RemoteAddr(), a.LocalAddr(), a.RemoteAddr())
	}
	if at, ok := a.RemoteAddr().(*net.TCPAddr); !ok || at.IP.String() != "10.0.0.1" || at.Port == 0 {
		t.Errorf("the dialer is at %v", a.RemoteAddr())
	}
}

func TestListenAndDialFail(t *testing.T) {
	t.Parallel()
	h := memnet.New().Host("10.0.0.1")
	l, err := h.Listen(t.Context(), "tcp", "10.0.0.1:7700")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Listen(t.Context(), "tcp", "10.0.0.1:7700"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port in use: %v", err)
	}
	for _, address := range []string{"10.0.0.1:7701", "10.0.0.2:7700"} {
		if _, err := h.DialContext(t.Context(), "tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nothing listens at %s: %v", address, err)
		}
	}
	var unknown *net.DNSError
	if _, err := h.DialContext(t.Context(), "tcp", "example.net:7700"); !errors.As(err, &unknown) {
		t.Errorf("a host name: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := h.DialContext(ended, "tcp", "10.0.0.1:7700"); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled context: %v", err)
	}
	waits, err := h.DialContext(t.Context(), "tcp", "10.0.0.1:7700")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := waits.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection that was not accepted: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
	if _, err := h.DialContext(t.Context(), "tcp", "10.0.0.1:7700"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a closed port: %v", err)
	}
	if again, err := h.Listen(t.Context(), "tcp", "10.0.0.1:7700"); err != nil || again.Close() != nil {
		t.Errorf("a port that is free again: %v", err)
	}
}

// A writer waits for a reader only once 64 KiB are unread, and a bubble's time passes meanwhile.
func TestWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, a := ends(t, memnet.New())
		full := make([]byte, 64<<10)
		if n, err := d.Write(full); n != len(full) || err != nil {
			t.Fatalf("Write() = %d, %v", n, err)
		}
		began := time.Now()
		time.AfterFunc(time.Second, func() { _, _ = io.ReadFull(a, make([]byte, 10)) })
		if n, err := d.Write(make([]byte, 10)); n != 10 || err != nil || time.Since(began) != time.Second {
			t.Errorf("Write() beyond the window = %d, %v after %v", n, err, time.Since(began))
		}
		if n, err := a.Write(full); n != len(full) || err != nil {
			t.Errorf("Write() in the other direction = %d, %v", n, err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, a := ends(t, memnet.New())
		began := time.Now()
		_ = d.SetReadDeadline(began.Add(time.Second))
		_ = d.SetReadDeadline(began.Add(2 * time.Second))
		if _, err := d.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("Read() failed after %v with %v", time.Since(began), err)
		}
		_ = d.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := d.Write(make([]byte, 65<<10)); n != 64<<10 || !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != 3*time.Second {
			t.Errorf("Write() = %d, %v after %v", n, err, time.Since(began))
		}
		_ = d.SetDeadline(time.Time{})
		time.AfterFunc(time.Second, func() { _, _ = io.WriteString(a, "x") })
		if n, err := d.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("Read() without a deadline = %d, %v", n, err)
		}
		var late net.Error
		_ = d.SetReadDeadline(time.Unix(1, 0))
		if _, err := d.Read(make([]byte, 1)); !errors.As(err, &late) || !late.Timeout() {
			t.Errorf("Read() after its deadline: %v", err)
		}
	})
}

func TestCloseWrite(t *testing.T) {
	t.Parallel()
	d, a := ends(t, memnet.New())
	_, _ = io.WriteString(d, "question")
	if err := d.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if heard, err := io.ReadAll(a); string(heard) != "question" || err != nil {
		t.Errorf("ReadAll() = %q, %v", heard, err)
	}
	if _, err := io.WriteString(d, "more"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write() after CloseWrite(): %v", err)
	}
	_, _ = io.WriteString(a, "answer")
	_ = a.Close()
	if heard, err := io.ReadAll(d); string(heard) != "answer" || err != nil {
		t.Errorf("ReadAll() = %q, %v", heard, err)
	}
}

// What was written before a Close arrives. The first write after it causes a reset, as with TCP.
func TestCloseWithoutUnreadBytes(t *testing.T) {
	t.Parallel()
	d, a := ends(t, memnet.New())
	_, _ = io.WriteString(a, "last")
	_ = a.Close()
	if heard, err := io.ReadAll(d); string(heard) != "last" || err != nil {
		t.Errorf("ReadAll() = %q, %v", heard, err)
	}
	if n, err := io.WriteString(d, "lost"); n != 4 || err != nil {
		t.Errorf("the first Write() = %d, %v", n, err)
	}
	if _, err := io.WriteString(d, "x"); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the second Write(): %v", err)
	}
	if _, err := d.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("Read(): %v", err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Read() of the closed end: %v", err)
	}
	if err := a.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the second Close(): %v", err)
	}
}

// An end that leaves bytes unread, or that resets the connection, wakes a waiting writer and reader of the other end.
func TestReset(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*memnet.Conn) error{"unread bytes": (*memnet.Conn).Close, "Reset()": (*memnet.Conn).Reset} {
		synctest.Test(t, func(t *testing.T) {
			d, a := ends(t, memnet.New())
			read, written := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := d.Read(make([]byte, 1))
				read <- err
			}()
			go func() {
				_, err := d.Write(make([]byte, 65<<10))
				written <- err
			}()
			synctest.Wait()
			if err := leave(a); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := <-read; !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%s: Read(): %v", name, err)
			}
			if err := <-written; !errors.Is(err, syscall.EPIPE) {
				t.Errorf("%s: Write(): %v", name, err)
			}
		})
	}
}

// Two members of memberlist find each other, exchange packets, and notice that one is gone.
func TestGossip(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := memnet.New()
		member := func(name, ip string) *memberlist.Memberlist {
			t.Helper()
			transport, port, err := n.Host(ip).ListenGossip(ip, 0)
			if err != nil {
				t.Fatal(err)
			}
			cfg := memberlist.DefaultLANConfig()
			cfg.Name, cfg.Transport, cfg.AdvertiseAddr, cfg.AdvertisePort, cfg.LogOutput = name, transport, ip, port, io.Discard
			m, err := memberlist.Create(cfg)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		a, b := member("a", "10.0.0.1"), member("b", "10.0.0.2")
		if _, err := a.Join([]string{b.LocalNode().Address()}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if a.NumMembers() != 2 || b.NumMembers() != 2 {
			t.Errorf("%d and %d members", a.NumMembers(), b.NumMembers())
		}
		_ = b.Shutdown()
		time.Sleep(time.Minute)
		if a.NumMembers() != 1 {
			t.Errorf("%d members after the end of b", a.NumMembers())
		}
		_ = a.Shutdown()
		time.Sleep(time.Minute)
	})
}

// A packet that nothing receives is lost, and one that waits is not changed by its sender.
func TestPackets(t *testing.T) {
	t.Parallel()
	n := memnet.New()
	from, _, err := n.Host("10.0.0.1").ListenGossip("10.0.0.1", 7702)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Shutdown() }()
	to, port, err := n.Host("10.0.0.2").ListenGossip("10.0.0.2", 0)
	if err != nil || port == 0 {
		t.Fatal(port, err)
	}
	packet := []byte("packet")
	address := (&net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: port}).String()
	for _, at := range []string{address, "10.0.0.3:7702"} {
		if _, err := from.WriteTo(packet, at); err != nil {
			t.Error(err)
		}
	}
	clear(packet)
	got := <-to.PacketCh()
	if !bytes.Equal(got.Buf, []byte("packet")) || got.From.String() != "10.0.0.1:7702" || !strings.HasPrefix(got.From.Network(), "udp") {
		t.Errorf("%q from %v", got.Buf, got.From)
	}
	_ = to.Shutdown()
	if _, err := from.DialTimeout(address, time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a stream to a transport that was shut down: %v", err)
	}
}
