package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// A record is the raw file of a run: a line for each event, with the microseconds since the first call, who, a sign and a text
// between tabs. The signs are
//
//	>  an application starts
//	@  its clock is at this time, in milliseconds since 1970
//	=  a call gave this number
//	!  a call failed, with this reason
//	x  an application was killed
//	#  what an operator did
//	(  a fault begins, or an application is paused
//	)  a fault or a pause is over
type record struct {
	mu    sync.Mutex
	began time.Time
	w     *bufio.Writer
	file  *os.File
}

// harness names the one that begins and ends faults.
const harness = "-"

func newRecord(path string) (*record, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &record{file: file, w: bufio.NewWriterSize(file, 1<<20), began: time.Now()}, nil
}

// note adds one event. The text may come from a server, with line breaks, which become spaces.
func (r *record) note(who string, sign byte, text string) {
	text = strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, text)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.w, "%d\t%s\t%c\t%s\n", time.Since(r.began).Microseconds(), who, sign, text) // close reports the error
}

// listen notes the lines of an application's standard output until it exits. Some libraries write other lines, which it ignores.
func (r *record) listen(who string, from io.Reader) {
	r.note(who, '>', "")
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if line := lines.Text(); line != "" && strings.ContainsRune("=!@", rune(line[0])) {
			r.note(who, line[0], line[1:])
		}
	}
	r.note(who, 'x', "")
}

// close writes what is left.
func (r *record) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.w.Flush(); err != nil {
		return err
	}
	return r.file.Close()
}
