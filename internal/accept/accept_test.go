package accept_test

import (
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/accept"
)

var errFiles = errors.New("too many open files")

// listener returns one result per call of Accept; nil is a connection.
type listener struct {
	net.Listener
	results []error
	end     func() // called before the last result
}

func (l *listener) Accept() (net.Conn, error) {
	next := l.results[0]
	if l.results = l.results[1:]; len(l.results) == 0 {
		l.end()
	}
	return nil, next
}

func TestEachPausesAfterFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop, served := make(chan struct{}), 0
		l := &listener{results: slices.Concat(slices.Repeat([]error{errFiles}, 10), []error{nil, errFiles, nil, errFiles}), end: func() { close(stop) }}
		var pauses []time.Duration
		began := time.Now()
		err := accept.Each(l, stop, func(net.Conn) { served++ }, func(err error, pause time.Duration) {
			if !errors.Is(err, errFiles) {
				t.Errorf("failed with %v, want %v", err, errFiles)
			}
			pauses = append(pauses, pause)
		})
		if err != nil || served != 2 {
			t.Errorf("Each() = %v after %d connections, want nil after 2", err, served)
		}
		ms := time.Millisecond
		want := []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms, 160 * ms, 320 * ms, 640 * ms, time.Second, time.Second, 5 * ms}
		if !slices.Equal(pauses, want) {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
		var all time.Duration
		for _, pause := range want {
			all += pause
		}
		if took := time.Since(began); took != all {
			t.Errorf("Each() took %v, want %v", took, all)
		}
	})
}

func TestEachReturnsErrorOfClosedListener(t *testing.T) {
	t.Parallel()
	l := &listener{results: []error{net.ErrClosed}, end: func() {}}
	err := accept.Each(l, nil, nil, func(err error, _ time.Duration) { t.Errorf("retried after %v", err) })
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("Each() = %v, want %v", err, net.ErrClosed)
	}
}

// A stop ends the pause.
func TestEachStopsDuringPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		l := &listener{results: []error{errFiles}, end: func() {}}
		began := time.Now()
		if err := accept.Each(l, stop, nil, func(error, time.Duration) { close(stop) }); err != nil {
			t.Errorf("Each() = %v, want nil", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Each() took %v after the stop, want 0", took)
		}
	})
}
