// Command foreign prints IDs of a library: foreign LIBRARY COUNT. The variable WORKER has the worker.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"

	"github.com/bwmarrin/snowflake"
	"github.com/sony/sonyflake"
)

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	n, err := strconv.ParseUint(os.Getenv("WORKER"), 10, 16)
	if err != nil {
		panic(err)
	}
	worker := uint16(n)
	var next func() uint64
	switch os.Args[1] {
	case "bwmarrin":
		node, err := snowflake.NewNode(int64(worker))
		if err != nil {
			panic(err)
		}
		next = func() uint64 { return uint64(node.Generate()) }
	case "sonyflake":
		flake := sonyflake.NewSonyflake(sonyflake.Settings{MachineID: func() (uint16, error) { return worker, nil }})
		next = func() uint64 {
			id, err := flake.NextID()
			if err != nil {
				panic(err)
			}
			return id
		}
	}
	ids := make([]uint64, count)
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1)) // all copies begin together
	for i := range ids {
		ids[i] = next()
	}
	out := bufio.NewWriter(os.Stdout)
	defer func() { _ = out.Flush() }()
	for _, id := range ids {
		fmt.Fprintln(out, id)
	}
}
