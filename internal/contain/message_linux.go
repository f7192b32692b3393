package contain

import (
	"encoding/json"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/snowraft/snowraft/internal/deadline"
)

// The files of a guard: the orders of its starter, and its reports.
const (
	ordersFile  = 3
	reportsFile = 4
)

// order is a message to the guard. The first one has all settings.
type order struct {
	Means      means
	Rules      *deadline.Rules `json:",omitempty"` // the window and its margins from now on
	Signal     unix.Signal     `json:",omitempty"` // passed on to the command
	Stop       bool            `json:",omitempty"` // end the command as at the end of its window
	Continue   bool            `json:",omitempty"` // continue the stopped command, if its window has not ended
	Foreground bool            `json:",omitempty"` // give the terminal to the command
}

// Report is a message of the guard.
type Report struct {
	Ready   bool        `json:",omitempty"` // the containment works
	Failure string      `json:",omitempty"` // reason why the guard or the command could not start
	Started int         `json:",omitempty"` // process ID of the command, in the guard's namespace
	Paused  unix.Signal `json:",omitempty"` // the terminal stopped the command with this signal
	Ending  string      `json:",omitempty"` // reason why the guard ends the command
	Exited  bool        `json:",omitempty"` // the command ended
	Code    int         `json:",omitempty"` // exit code, or that of StartCode; 128 plus the number of the signal that killed it
}

// receive passes on the messages of a file until its end.
func receive[M any](f io.ReadCloser) <-chan M {
	messages := make(chan M, 16)
	go func() {
		defer close(messages)
		defer func() { _ = f.Close() }()
		for decoder := json.NewDecoder(f); ; {
			var m M
			if decoder.Decode(&m) != nil {
				return
			}
			messages <- m
		}
	}()
	return messages
}

// send writes a message. The reader may have ended: then it needs no message.
func send(f *os.File, message any) {
	line, err := json.Marshal(message)
	if err == nil {
		_, _ = f.Write(append(line, '\n'))
	}
}
