//go:build linux

package lab

import "testing"

func TestReserve(t *testing.T) {
	var m machine
	release, ok := m.Reserve()
	if !ok {
		t.Fatal("Reserve() of a free machine failed")
	}
	if _, ok := m.Reserve(); ok {
		t.Fatal("Reserve() of a reserved machine succeeded")
	}
	release()
	again, ok := m.Reserve()
	if !ok {
		t.Fatal("Reserve() of a released machine failed")
	}
	release() // second call, must not release the new reservation
	if _, ok := m.Reserve(); ok {
		t.Fatal("an earlier caller released the new reservation")
	}
	again()
}
