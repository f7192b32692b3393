package cluster

import (
	"net"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/places"
)

// A used connection stays. Of the others, the connection that has been silent longest is closed.
func TestSilentConnectionsMakeWay(t *testing.T) {
	t.Parallel()
	at := places.New(2, 2)
	var near, far [3]net.Conn
	for i := range near {
		near[i], far[i] = net.Pipe()
		defer far[i].Close()
	}
	first, ok := seated(near[0], at)
	if !ok {
		t.Fatal("no place for the first")
	}
	if _, ok := seated(near[1], at); !ok {
		t.Fatal("no place for the second")
	}
	go func() { _, _ = far[0].Write([]byte("x")) }()
	if _, err := first.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	third, ok := seated(near[2], at)
	if !ok {
		t.Fatal("no place for the third")
	}
	defer third.Close()
	_ = far[1].SetReadDeadline(time.Now().Add(patience))
	if _, err := far[1].Read(make([]byte, 1)); err == nil || err.Error() != "EOF" {
		t.Errorf("the silent connection: %v, want its end", err)
	}
	go func() { _, _ = far[0].Write([]byte("x")) }()
	if _, err := first.Read(make([]byte, 1)); err != nil {
		t.Errorf("the connection that is used: %v", err)
	}
}

func TestIndirectPingsAreBounded(t *testing.T) {
	t.Parallel()
	var b bucket
	now := time.Unix(1000, 0)
	for i := range 2 * maxIndirect {
		if got := b.spend(1, now); got != (i < maxIndirect) {
			t.Fatalf("spend() = %t for number %d", got, i+1)
		}
	}
	if !b.spend(0, now) || b.spend(1, now) || !b.spend(1, now.Add(1001*time.Millisecond)) {
		t.Error("other messages are refused, or the next second's")
	}
}
