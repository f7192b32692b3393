package transport

import (
	"net"
	"testing"
	"time"

	"github.com/snowraft/snowraft/internal/slots"
	"github.com/snowraft/snowraft/internal/test/clusterkit"
)

// A used connection stays. Of the others, the connection that has been silent longest is closed.
func TestSilentConnectionsMakeWay(t *testing.T) {
	t.Parallel()
	at := slots.New(2, 2)
	var near, far [3]net.Conn
	for i := range near {
		near[i], far[i] = net.Pipe()
		defer far[i].Close()
	}
	first, ok := takeSlot(near[0], at)
	if !ok {
		t.Fatal("no place for the first")
	}
	if _, ok := takeSlot(near[1], at); !ok {
		t.Fatal("no place for the second")
	}
	go func() { _, _ = far[0].Write([]byte("x")) }()
	if _, err := first.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	third, ok := takeSlot(near[2], at)
	if !ok {
		t.Fatal("no place for the third")
	}
	defer third.Close()
	_ = far[1].SetReadDeadline(time.Now().Add(clusterkit.Patience))
	if _, err := far[1].Read(make([]byte, 1)); err == nil || err.Error() != "EOF" {
		t.Errorf("the silent connection: %v, want its end", err)
	}
	go func() { _, _ = far[0].Write([]byte("x")) }()
	if _, err := first.Read(make([]byte, 1)); err != nil {
		t.Errorf("the connection that is used: %v", err)
	}
}
