// Command driver-go is the driver of the Go client for the conformance suite. It reads requests from standard input and writes
// answers to standard output, one JSON object per line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

type request struct {
	ID   int    `json:"id"`
	Op   string `json:"op"`
	Args params `json:"args"`
}

// params holds the arguments of all operations.
type params struct {
	Client     string   `json:"client"`
	Addresses  []string `json:"addresses"`
	Token      string   `json:"token"`
	CA         string   `json:"ca"`
	TimeoutMs  int64    `json:"timeout_ms"`
	Layout     string   `json:"layout"`
	Count      int      `json:"count"`
	After      int64    `json:"after,string"`
	Generator  string   `json:"generator"`
	Lanes      int      `json:"lanes"`
	ReadyMs    int64    `json:"ready_ms"`
	Buffer     string   `json:"buffer"`
	Size       int      `json:"size"`
	Sequence   string   `json:"sequence"`
	Mode       string   `json:"mode"`
	Start      *int64   `json:"start,string"`
	Step       *int64   `json:"step,string"`
	Format     string   `json:"format"`
	Reset      string   `json:"reset"`
	Zone       string   `json:"zone"`
	YearStarts string   `json:"year_starts"`
	LateMs     int64    `json:"late_ms"`
	RequestID  string   `json:"request_id"`
	Period     string   `json:"period"`
	From       *int64   `json:"from,string"`
	Keys       []string `json:"keys"`
	Claims     []claim  `json:"claims"`
	Reason     string   `json:"reason"`
	Used       []string `json:"used"`
	Void       []string `json:"void"`
	Prefix     string   `json:"prefix"`
	Next       int64    `json:"next,string"`
	Text       string   `json:"text"`
	Fields     string   `json:"fields"`
	EpochMs    int64    `json:"epoch_ms"`
	Blocks     string   `json:"blocks"`
	Kind       string   `json:"kind"`
	Name       string   `json:"name"`
	Threads    int      `json:"threads"`
	Ms         int64    `json:"ms"`
	File       string   `json:"file"`
	Run        int      `json:"run"`
	ID         string   `json:"id"`
	TickAtMs   int64    `json:"tick_at_ms"`
	Worker     uint64   `json:"worker,string"`
	Datacenter uint64   `json:"datacenter,string"`
}

type answer struct {
	ID    int      `json:"id"`
	OK    any      `json:"ok,omitempty"`
	Error *failure `json:"error,omitempty"`
	IDs   []string `json:"ids,omitempty"`
}

func main() {
	d := newDriver()
	out := json.NewEncoder(os.Stdout)
	var mu sync.Mutex
	var running sync.WaitGroup
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, "driver-go:", err)
			os.Exit(1)
		}
		running.Go(func() {
			ok, err := d.perform(r)
			mu.Lock()
			defer mu.Unlock()
			if err := out.Encode(answerOf(r.ID, ok, err)); err != nil {
				fmt.Fprintln(os.Stderr, "driver-go:", err)
			}
		})
	}
	d.close()
	running.Wait()
}
