// Package accept accepts the connections of a listener. Its only function is [Each].
package accept

import (
	"errors"
	"net"
	"time"
)

// Pauses after a failure to accept.
const (
	minPause = 5 * time.Millisecond
	maxPause = time.Second
)

// Each calls serve with each connection of l. It returns nil once stop is closed and l fails, and the error of l if another
// party closed l. Other errors of a listener are due to a lack of files or memory: Each calls failed with the error and the
// pause before the next attempt.
func Each(l net.Listener, stop <-chan struct{}, serve func(net.Conn), failed func(err error, pause time.Duration)) error {
	pause := minPause
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = minPause
			serve(nc)
			continue
		}
		select {
		case <-stop:
			return nil
		default:
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		failed(err, pause)
		select {
		case <-time.After(pause):
		case <-stop:
			return nil
		}
		pause = min(2*pause, maxPause)
	}
}
