package clock

import "golang.org/x/sys/unix"

// Unsynchronised reports whether the kernel says that no service such as NTP keeps its clock.
func Unsynchronised() bool {
	var t unix.Timex // without modes, Adjtimex only reads
	_, err := unix.Adjtimex(&t)
	return err == nil && t.Status&unix.STA_UNSYNC != 0
}
