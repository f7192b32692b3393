// Package sdnotify reports the state of this process to the service manager that started it. It uses the protocol of
// sd_notify(3), which systemd and some container runtimes support: datagrams of variables to a Unix socket. The main
// type is [Manager].
package sdnotify

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// The variables of the protocol.
const (
	socketVariable      = "NOTIFY_SOCKET"
	watchdogVariable    = "WATCHDOG_USEC"
	watchdogPIDVariable = "WATCHDOG_PID"
)

// State is a variable that the manager receives.
type State string

// The states of a service.
const (
	Ready    State = "READY=1"
	Stopping State = "STOPPING=1"
	Watchdog State = "WATCHDOG=1"
)

// maxStatus bounds a status in bytes. A manager ignores datagrams of more than 4096 bytes.
const maxStatus = 1024

// Status returns a state with a status line for people. It joins the lines of text and cuts the result to 1024 bytes.
func Status(text string) State {
	text = strings.Join(strings.Fields(text), " ") // a line break would begin another variable
	return State("STATUS=" + strings.ToValidUTF8(text[:min(len(text), maxStatus)], ""))
}

// sendTimeout bounds the wait for a manager that does not read.
const sendTimeout = 5 * time.Second

// Manager is the service manager of this process. It is safe for concurrent use. The methods of a nil Manager have no
// effect.
type Manager struct {
	socket   net.UnixAddr
	watchdog time.Duration
}

// Inherit returns the service manager that the environment names, with the results of [Open]. It removes the
// variables from the environment, so that a program that this process starts does not report in its place.
func Inherit() (*Manager, error) {
	m, err := Open(os.Getenv, os.Getpid())
	for _, name := range []string{socketVariable, watchdogVariable, watchdogPIDVariable} {
		_ = os.Unsetenv(name) // fails only for impossible names
	}
	return m, err
}

// Open returns the service manager that an environment names for the process pid; nil if it names none. An error
// names the invalid variable. If only the time of the watchdog is invalid, the result is a Manager without a watchdog
// and an error.
func Open(env func(name string) string, pid int) (*Manager, error) {
	path := env(socketVariable)
	if path == "" {
		return nil, nil
	}
	if path[0] != '/' && path[0] != '@' { // "@" begins the name of an abstract socket
		return nil, fmt.Errorf("%s %q: expected an absolute path or an abstract socket", socketVariable, path)
	}
	m := &Manager{socket: net.UnixAddr{Net: "unixgram", Name: path}}
	micros := env(watchdogVariable)
	if of := env(watchdogPIDVariable); micros == "" || (of != "" && of != strconv.Itoa(pid)) {
		return m, nil
	}
	const most = uint64(1<<63-1) / uint64(time.Microsecond)
	n, err := strconv.ParseUint(micros, 10, 64)
	if err != nil || n == 0 || n > most {
		return m, fmt.Errorf("%s %q: expected a number of microseconds", watchdogVariable, micros)
	}
	m.watchdog = time.Duration(n) * time.Microsecond
	return m, nil
}

// Watchdog returns the time after which the manager restarts a process that does not send [Watchdog]; 0 means never.
func (m *Manager) Watchdog() time.Duration {
	if m == nil {
		return 0
	}
	return m.watchdog
}

// Notify sends states in one datagram. It waits at most 5 s for a manager that does not read.
func (m *Manager) Notify(states ...State) error {
	if m == nil {
		return nil
	}
	lines := make([]string, len(states))
	for i, s := range states {
		lines[i] = string(s)
	}
	conn, err := net.DialUnix(m.socket.Net, nil, &m.socket)
	if err != nil {
		return fmt.Errorf("notify service manager: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return fmt.Errorf("notify service manager: %w", err)
	}
	if _, err := conn.Write([]byte(strings.Join(lines, "\n"))); err != nil {
		return fmt.Errorf("notify service manager: %w", err)
	}
	return nil
}
