//go:build linux

package lab

import "testing"

func TestReserve(t *testing.T) {
	var m machine
	release, ok := m.Reserve()
	if !ok {
		t.Fatal("nobody has it")
	}
	if _, ok := m.Reserve(); ok {
		t.Fatal("it was reserved twice")
	}
	release()
	again, ok := m.Reserve()
	if !ok {
		t.Fatal("it was released")
	}
	release() // is over, and releases nobody else's
	if _, ok := m.Reserve(); ok {
		t.Fatal("it was released by who had it before")
	}
	again()
}
